"""Arrays that took a while to make, kept in the user's cache folder under a name that says what
they were made from. The cache is a convenience: whatever is wrong with it, the arrays are made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from .files import replacing
from .inputs import InputError

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
    folder = user_cache_path("incfed", appauthor=False)
    return folder if folder.is_absolute() else None  # there is no home folder


def _load(path: Path) -> Arrays | None:
    try:
        with path.open("rb") as file:
            return dict(np.load(file, allow_pickle=False))  # zip checks the sums of what it reads
    except Exception:  # not there, not ours to read, cut off, damaged: make them again
        return None


def _store(path: Path, arrays: Arrays) -> None:
    with suppress(InputError), replacing(path) as fresh, fresh.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
