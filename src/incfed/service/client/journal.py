"""The write-ahead log of a client: a file of records since the snapshot, appended to only.

All records of a journal have the same length, so that a damaged one does not hide those after it.
A record carries its number, and its checksum covers the journal's generation as well: left-overs of
an earlier file on the disk are not taken for records.

A step is handed to the operating system and not flushed: it survives the end of the process, but
not a power cut. What is about to be sent is flushed first (`sync`).
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ... import errors
from ...types import Floats

STEP, FREEZE, ANSWER, SIGNAL = 1, 2, 3, 4
_HEAD = struct.Struct("<IIQ")  # kind, checksum, number
_SALT = struct.Struct("<QIQ")  # generation, kind, number
_FREEZE = struct.Struct("<QQd")
_ANSWER = struct.Struct("<QQQ")
_SIGNAL = struct.Struct("<Qd")


class Step(NamedTuple):
    x: Floats
    y: float


class Freeze(NamedTuple):
    """The first `steps` steps of this journal, and all before it, are set aside for this round."""

    round: int
    steps: int
    cost: float


class Answered(NamedTuple):
    """An offer was accepted or declined."""

    round: int
    attempt: int
    accepted: bool


class Signalled(NamedTuple):
    """The first `steps` steps of this journal, and all before it, were streamed, with a cost."""

    steps: int
    cost: float


Record = Step | Freeze | Answered | Signalled


def path_of(folder: Path, generation: int) -> Path:
    return folder / f"journal-{generation}"


def _payload(dim: int) -> int:
    return 8 * max(dim + 1, 3)


class Journal:
    """A new journal, open for writing."""

    def __init__(self, folder: Path, generation: int, dim: int) -> None:
        self.generation = generation
        self.path = path_of(folder, generation)
        self.steps = 0  # records of steps in it
        self.size = 0
        self._records = 0
        self._dim, self._width = dim, _payload(dim)
        self._intact = True  # False: a record may be there in part
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._fd = os.open(self.path, flags, 0o600)
        self._counts_links = os.fstat(self._fd).st_nlink > 0  # some file systems do not

    def step(self, x: Floats, y: float) -> None:
        self._append(STEP, x.astype("<f8", copy=False).tobytes() + struct.pack("<d", y))
        self.steps += 1

    def freeze(self, record: Freeze) -> None:
        self._append(FREEZE, _FREEZE.pack(*record))

    def answer(self, record: Answered) -> None:
        self._append(ANSWER, _ANSWER.pack(*record))

    def signal(self, record: Signalled) -> None:
        self._append(SIGNAL, _SIGNAL.pack(*record))

    def sync(self) -> None:
        self.check()
        os.fsync(self._fd)

    def check(self) -> None:
        """OSError if this file was deleted: what is written to it now would be lost."""
        if self._fd >= 0 and self._counts_links and os.fstat(self._fd).st_nlink == 0:
            message = "this client's state was deleted while in use; what was not shared is lost"
            raise OSError(errno.ENOENT, message, str(self.path.parent))

    def close(self) -> None:
        """Later writes are refused: another file may get this descriptor."""
        fd, self._fd, self._intact = self._fd, -1, False
        if fd >= 0:
            os.close(fd)

    def _append(self, kind: int, payload: bytes) -> None:
        """Write the whole record, or raise OSError and leave the file as it was."""
        if not self._intact:
            raise OSError(errno.EIO, "an earlier record could not be written", str(self.path))
        payload = payload.ljust(self._width, b"\0")
        number = self._records
        head = _HEAD.pack(kind, _checksum(self.generation, kind, number, payload), number)
        data = head + payload
        try:
            written = os.write(self._fd, data)
            if written != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            self.check()
        except OSError:
            self._intact = False
            with suppress(OSError):
                os.ftruncate(self._fd, self.size)
                self._intact = True
            raise
        self._records += 1
        self.size += len(data)


def read(folder: Path, generation: int, dim: int) -> list[Record] | None:
    """The records of a journal, without a torn end; None: there is no such journal.

    Steps after a damaged record were lost in a crash before they were sent. But any other record
    was flushed before it was sent: damage before one of those is not a torn end, and going
    on without it could share data twice.
    """
    path = path_of(folder, generation)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    length = _HEAD.size + _payload(dim)
    records: list[Record] = []
    torn = False
    for number in range(len(data) // length):
        chunk = data[number * length : (number + 1) * length]
        record = _record(chunk, generation, number, dim)
        if record is None:
            torn = True
        elif not torn:
            records.append(record)
        elif not isinstance(record, Step):
            allowed = "undamaged: records of what was sent cannot be read; start with a new folder"
            raise errors.refuse("state", str(path), allowed)
    return records


def _record(chunk: bytes, generation: int, number: int, dim: int) -> Record | None:
    kind, checksum, written = _HEAD.unpack_from(chunk)
    payload = chunk[_HEAD.size :]
    if written != number or checksum != _checksum(generation, kind, number, payload):
        return None
    if kind == STEP:
        numbers = np.frombuffer(payload, "<f8", dim + 1).astype(np.float64)
        return Step(numbers[:dim].copy(), float(numbers[dim]))
    if kind == FREEZE:
        return Freeze(*_FREEZE.unpack_from(payload))
    if kind == ANSWER:
        round, attempt, accepted = _ANSWER.unpack_from(payload)
        return Answered(round, attempt, bool(accepted))
    if kind == SIGNAL:
        return Signalled(*_SIGNAL.unpack_from(payload))
    return None


def _checksum(generation: int, kind: int, number: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(_SALT.pack(generation, kind, number)))
