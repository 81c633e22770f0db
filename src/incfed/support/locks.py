"""One process to a folder, on every system."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

PATIENCE = 0.1  # seconds: whoever releases a lock may be about to remove its file


class Locked(Exception):
    """Somebody else, in this process or another, holds the lock."""


class Lock:
    """The lock file `path`, held until it is released or the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path, mode=0o600, thread_local=False)
        try:
            self._lock.acquire(timeout=PATIENCE)
        except Timeout:
            raise Locked(path) from None

    def release(self, *, remove: bool = False) -> None:
        if remove and os.name == "posix":
            self._path.unlink(missing_ok=True)  # while it is ours
        self._lock.release()
        if remove and os.name != "posix":  # where an open file cannot be removed
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
