"""Arrays that took a while to make, kept in the user's cache folder under a name that says what
they were made from. The cache is a convenience: whatever is wrong with it, the arrays are made."""

from __future__ import annotations

import hashlib
import os
import sys
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def cached(
    kind: str,
    made_from: Iterable[object],
    fits: Callable[[Arrays], bool],
    make: Callable[[], Arrays],
) -> Arrays:
    """What `make` gave when it was last called for the same things, or gives now.

    `made_from`: all that the arrays depend on. `fits` says whether arrays from the disk can be
    what `make` would give: their names, types and shapes.
    """
    key = hashlib.sha256("\n".join(map(str, made_from)).encode()).hexdigest()[:32]
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"{kind}-{key}.npz"
    found = _load(path)
    if found is not None and fits(found):
        return found
    arrays = make()
    _store(path, arrays)
    return arrays


def cache_folder() -> Path | None:
    """Where this system keeps what can be made again; None if it does not say."""
    try:
        if named := os.environ.get("XDG_CACHE_HOME"):
            base = Path(named)
            if not base.is_absolute():  # to be ignored, says the standard
                base = Path.home() / ".cache"
        elif sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path.home() / ".cache"
    except RuntimeError:  # nobody's home
        return None
    return base / "incfed"


def digest(path: Path) -> str:
    """The SHA-256 of what is in a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _load(path: Path) -> Arrays | None:
    try:
        with path.open("rb") as file:
            return dict(np.load(file, allow_pickle=False))  # zip checks the sums of what it reads
    except Exception:  # not there, not ours to read, cut off, damaged: make them again
        return None


def _store(path: Path, arrays: Arrays) -> None:
    partial = path.with_name(f".{uuid.uuid4().hex}.tmp")
    with suppress(OSError):  # nowhere to write: the next one has to make them again
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
