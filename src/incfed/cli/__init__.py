"""The command line. Each command only calls into the other rooms.

Heavy modules are imported when a command needs them, so that --help responds at once. This module
imports nothing at the top, so that Ctrl-C is handled from the start.
"""

from __future__ import annotations

import sys

REFUSED, STOPPED, FAILED = 2, 130, 1  # exit codes


def main() -> None:
    """The entry point of the `incfed` command."""
    try:
        import os
        import signal

        # Must be set before numpy is loaded. Kernels and sweep processes use one thread each.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # treat it like Ctrl-C

        from .output import checked_output

        try:
            with checked_output():
                from .commands import app

                app()
        finally:  # all is done: Ctrl-C while Python ends must not change the exit code
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # during an import; commands handle their own
        sys.exit(STOPPED)
