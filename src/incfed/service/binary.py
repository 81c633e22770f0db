"""The messages that carry arrays, packed: a head of 40 bytes, and 8 bytes a scalar.

A packed message is the body of the same request, or of the same reply, as its JSON (see `wire`),
with the content type `PACKED`. All numbers are little-endian:

    offset  type      field
         0  4 bytes   MAGIC
         4  uint8     kind      UPLOAD, DELIVERY, SIGNAL or DOWNLOAD
         5  uint8     form      what the scalars are: FORMS
         6  uint8     scores    of a delivery or download: how many of the scalars, the last ones,
                                are scores (trust "auto")
         7  uint8     money     of an upload, signal or download: 1 + the digits of its money
         8  uint32    dim       d
        12  uint32    scalars   how many
        16  uint32    epoch
        20  uint32    number    steps; of a delivery, the checksum of the factor;
                                of a download, 1 + the epoch since when, or 0: everything
        24  uint64    large     of a signal, steps ever; of a download, how many rounds follow;
                                of a delivery, the digest of the upload (0: not said)
        32  uint64    cost      in minor units; of a download, the round up to which what you shared
                                was withdrawn
        40            of a download, for each round: its number and your payment in minor units (two
                      uint64)
                      float64 scalars

Fields that a kind does not have are 0. A symmetric matrix of rank r < d is the trapezoid of a
triangular factor, r d - r (r - 1) / 2 scalars, otherwise its upper triangle; the vector that
belongs to a factor is sent as its r coordinates in the rows of the factor.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from ..kernels.trust import SCORES
from ..protocol import packing
from ..protocol.checks import MOST_STEPS, Refusal
from ..protocol.floats import from_bytes, to_bytes
from ..protocol.messages import Delivery, Download, Signal, Upload
from ..protocol.money import MOST_UNITS, from_units, to_units
from ..protocol.packing import Packed, coordinates
from ..rules.rounds import MOST_DIGITS
from ..support.inputs import counted
from ..types import Floats
from . import requests
from .requests import Request
from .wire import LARGEST

PACKED = "application/octet-stream"
MAGIC = b"IFB1"
UPLOAD, DELIVERY, SIGNAL, DOWNLOAD = 1, 2, 3, 4
TRIANGLE, FACTOR, ROWS, GROWTH, VECTOR, COORDINATES = 1, 2, 3, 4, 5, 6
FORMS = {
    UPLOAD: (TRIANGLE, FACTOR),
    DELIVERY: (VECTOR, COORDINATES),
    SIGNAL: (TRIANGLE, FACTOR, ROWS, GROWTH),
    DOWNLOAD: (TRIANGLE, FACTOR),
}
_HEAD, _PAID = struct.Struct("<4sBBBBIIIIQQ"), struct.Struct("<QQ")
OVERHEAD = _HEAD.size  # bytes of a message without its scalars,
ROUND_OVERHEAD = _PAID.size  # and for each round that a download mentions


class _Head(NamedTuple):
    """The fields after MAGIC, in their order."""

    kind: int
    form: int
    scores: int
    money: int
    dim: int
    scalars: int
    epoch: int = 0
    number: int = 0
    large: int = 0
    cost: int = 0

    def amount(self, name: str, units: int) -> float:
        if units > MOST_UNITS:
            raise Refusal(name, None, f"at most {MOST_UNITS:,} minor units")
        return from_units(units, self.money - 1)


# ------------------------------------------------------------------------------------- writing


def _write(
    head: _Head, scalars: Floats, between: bytes = b"", scores: Floats | None = None
) -> bytes:
    if scores is not None:
        head = head._replace(scalars=head.scalars + len(scores), scores=len(scores))
        scalars = np.concatenate([scalars, scores])
    return _HEAD.pack(MAGIC, *head) + between + to_bytes(scalars)


def _matrix(packed: Packed) -> tuple[int, Floats]:
    return FACTOR if packed.form == packing.FACTOR else TRIANGLE, packed.scalars()


def write_upload(upload: Upload, digits: int) -> bytes:
    """`digits`: of money."""
    form, scalars = _matrix(upload.dV)
    head = _Head(
        UPLOAD, form, 0, 1 + digits, upload.dV.dim, len(scalars), upload.epoch, upload.steps,
        cost=to_units(upload.cost, digits),
    )  # fmt: skip
    return _write(head, scalars)


def write_delivery(delivery: Delivery, dim: int) -> bytes:
    form = VECTOR if delivery.basis is None else COORDINATES
    named = int(delivery.upload or "0", 16)
    head = _Head(
        DELIVERY, form, 0, 0, dim, len(delivery.db), number=delivery.basis or 0, large=named
    )
    return _write(head, delivery.db, scores=delivery.scores)


def write_signal(signal: Signal, dim: int, digits: int) -> bytes:
    """With rows, or dV, the growth is not sent: it follows from them."""
    if signal.dV is not None:
        form, scalars = _matrix(signal.dV)
    elif signal.rows is not None:
        form, scalars = ROWS, signal.rows.ravel()
    else:
        form, scalars = GROWTH, np.array([signal.growth])
    head = _Head(
        SIGNAL, form, 0, 1 + digits, dim, len(scalars), signal.epoch, signal.steps, signal.learned,
        to_units(signal.cost, digits),
    )  # fmt: skip
    return _write(head, scalars)


def write_download(download: Download) -> bytes:
    form, scalars = _matrix(download.V)
    b = coordinates(download.V, download.b) if form == FACTOR else download.b
    assert b is not None  # who made the download has checked it
    digits = download.money_digits
    units = ((round, to_units(paid, digits)) for round, paid in download.shared.items())
    paid = b"".join(_PAID.pack(*payment) for payment in units)
    since = 0 if download.since is None else download.since + 1
    both = np.concatenate([scalars, b])
    rounds = len(download.shared)
    head = _Head(
        DOWNLOAD, form, 0, 1 + digits, download.V.dim, len(both), download.epoch, since, rounds,
        download.withdrawn,
    )  # fmt: skip
    return _write(head, both, paid, download.scores)


# ------------------------------------------------------------------------------------- reading


def _read(data: bytes, kind: int, dim: int) -> tuple[_Head, bytes, Floats | None]:
    """The head and what follows it, without the scores, and these; Refusal, unless the head makes
    sense."""
    if len(data) < OVERHEAD:
        raise Refusal(
            "body", counted(len(data), "byte"), f"a head of {OVERHEAD} bytes, and scalars"
        )
    magic, *fields = _HEAD.unpack_from(data)
    head = _Head(*fields)
    if magic != MAGIC or head.kind != kind:
        raise Refusal("body", None, f"a packed message of kind {kind}, as in docs/service.md")
    if head.form not in FORMS[kind]:
        raise Refusal("form", head.form, f"one of {', '.join(map(str, FORMS[kind]))}")
    if head.dim != dim:
        raise Refusal("dim", head.dim, f"{dim}, as in this federation")
    if head.money not in ([0] if kind == DELIVERY else range(1, MOST_DIGITS + 2)):
        raise Refusal("money", head.money, f"from 1 to {1 + MOST_DIGITS}; of a delivery, 0")
    if head.epoch > LARGEST:
        raise Refusal("epoch", head.epoch, f"at most {LARGEST}")
    if kind in (UPLOAD, SIGNAL) and head.number > MOST_STEPS:
        raise Refusal("steps", head.number, f"a whole number from 0 to {MOST_STEPS:,}")
    if kind == SIGNAL and head.large >= 2**62:
        raise Refusal("learned", None, "a whole number below 2^62")
    unused = {
        UPLOAD: head.large,
        DELIVERY: head.epoch or head.cost or (head.number and head.form == VECTOR),
        SIGNAL: 0,
        DOWNLOAD: 0,
    }
    if unused[kind]:
        raise Refusal("body", None, "0 in the fields that this message does not have")
    if not head.scores:
        return head, data[OVERHEAD:], None
    if kind not in (DELIVERY, DOWNLOAD) or head.scores != SCORES or head.scalars < SCORES:
        raise Refusal(
            "scores", head.scores, f"{SCORES} of the scalars of a delivery or download, or 0"
        )
    cut = max(OVERHEAD, len(data) - 8 * SCORES)
    found = _scalars("scores", head._replace(scalars=SCORES), data[cut:], SCORES)
    return head._replace(scalars=head.scalars - SCORES), data[OVERHEAD:cut], found


def _scalars(name: str, head: _Head, data: bytes, count: int | None = None) -> Floats:
    """All of `data`: as many as the head says, and `count`, unless that is None."""
    if len(data) != 8 * head.scalars:
        allowed = f"{counted(8 * head.scalars, 'byte')} of scalars: its head counts {head.scalars}"
        raise Refusal("body", counted(len(data), "byte"), allowed)
    if count is not None and head.scalars != count:
        raise Refusal(name, counted(head.scalars, "number"), counted(count, "number"))
    numbers = from_bytes(data)
    if not np.isfinite(numbers).all():
        raise Refusal(name, "a number that is not finite", "finite numbers")
    return numbers


def _size(form: int, rank: int, dim: int) -> int:
    """Scalars of a matrix."""
    return dim * (dim + 1) // 2 if form == TRIANGLE else rank * dim - rank * (rank - 1) // 2


def _read_matrix(name: str, head: _Head, data: bytes) -> Packed:
    """A factor has one row a step."""
    steps = head.number
    if head.form == FACTOR and steps >= head.dim:
        raise Refusal("form", head.form, f"{TRIANGLE}, a triangle: there are d steps or more")
    numbers = _scalars(name, head, data, _size(head.form, steps, head.dim))
    form = packing.FACTOR if head.form == FACTOR else packing.TRIANGLE
    return packing.unpack(form, steps, head.dim, numbers)


def read_upload(round: int, data: bytes, dim: int) -> Upload:
    head, rest, _ = _read(data, UPLOAD, dim)
    dV = _read_matrix("dV", head, rest)
    return Upload(round, head.epoch, head.number, head.amount("cost", head.cost), dV)


def read_delivery(round: int, data: bytes, dim: int) -> Delivery:
    """The coordinator knows how many coordinates there must be."""
    head, rest, scores = _read(data, DELIVERY, dim)
    named = f"{head.large:0{packing.DIGEST}x}" if head.large else None
    if head.form == VECTOR:
        return Delivery(round, _scalars("db", head, rest, dim), None, scores, named)
    return Delivery(round, _scalars("db", head, rest), head.number, scores, named)


def read_signal(data: bytes, dim: int) -> Signal:
    head, rest, _ = _read(data, SIGNAL, dim)
    rows = dV = None
    growth = 0.0
    if head.form == GROWTH:
        growth = float(_scalars("growth", head, rest, 1)[0])
    elif head.form == ROWS:
        if head.scalars % dim or head.scalars > dim * dim:
            allowed = f"at most {counted(dim, 'row')} of {counted(dim, 'number')}"
            raise Refusal("rows", counted(head.scalars, "number"), allowed)
        rows = _scalars("rows", head, rest).reshape(-1, dim)
    else:
        dV = _read_matrix("dV", head, rest)
    cost = head.amount("cost", head.cost)
    return Signal(head.epoch, head.large, head.number, growth, cost, rows, dV)


def read_download(data: bytes, dim: int, without: tuple[int, ...] = ()) -> Download:
    """The reply to a client that has its own data of the rounds `without`."""
    head, rest, scores = _read(data, DOWNLOAD, dim)
    if len(rest) < head.large * ROUND_OVERHEAD:
        raise Refusal(
            "body", counted(len(rest), "byte"), f"{counted(head.large, 'round')} at least"
        )
    paid, rest = rest[: head.large * ROUND_OVERHEAD], rest[head.large * ROUND_OVERHEAD :]
    shared = {round: head.amount("shared", units) for round, units in _PAID.iter_unpack(paid)}
    ranks = {_size(head.form, rank, dim) + rank: rank for rank in range(dim)}
    rank = dim if head.form == TRIANGLE else ranks.get(head.scalars, -1)
    if rank < 0:
        raise Refusal("V", counted(head.scalars, "number"), "those of a factor and its coordinates")
    size = _size(head.form, rank, dim)
    numbers = _scalars("V", head, rest, size + rank)
    form = packing.FACTOR if head.form == FACTOR else packing.TRIANGLE
    V = packing.unpack(form, rank, dim, numbers[:size])
    b = packing.combine(V, numbers[size:]) if head.form == FACTOR else numbers[size:]
    since = head.number - 1 if head.number else None
    if head.cost > LARGEST:
        raise Refusal("withdrawn", None, "the number of a round, or 0")
    kept, digits = without if since is not None else (), head.money - 1
    return Download(head.epoch, since, V, b, shared, kept, scores, digits, head.cost)


# ------------------------------------------------------------------------------------ requests


def put_signal(signal: Signal, dim: int, digits: int) -> Request:
    body = write_signal(signal, dim, digits)
    return Request("signal", "PUT", requests.STATE, body, sequence=signal.learned)


def put_upload(upload: Upload, digits: int) -> Request:
    path = requests.UPLOAD.format(number=upload.round)
    return Request("upload", "PUT", path, write_upload(upload, digits), number=upload.round)


def put_delivery(delivery: Delivery, dV: Packed | None) -> Request:
    """`dV`: as it was uploaded; None: send db itself."""
    number, dim = delivery.round, len(delivery.db)
    if dV is not None and dV.form == packing.FACTOR:
        c = coordinates(dV, delivery.db)
        delivery = delivery if c is None else delivery._replace(db=c, basis=dV.checksum())
    body, path = write_delivery(delivery, dim), requests.DELIVERY.format(number=number)
    return Request("delivery", "PUT", path, body, number=number)


def get_download(
    since: int, closed: bool, model: bool, own: tuple[int, ...], uploaded: str = ""
) -> Request:
    """Without this client's own data of the rounds `own`."""
    request = requests.get_download(since, closed, model, uploaded)
    path = request.path + "".join(f"&own={round}" for round in own)
    return request._replace(path=path, own=own)
