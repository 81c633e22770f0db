"""Saved results: a folder with steps.parquet, rounds.parquet, clients.parquet and result.json. No
pickle.

A result is written beside its place and renamed into it, so a reader sees a whole result or none.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..support import inputs
from ..support.extras import needs
from ..support.files import digest
from ..support.formats import check_format
from .clients import COLUMNS as OF_CLIENTS
from .clients import Clients
from .numbers import finite
from .records import CURVES, Result
from .rounds import COLUMNS, FLAT, Rounds

if TYPE_CHECKING:
    import polars

FORMAT, VERSION = "incfed.result", 2
STEPS, ROUNDS, CLIENTS = "steps.parquet", "rounds.parquet", "clients.parquet"
INDEX = "result.json"
FILES = frozenset({STEPS, ROUNDS, CLIENTS, INDEX, ".DS_Store"})  # that a saved result may have


def save(result: Result, path: str | PathLike[str]) -> None:
    """Write `result` to the folder `path`; parent folders are made if needed.

    A saved result at `path` is replaced; it is deleted only when the new one is in place. Anything
    else there (a file, a folder with other contents, a result of another version) is refused and
    left alone.
    """
    # Replaces what a link points to, not the link.
    target = inputs.path("path", path).resolve()
    _refuse_foreign(target)
    mark = uuid.uuid4().hex
    fresh, old = (target.with_name(f".{target.name}.{mark}.{end}") for end in ("new", "old"))
    try:
        fresh.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"path: cannot write to {target.parent}: {error.strerror}") from error
    try:
        result.to_polars().write_parquet(fresh / STEPS)
        result.rounds.to_polars().write_parquet(fresh / ROUNDS)
        result.clients.to_polars().write_parquet(fresh / CLIENTS)
        index = {
            "format": FORMAT,
            "version": VERSION,
            "settings": result.settings,
            "summary": {name: finite(x) for name, x in result.summary().items()},  # not read back
            "sha256": {name: digest(fresh / name) for name in (STEPS, ROUNDS, CLIENTS)},
        }
        text = json.dumps(index, indent=2, ensure_ascii=False, allow_nan=False)
        (fresh / INDEX).write_text(text + "\n", encoding="utf-8")
        if target.exists():
            os.rename(target, old)
        try:
            os.rename(fresh, target)
        except OSError:
            if old.exists():
                os.rename(old, target)
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def load(path: str | PathLike[str]) -> Result:
    """Read a saved result: the same arrays, bit for bit. An InputError if it cannot be read, or if
    another version of incfed wrote it in another format.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> incfed.simulate(world, incfed.Independent(), steps=50).save("kept")
    >>> len(incfed.load("kept").reward)
    50
    """
    folder = inputs.path("path", path)
    index = read_index(folder)
    for name in (STEPS, ROUNDS, CLIENTS):
        if not (folder / name).is_file():
            raise InputError(f"path: the saved result {folder} is incomplete: {name} is missing")
        if digest(folder / name) != index["sha256"].get(name):
            raise InputError(f"path: the saved result {folder} is corrupt: {name} has changed")
    with needs("polars", "loading a result"):
        import polars
    try:
        steps = polars.read_parquet(folder / STEPS)
        more = [name for name in ("matched", "propensity") if name in steps.columns]
        return Result(
            **{name: steps[name].to_numpy() for name in (*CURVES, "packed", *more)},
            rounds=_rounds(polars.read_parquet(folder / ROUNDS)),
            clients=_clients(polars.read_parquet(folder / CLIENTS)),
            settings=index["settings"],
        )
    except (InputError, OSError, polars.exceptions.PolarsError) as error:
        raise InputError(f"path: the saved result {folder} is corrupt: {error}") from error


def _rounds(frame: polars.DataFrame) -> Rounds:
    # An exploded empty list may leave a null behind; the values themselves are never null.
    return Rounds(
        **{name: frame[name].to_numpy() for name in COLUMNS},
        **{name: frame[name].explode().drop_nulls().to_numpy() for name in FLAT},
        offsets=np.cumsum([0, *frame["participants"].list.len().to_list()]),
        gap=frame["gap"].to_numpy() if "gap" in frame.columns else None,  # type: ignore[arg-type]
    )


def _clients(frame: polars.DataFrame) -> Clients:
    matched = "matched" if "matched" in frame.columns else "steps"
    columns = {name: frame[name].to_numpy() for name in OF_CLIENTS}
    return Clients(**columns, matched=frame[matched].to_numpy())


def read_index(folder: Path) -> dict[str, Any]:
    """The index of a saved result, or why it cannot be loaded."""
    if not folder.is_dir():
        raise InputError(f"path: folder not found: {folder}; allowed is a saved result")
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"path: {folder} is not a saved result: it has no {INDEX}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"path: {folder / INDEX} cannot be read: {error}") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise InputError(f"path: {folder} is not a saved result: its {INDEX} is something else")
    if not all(isinstance(index.get(name), dict) for name in ("settings", "sha256")):
        raise InputError(f"path: the saved result {folder} is corrupt: {INDEX} lacks a part")
    check_format(folder / INDEX, index.get("version"), VERSION, index["settings"].get("incfed"))
    return index


def _refuse_foreign(target: Path) -> None:
    """Refuse to replace anything but an empty folder or a saved result without other files."""
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError(f"path: {target} is a file; allowed is a folder to make or to replace")
    names = {entry.name for entry in target.iterdir()}
    if not names:
        return
    others = sorted(names - FILES)
    if others or INDEX not in names:
        raise InputError(
            f"path: {target} holds {', '.join(others or sorted(names))}, which saving would "
            "delete; allowed are a new folder, an empty one or a saved result"
        )
    read_index(target)
