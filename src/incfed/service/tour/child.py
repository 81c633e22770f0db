"""The processes of a tour: each on a leash, each with a log of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

LEASH = (sys.executable, "-m", "incfed.service.tour.leash")
PATIENCE = 10.0  # seconds to end in when asked to
LIVES, KILLS = 3, 10  # so often in a row it may end, or be killed, young before it is given up
YOUNG = 5.0  # seconds


class Child:
    """`python -m MODULE ...`; each line of JSON on its output goes to `said`."""

    def __init__(
        self,
        name: str,
        module: Sequence[str],
        log: Path,
        said: Callable[[dict[str, Any]], None],
    ) -> None:
        self.name, self.log = name, log
        self._command, self._said = [*LEASH, *module], said
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._born, self._ended, self._killed = 0.0, 0, 0

    def start(self, now: float) -> None:
        """Once, or once more."""
        self._release()
        with open(self.log, "a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                text=True, encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the parent, who ends them in order
            )  # fmt: skip
        self._born = now
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,))
        self._reader.daemon = True
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def died(self) -> int | None:
        """How it ended, though nobody asked it to; None: it runs."""
        return self._process.poll() if self._process else None

    def hopeless(self, code: int, now: float) -> bool:
        """Has it died young too often to be started again? Who was killed (a negative `code`) did
        not give up by itself, and gets more patience."""
        if now - self._born >= YOUNG:
            self._ended = self._killed = 0
            return False
        self._ended, self._killed = self._ended + (code >= 0), self._killed + (code < 0)
        return self._ended >= LIVES or self._killed >= KILLS

    def ask_to_end(self) -> None:
        """By letting go of the leash."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def end(self, patience: float = PATIENCE) -> None:
        """It is gone when this returns."""
        if self._process is None:
            return
        self.ask_to_end()
        try:
            self._process.wait(patience)
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
        self.ask_to_end()
        if self._reader is not None:
            self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def _read(self, lines: Any) -> None:
        for line in lines:
            with suppress(ValueError):  # half a line of one that was killed
                self._said(json.loads(line))
