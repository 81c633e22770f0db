"""One process to a state folder."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from ... import inputs

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


NAME = "lock"
ALLOWED = "a folder of its own: another Client, in this process or another, has it open"


class Lock:
    """Held until it is released, or until the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        while True:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _seize(self._fd)
            except OSError:
                os.close(self._fd)
                raise inputs.refuse("state", str(folder), ALLOWED) from None
            if self._stands():
                return
            os.close(self._fd)

    def release(self, remove: bool = False) -> None:
        if remove and os.name == "posix":
            self._path.unlink(missing_ok=True)  # while it is ours
        with suppress(OSError):
            os.close(self._fd)
        if remove and os.name != "posix":  # where what is open cannot go
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _stands(self) -> bool:
        """Or did who had it before take the file away, between our opening it and its release?"""
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        except FileNotFoundError:
            return False


def _seize(fd: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
