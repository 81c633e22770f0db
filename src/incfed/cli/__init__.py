"""The command line. Thin: each command puts rooms together; the rest is in those.

Nothing heavy is imported before a command needs it, so that --help answers at once.
"""

from __future__ import annotations

import os
import signal

from .base import app

# in the order of the commands in `incfed --help`
from . import experiments, sweeps, planning, data, service, ledger  # noqa: F401  # isort: skip

__all__ = ["app", "main"]


def main() -> None:
    """The console entry."""
    # Before numpy is loaded. The kernels use one thread, and so do all processes of a sweep.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's Ctrl-C
    app()
