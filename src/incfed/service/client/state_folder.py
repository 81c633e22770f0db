"""A client's state folder: its lock, and the snapshot that the journal starts from.

The folder holds `lock`, `snapshot` and `journal-<generation>`. The snapshot is replaced as a whole:
after a crash it is either the old one or the new one.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ... import errors
from ...kernels.trust import SCORES
from ...protocol.client import FrozenData, Observations
from ...protocol.floats import to_text
from ...rules.privacy import Noise
from ...support.formats import check_format
from ...support.locks import Lock, Locked
from ...types import Floats
from ..codec import read, read_floats
from ..requests import Start
from ..wire import FederationView

LOCK, SNAPSHOT, JOURNALS = "lock", "snapshot", "journal-*"
MAGIC, FORMAT = b"incfed-client-", 2  # with which a snapshot begins

# ------------------------------------------------------------------------------------ the lock


@contextmanager
def locked(folder: Path) -> Iterator[Lock]:
    """Create and lock the folder. The caller releases the lock; if the `with` block raises, it is
    released here, and a folder that is new is left as it was found."""
    created = _create(folder)
    lock, before = None, set()
    try:
        before = {path.name for path in folder.iterdir()}
        try:
            lock = Lock(folder / LOCK)
        except Locked:
            allowed = "a folder that no other Client, in this process or another, has open"
            raise errors.refuse("state", str(folder), allowed) from None
        except OSError as error:
            raise _not_writable(folder, error) from None
        yield lock
    except BaseException:
        if lock is not None:
            if SNAPSHOT not in before:  # else the files may have replaced older ones
                for path in (*folder.glob(f"{SNAPSHOT}*"), *folder.glob(JOURNALS)):
                    if path.name not in before:
                        with suppress(OSError):
                            path.unlink()
            lock.release(remove=LOCK not in before)
        for path in created:
            with suppress(OSError):
                path.rmdir()
        raise


def _create(folder: Path) -> list[Path]:
    """The folders that did not exist, the innermost first."""
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise errors.refuse("state", str(folder), "a folder, not a file") from None
    except (OSError, ValueError) as error:
        raise _not_writable(folder, error) from None
    return missing


def _not_writable(folder: Path, error: Exception) -> errors.InputError:
    reason = getattr(error, "strerror", None) or error
    return errors.refuse("state", str(folder), f"a folder that can be written to ({reason})")


def check_owner(folder: Path, kept: FederationView, now: FederationView) -> None:
    """InputError if what was learned in this folder does not fit the settings of `now`. Those not
    checked may change: they affect what a client does next, not what it has learned."""
    for name in ("federation", "client.id", "dim", "ridge"):
        before, after = attrgetter(name)(kept), attrgetter(name)(now)
        if before != after:
            allowed = (
                f"a folder of this client and federation: there, {name} is {before!r}, but the "
                f"coordinator says {after!r}"
            )
            raise errors.refuse("state", str(folder), allowed)


def other_history(folder: Path, history: str) -> errors.InputError:
    """The coordinator's ledger does not have the epoch that this folder knows."""
    allowed = (
        f"of the coordinator's history: epoch {history.partition('-')[0]} of this folder is of "
        "another history, which ended when a back-up of the coordinator was restored. The folder "
        "keeps what was learned. To go on, start with a new folder: see docs/deployment.md, Back "
        "up and restore"
    )
    return errors.refuse("state", str(folder), allowed)


# -------------------------------------------------------------------------------- the snapshot


class Mark(NamedTuple):
    """The data that was pending when a signal of rows was sent, and the cost that it stated."""

    data: Observations
    cost: float
    nonce: str = ""  # of the start that sent it


class Snapshot(NamedTuple):
    """All that a client knows."""

    generation: int  # of the journal that continues it
    settings: FederationView  # the last ones that the coordinator sent
    epoch: int
    clock: int
    V: Floats
    b: Floats
    frozen: FrozenData | None
    cost: float | None  # of the frozen data; None: the application has not said yet
    answers: dict[int, bool]  # to offers for it, by attempt
    fresh: Observations
    steps: int  # learned since the client was created
    earned: float
    lost_round: int | None  # still open at the first start, with an upload of a deleted folder
    own: Observations  # all of its own data
    given: Observations | None = None  # shared, and not downloaded yet; None: nothing
    settled: int = 0  # up to this round it is known what was shared
    entitled: bool = True  # to a download, where they are one for one
    given_rounds: tuple[int, ...] = ()  # in which `given` was shared
    marks: dict[int, Mark] = {}  # noqa: RUF012 - signals that may become uploads, by step,
    recent: list[tuple[Floats, float]] = []  # noqa: RUF012 - and then the last d steps
    known: Floats | None = None  # the scores of others, downloaded with the epoch
    start: Start = Start()  # the one that wrote this
    uploaded_steps: int = 0  # pending ones that an upload had before,
    blur: Noise | None = None  # their noise,
    kept: Observations | None = None  # and their sums, if they are not in `fresh`
    history: str = ""  # that came with the epoch, and tells it from one of another history

    @classmethod
    def new(cls, settings: FederationView, lost_round: int | None = None) -> Snapshot:
        """The snapshot of a client that has learned nothing yet."""
        d = settings.dim
        V, b = np.zeros((d, d)), np.zeros(d)
        fresh, own = Observations.empty(d), Observations.empty(d)  # each is added to in place
        return cls(0, settings, 0, 0, V, b, None, None, {}, fresh, 0, 0.0, lost_round, own)


def save(folder: Path, snapshot: Snapshot) -> None:
    """Durable when this returns."""
    body = json.dumps(_to_json(snapshot), allow_nan=False).encode()
    temporary = folder / f"{SNAPSHOT}.tmp"
    try:
        with open(temporary, "wb", opener=for_its_owner) as file:
            file.write(MAGIC + b"%d %08x\n" % (FORMAT, zlib.crc32(body)) + body)
            file.flush()
            os.fsync(file.fileno())
    except OSError:  # the disk may be full: make room
        temporary.unlink(missing_ok=True)
        raise
    os.replace(temporary, folder / SNAPSHOT)
    sync_names(folder)


def for_its_owner(path: str, flags: int) -> int:
    """Open a file that nobody else on the machine can read: it says what the client has seen."""
    return os.open(path, flags, 0o600)


def sync_names(folder: Path) -> None:
    """Make a rename in this folder durable (Windows cannot, and need not)."""
    if os.name == "posix":
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def load(folder: Path) -> Snapshot | None:
    """None: the folder has no snapshot, so it is new."""
    path = folder / SNAPSHOT
    try:
        head, _, body = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    made = re.fullmatch(MAGIC + rb"([0-9]{1,9}) [0-9a-f]{8}", head)
    if made is not None:
        check_format(path, int(made[1]), FORMAT)
    try:
        if head != MAGIC + b"%d %08x" % (FORMAT, zlib.crc32(body)):
            raise ValueError("the checksum is wrong")
        return _from_json(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:  # (an InputError is a ValueError)
        allowed = f"an undamaged snapshot of this version ({error}); start with a new folder"
        raise errors.refuse("state", str(path), allowed) from None


def _to_json(snapshot: Snapshot) -> dict[str, Any]:
    frozen = snapshot.frozen and {
        "round": snapshot.frozen.round,
        "cost": snapshot.cost,
        "answers": snapshot.answers,
        "data": _data_to_json(snapshot.frozen.data),
        "streamed": snapshot.frozen.streamed,
        "release": snapshot.frozen.release and _data_to_json(snapshot.frozen.release),
    }
    blur = snapshot.blur and {"V": to_text(snapshot.blur.V.ravel()), "b": to_text(snapshot.blur.b)}
    return {
        "generation": snapshot.generation,
        "settings": asdict(snapshot.settings),
        "epoch": snapshot.epoch,
        "clock": snapshot.clock,
        "V": to_text(snapshot.V.ravel()),
        "b": to_text(snapshot.b),
        "frozen": frozen,
        "fresh": _data_to_json(snapshot.fresh),
        "steps": snapshot.steps,
        "earned": snapshot.earned,
        "lost_round": snapshot.lost_round,
        "given": snapshot.given and _data_to_json(snapshot.given),
        "settled": snapshot.settled,
        "entitled": snapshot.entitled,
        "given_rounds": snapshot.given_rounds,
        "marks": {
            step: {"cost": mark.cost, "data": _data_to_json(mark.data), "nonce": mark.nonce}
            for step, mark in snapshot.marks.items()
        },
        "recent": to_text(np.array([[*x, y] for x, y in snapshot.recent]).ravel()),
        "own": _data_to_json(snapshot.own),
        "known": None if snapshot.known is None else to_text(snapshot.known),
        "start": list(snapshot.start),
        "history": snapshot.history,
        "uploaded_steps": snapshot.uploaded_steps,
        "blur": blur,
        "kept": snapshot.kept and _data_to_json(snapshot.kept),
    }


def _from_json(said: dict[str, Any]) -> Snapshot:
    settings = read(FederationView, said["settings"])
    dim, frozen = settings.dim, said["frozen"]
    return Snapshot(
        generation=said["generation"],
        settings=settings,
        epoch=said["epoch"],
        clock=said["clock"],
        V=read_floats("V", said["V"], dim * dim).reshape(dim, dim),
        b=read_floats("b", said["b"], dim),
        frozen=frozen and _frozen(frozen, dim),
        cost=frozen and frozen["cost"],
        answers={int(n): yes for n, yes in frozen["answers"].items()} if frozen else {},
        fresh=_data(said["fresh"], dim),
        steps=said["steps"],
        earned=said["earned"],
        lost_round=said["lost_round"],
        given=said["given"] and _data(said["given"], dim),
        settled=said["settled"],
        entitled=said["entitled"],
        given_rounds=tuple(said["given_rounds"]),
        marks={
            int(step): Mark(_data(mark["data"], dim), float(mark["cost"]), mark["nonce"])
            for step, mark in said["marks"].items()
        },
        recent=[
            (row[:-1].copy(), float(row[-1]))
            for row in read_floats("recent", said["recent"]).reshape(-1, dim + 1)
        ],
        own=_data(said["own"], dim),
        known=said["known"] and read_floats("known", said["known"], SCORES),
        start=Start(*said["start"]),
        history=said["history"],
        uploaded_steps=said["uploaded_steps"],
        blur=said["blur"] and _noise(said["blur"], dim),
        kept=said["kept"] and _data(said["kept"], dim),
    )


def _frozen(said: dict[str, Any], dim: int) -> FrozenData:
    release = said["release"] and _data(said["release"], dim)
    return FrozenData(said["round"], _data(said["data"], dim), release, said["streamed"])


def _noise(said: dict[str, Any], dim: int) -> Noise:
    V = read_floats("V", said["V"], dim * dim).reshape(dim, dim)
    return Noise(V, read_floats("b", said["b"], dim))


def _data_to_json(data: Observations) -> dict[str, Any]:
    rows = np.array(data.rows).reshape(-1)
    numbers = {"V": data.V.reshape(-1), "b": data.b, "rows": rows, "scores": data.scores}
    return {"steps": data.steps} | {name: to_text(part) for name, part in numbers.items()}


def _data(said: dict[str, Any], dim: int) -> Observations:
    steps = int(said["steps"])
    count = steps * dim if steps < dim and said["rows"] else 0  # none: with noise
    rows = read_floats("rows", said["rows"], count).reshape(-1, dim)
    V = read_floats("V", said["V"], dim * dim).reshape(dim, dim)
    b, scores = read_floats("b", said["b"], dim), read_floats("scores", said["scores"], SCORES)
    return Observations(steps, V, b, list(rows.copy()), scores)
