"""The folder of a saved `Federation`: federation.json, and a file of arrays. No pickle.

federation.json names the file of arrays, and has its hash, and one of itself. Every save writes its
arrays to a file of a new name, and renames its federation.json into place last: whatever happens
before that, the folder holds the earlier federation whole. One process at a time may save to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..algorithms.base import Algorithm
from ..algorithms.registry import recorded_algorithm
from ..errors import InputError, missing, refuse
from ..protocol.open_round import Closed
from ..protocol.run import LoggedRound
from ..results.settings import plain, unplain
from ..support import inputs
from ..support.files import digest, fingerprint, replacing
from ..support.formats import check_format
from ..types import Arrays

FORMAT, VERSION = "incfed.federation", 1
INDEX = "federation.json"
ARRAYS = re.compile(r"federation-[0-9a-f]{16}\.npz")


# ---------------------------------------------------------------------------------- the folder


def write(path: str | PathLike[str], about: Mapping[str, Any], arrays: Arrays) -> None:
    """Make a saved federation of this, or replace the one that is there."""
    folder = inputs.path("folder", path)
    if (folder / INDEX).exists():
        _read_index(folder)  # refused unless it is ours
    elif folder.exists() and not folder.is_dir():
        raise refuse("folder", str(folder), "a folder to make or to replace, not a file")
    file = folder / f"federation-{uuid.uuid4().hex[:16]}.npz"
    try:
        with replacing(file) as fresh:
            np.savez(fresh, **arrays)  # type: ignore[arg-type]  # no array is named as an option
            _flush(fresh)
        index = {
            "format": FORMAT, "version": VERSION, "incfed": __version__, **about,
            "arrays": {"file": file.name, "sha256": digest(file)},
        }  # fmt: skip
        index["sha256"] = fingerprint(index)
        with replacing(folder / INDEX) as fresh:
            text = json.dumps(index, indent=2, ensure_ascii=False, allow_nan=False)
            fresh.write_text(text + "\n", encoding="utf-8")
            _flush(fresh)
    except Exception:
        with contextlib.suppress(OSError, ValueError):
            file.unlink()
        raise
    for old in folder.iterdir():
        if ARRAYS.fullmatch(old.name) and old != file:
            old.unlink(missing_ok=True)


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """What `write` was given; an InputError if it is not there, or not as it was written."""
    folder = inputs.path("folder", path)
    index = _read_index(folder)
    if index.pop("sha256", None) != fingerprint(index):
        raise corrupt(folder, f"{INDEX} has changed")
    name = index["arrays"]["file"]
    if not (folder / name).is_file():
        raise InputError(f"folder: the saved federation {folder} is incomplete: {name} is missing")
    if digest(folder / name) != index["arrays"]["sha256"]:
        raise corrupt(folder, f"{name} has changed")
    try:
        with np.load(folder / name, allow_pickle=False) as found:
            return index, {key: found[key] for key in found.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise corrupt(folder, f"{name} cannot be read: {error}") from None


def _read_index(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise InputError(f"folder: folder not found: {folder}; allowed is a saved federation")
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"folder: {folder} is not a saved federation: no {INDEX}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"folder: {folder / INDEX} cannot be read: {error}") from None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise InputError(f"folder: {folder} is not a saved federation: its {INDEX} is another file")
    check_format(folder / INDEX, index.get("version"), VERSION, index.get("incfed"))
    file = index["arrays"].get("file") if isinstance(index.get("arrays"), dict) else None
    if not isinstance(file, str) or not ARRAYS.fullmatch(file):
        raise corrupt(folder, f"{INDEX} names no file of arrays")
    return index


def corrupt(folder: str | PathLike[str], why: str) -> InputError:
    return InputError(f"folder: the saved federation {folder} is corrupt: {why}")


def _flush(file: Path) -> None:
    """To the disk, so that a rename is never there before what it names."""
    with file.open("rb+") as written:
        os.fsync(written.fileno())


# ----------------------------------------------------------------------------- what is in it


def recorded(algorithm: Algorithm) -> dict[str, Any]:
    """The settings of an algorithm, and whether it can be made of them again: not if it has a class
    of the user's own, whose code is in no file of ours."""
    settings = plain(algorithm.settings(), "algorithm")
    try:
        again = bool(recorded_algorithm(unplain(settings)) == algorithm)
    except (TypeError, ValueError):  # (an InputError is a ValueError)
        again = False
    return {"settings": settings, "complete": again}


def algorithm_of(saved: Mapping[str, Any], given: Algorithm | None) -> Algorithm:
    """The algorithm of which that was `recorded`; `given`: the same one, if it has to be."""
    settings = saved["settings"]
    if given is None:
        if not saved["complete"]:
            allowed = (
                f"given: the {settings['kind']} of this federation has a class of your own, which "
                "is not saved with it. Write load(folder, algorithm=...)"
            )
            raise missing("algorithm", allowed)
        return recorded_algorithm(unplain(settings))
    if not isinstance(given, Algorithm):
        raise refuse("algorithm", given, "the algorithm that the federation was saved with")
    now = plain(given.settings(), "algorithm")
    for name in [*settings, *now]:
        if settings.get(name) != now.get(name):
            there = f"that of the saved federation: its {name} is {settings.get(name)!r}"
            raise refuse("algorithm", given, there)
    return given


def columns(name: str, records: Iterable[Arrays]) -> Arrays:
    """Records of arrays as one array for each key, and the length that it has in each record."""
    rows = list(records)
    found: Arrays = {}
    for key in rows[0] if rows else ():
        parts = [row[key] for row in rows]
        found[f"{name}.{key}"] = np.concatenate(parts)
        found[f"{name}.{key}:length"] = np.array([len(part) for part in parts])
    return found


def records(name: str, arrays: Arrays) -> list[Arrays]:
    """The records of which these are the `columns`."""
    split: dict[str, list[NDArray[Any]]] = {}
    for key, lengths in arrays.items():
        of, _, end = key.rpartition(":")
        if end == "length" and of.startswith(f"{name}."):
            parts = np.split(arrays[of], np.cumsum(lengths)[:-1])
            split[of.removeprefix(f"{name}.")] = parts
    return [dict(zip(split, row, strict=True)) for row in zip(*split.values(), strict=True)]


def round_record(one: LoggedRound) -> Arrays:
    """A round of the log, as arrays."""
    closed = one.closed
    assert closed.asked is not None
    return {
        "counts": np.array([one.step, one.trigger, closed.idle]),
        "figures": np.array([closed.communication, closed.ratio, closed.gap]),
        "participants": closed.participants, "payments": closed.payments, "asked": closed.asked,
        "sent": one.sent, "shared": one.shared,
    }  # fmt: skip


def logged_round(record: Arrays) -> LoggedRound:
    """The round of which that is the record."""
    step, trigger, idle = record["counts"].tolist()
    communication, ratio, gap = record["figures"].tolist()
    asked = record["asked"]
    closed = Closed(
        record["participants"], record["payments"], idle, communication, ratio, gap, asked, asked
    )
    return LoggedRound(step, trigger, closed, record["sent"], record["shared"])
