"""File locks, on every operating system."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

PATIENCE = 0.1  # seconds: the process that releases a lock may be removing its file


class Locked(Exception):
    """The lock is held elsewhere, in this process or another."""


class Lock:
    """A lock on the file `path`, held until it is released or the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = FileLock(path, mode=0o600, thread_local=False)
        try:
            self._lock.acquire(timeout=PATIENCE)
        except Timeout:
            raise Locked(path) from None

    def release(self, *, remove: bool = False) -> None:
        if remove and os.name == "posix":
            self._path.unlink(missing_ok=True)  # while we hold the lock
        self._lock.release()
        if remove and os.name != "posix":  # an open file cannot be removed
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
