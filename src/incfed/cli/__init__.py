"""The command line. Thin: each command puts rooms together; the rest is in those.

Nothing heavy is imported before a command needs it, so that --help answers at once; and here
nothing at all, so that Ctrl-C is in good hands from the first moment on.
"""

from __future__ import annotations

import sys

REFUSED, STOPPED, FAILED = 2, 130, 1  # exit codes


def main() -> None:
    """The console entry."""
    try:
        import os
        import signal

        # Before numpy is loaded. The kernels use one thread, and so do all processes of a sweep.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's Ctrl-C

        from .output import checked_output

        with checked_output():
            from .commands import app

            app()
    except KeyboardInterrupt:  # while something was loaded; a command handles its own
        sys.exit(STOPPED)
