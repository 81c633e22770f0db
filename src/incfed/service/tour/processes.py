"""The processes of a tour. Each has a log of its own, and ends when its parent does.

    python -m incfed.service.tour.processes MODULE ARGUMENTS...

runs a module as `python -m` does, for as long as standard input is open. When the parent ends, even
by `kill -9`, the system closes the other end of that pipe.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

WATCHED = (sys.executable, "-m", "incfed.service.tour.processes")
GRACE = 10.0  # seconds that a process gets to stop
ORPHAN_GRACE = 15.0  # the same, when its parent has ended
EXITS, KILLS = 3, 10  # early ends in a row, by itself or killed, after which it is not restarted
EARLY = 5.0  # seconds


class ChildProcess:
    """`python -m MODULE ...`; `on_output` gets each line of JSON that it prints."""

    def __init__(
        self,
        name: str,
        module: Sequence[str],
        log: Path,
        on_output: Callable[[dict[str, Any]], None],
    ) -> None:
        self.name, self.log = name, log
        self._command, self._on_output = [*WATCHED, *module], on_output
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._started, self._exits, self._kills = 0.0, 0, 0

    def start(self, now: float) -> None:
        """Start it, or start it again."""
        self._release()
        with open(self.log, "a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                text=True, encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the parent, which stops them in order
            )  # fmt: skip
        self._started = now
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,))
        self._reader.daemon = True
        self._reader.start()

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
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
            self._release()

    def _release(self) -> None:
        if self._process is None:
            return
        self.ask_to_stop()
        if self._reader is not None:
            self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def _read(self, lines: Any) -> None:
        for line in lines:
            with suppress(ValueError):  # half a line, of a process that was killed
                self._on_output(json.loads(line))


def watch_parent() -> None:
    """From now on, the end of standard input stops this process."""
    threading.Thread(target=_stop_with_parent, name="parent-watch", daemon=True).start()


def _stop_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_GRACE)
    os._exit(1)


if __name__ == "__main__":
    watch_parent()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
