"""All that a client knows, in one file that is either the old one or the new one."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...kernels.factor import Floats
from ...protocol.client import Heap
from ...protocol.floats import to_text
from ...support import inputs
from ..wire import read_floats
from . import points
from .terms import Terms

NAME, MAGIC = "snapshot", b"incfed-client-1"


class Told(NamedTuple):
    """What a round was told; `cost` is None while the owner has not said."""

    round: int
    cost: float | None
    answers: dict[int, bool]  # by attempt
    heap: Heap


class Snapshot(NamedTuple):
    generation: int  # of the journal that goes on from here
    terms: Terms
    epoch: int
    clock: int
    V: Floats
    b: Floats
    told: Told | None
    fresh: Heap
    steps: int  # ever learned
    earned: float  # ever paid
    former: int | None  # an open round that an earlier life of this client had told something


def save(folder: Path, snapshot: Snapshot) -> None:
    """Durable when this returns, and never half of it."""
    body = json.dumps(_written(snapshot), allow_nan=False).encode()
    temporary = folder / f"{NAME}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(MAGIC + b" %08x\n" % zlib.crc32(body) + body)
            file.flush()
            os.fsync(file.fileno())
    except OSError:  # a full disk is not to be kept full
        temporary.unlink(missing_ok=True)
        raise
    points.reach("snapshot.before-rename")
    os.replace(temporary, folder / NAME)
    sync_folder(folder)
    points.reach("snapshot.after-rename")


def sync_folder(folder: Path) -> None:
    """Make the names in it durable, where the system can (Windows cannot, and need not)."""
    if os.name == "posix":
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def load(folder: Path) -> Snapshot | None:
    """None: nothing was ever kept here."""
    path = folder / NAME
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    try:
        if head != MAGIC + b" %08x" % zlib.crc32(body):
            raise ValueError("checksum")
        return _read(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:  # (an InputError is a ValueError)
        allowed = f"a snapshot that this version wrote, undamaged ({error})"
        raise inputs.refuse("state", str(path), allowed) from None


def _written(snapshot: Snapshot) -> dict[str, Any]:
    told = snapshot.told
    return {
        **snapshot._asdict(),
        "terms": snapshot.terms.told(),
        "V": to_text(snapshot.V.ravel()),
        "b": to_text(snapshot.b),
        "fresh": _heap_written(snapshot.fresh),
        "told": told
        and {
            **told._asdict(),
            "answers": {str(attempt): yes for attempt, yes in told.answers.items()},
            "heap": _heap_written(told.heap),
        },
    }


def _read(said: dict[str, Any]) -> Snapshot:
    terms, told = Terms.read(said["terms"]), said["told"]
    dim = terms.dim
    if told is not None:
        answers = {int(attempt): bool(yes) for attempt, yes in told["answers"].items()}
        told = Told(int(told["round"]), told["cost"], answers, _heap(told["heap"], dim))
    return Snapshot(
        **{
            **said,
            "terms": terms,
            "V": read_floats("V", said["V"], dim * dim).reshape(dim, dim),
            "b": read_floats("b", said["b"], dim),
            "told": told,
            "fresh": _heap(said["fresh"], dim),
        }
    )


def _heap_written(heap: Heap) -> dict[str, Any]:
    rows = np.array(heap.rows).reshape(-1)
    numbers = {"V": heap.V.reshape(-1), "b": heap.b, "rows": rows}
    return {"steps": heap.steps} | {name: to_text(part) for name, part in numbers.items()}


def _heap(said: dict[str, Any], dim: int) -> Heap:
    steps = int(said["steps"])
    rows = read_floats("rows", said["rows"], steps * dim if steps < dim else 0).reshape(-1, dim)
    V = read_floats("V", said["V"], dim * dim).reshape(dim, dim)
    return Heap(steps, V, read_floats("b", said["b"], dim), list(rows.copy()))
