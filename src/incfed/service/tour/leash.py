"""A process that ends with the one that started it, however that one ends.

    python -m incfed.service.tour.leash MODULE ARGUMENTS...

runs a module as `python -m` does for as long as its standard input is open. The system closes the
other end of that pipe when the parent is gone, by `kill -9` even.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

PATIENCE = 15.0  # seconds to end gracefully


def hold() -> None:
    """From now on, the end of standard input is a SIGTERM."""
    threading.Thread(target=_wait, name="leash", daemon=True).start()


def _wait() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


if __name__ == "__main__":
    hold()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
