"""The processes of a tour. Each has a log of its own, and ends when its parent does.

    python -m incfed.service.tour.processes MODULE ARGUMENTS...

runs a module as `python -m` does, for as long as standard input is open. When the parent ends, even
by `kill -9`, the system closes the other end of that pipe.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

WATCHED = (sys.executable, "-m", "incfed.service.tour.processes")
GRACE = 10.0  # seconds that a process gets to stop
ORPHAN_GRACE = 15.0  # the same, when its parent has ended
EXITS, KILLS = 3, 10  # early ends in a row, by itself or killed, after which it is not restarted
EARLY = 5.0  # seconds


class ChildProcess:
    """`python -m MODULE ...`"""

    def __init__(self, name: str, module: Sequence[str], log: Path) -> None:
        self.name, self.log = name, log
        self._command = [*WATCHED, *module]
        self._process: subprocess.Popen[bytes] | None = None
        self._started, self._exits, self._kills = 0.0, 0, 0

    def start(self, now: float) -> None:
        """Start it, or start it again."""
        self.ask_to_stop()
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the parent, which stops them in order
            )
        self._started = now

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def exit_code(self) -> int | None:
        """None: it is running."""
        return self._process.poll() if self._process else None

    def keeps_failing(self, code: int, now: float) -> bool:
        """Has it ended too often too early to be started again? Being killed (a negative `code`)
        is no failure of its own, so it may happen more often."""
        if now - self._started >= EARLY:
            self._exits = self._kills = 0
            return False
        self._exits, self._kills = self._exits + (code >= 0), self._kills + (code < 0)
        return self._exits >= EXITS or self._kills >= KILLS

    def ask_to_stop(self) -> None:
        """By closing its standard input."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def stop(self, grace: float = GRACE) -> None:
        """Stop it, and kill it if it takes longer than `grace` seconds."""
        if self._process is None:
            return
        self.ask_to_stop()
        try:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(grace)
        finally:
            self._process.kill()
            self._process.wait()


def _stop_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_GRACE)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_stop_with_parent, name="parent-watch", daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
