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


class Lock:
    """Held until it is released, or until the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _seize(self._fd)
        except OSError:
            os.close(self._fd)
            allowed = "a folder of its own: another Client, in this process or another, has it open"
            raise inputs.refuse("state", str(folder), allowed) from None

    def release(self) -> None:
        with suppress(OSError):
            os.close(self._fd)


def _seize(fd: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
