"""Arrays that are slow to compute, kept in the user's cache folder under a hash of their inputs.
If the cache cannot be used, the arrays are computed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from ..errors import InputError
from .files import replacing

Arrays = dict[str, NDArray[Any]]


def cached(
    kind: str,
    made_from: Iterable[object],
    fits: Callable[[Arrays], bool],
    make: Callable[[], Arrays],
) -> Arrays:
    """The result of `make`: from the cache, if it was called for the same inputs before.

    `made_from` lists everything that the arrays depend on. `fits` checks the names, types and
    shapes of arrays from the disk.
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
    """The user's cache folder on this system; None if there is none."""
    folder = user_cache_path("incfed", appauthor=False)
    return folder if folder.is_absolute() else None  # there is no home folder


def _load(path: Path) -> Arrays | None:
    try:
        with path.open("rb") as file:
            return dict(np.load(file, allow_pickle=False))  # zip verifies checksums
    except Exception:  # missing, unreadable or damaged: compute them again
        return None


def _store(path: Path, arrays: Arrays) -> None:
    with suppress(InputError), replacing(path) as fresh, fresh.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]
