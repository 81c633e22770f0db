"""The messages of `wire` read from JSON, and turned into those of the protocol and back.

What is wrong is refused with the field, its value and what is allowed. `binary` does the same for
packed messages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from .. import errors
from ..kernels.trust import SCORES
from ..protocol.checks import Refusal
from ..protocol.floats import from_text, to_text
from ..protocol.heads import Head, Inclusion, Proof
from ..protocol.messages import Delivery, Download, Signal, Upload
from ..protocol.money import to_units
from ..protocol.packing import FACTOR, TRIANGLE, Packed
from ..support import inputs
from ..types import Floats
from ..values import Flag, Word
from .wire import (
    DeliveryBody,
    DownloadView,
    EntryView,
    Matrix,
    ProofView,
    SignalBody,
    UploadBody,
)

Value = TypeVar("Value")

# ------------------------------------------------------------------------------- reading replies


def read(kind: type[Value], said: object, name: str = "") -> Value:
    """A message of this kind from JSON; InputError names the field that is wrong.

    Unknown fields are ignored: a newer coordinator may send more.
    """
    hints, optional = _hints(kind)  # type: ignore[arg-type]
    if not isinstance(said, dict):
        allowed = f"an object with {', '.join(field for field, _ in hints)}"
        raise errors.refuse(name or "reply", said, allowed)
    prefix = f"{name}." if name else ""
    return kind(
        **{
            key: _value(prefix + key, hint, said.get(key))
            for key, hint in hints
            if key in said or key not in optional
        }
    )


@cache
def _hints(kind: Any) -> tuple[list[tuple[str, Any]], set[str]]:
    """The annotation of each field, and the fields that may be left out."""
    hints = get_type_hints(kind, include_extras=True)
    sent = [field for field in fields(kind) if field.name not in kind.ignored]
    optional = {field.name for field in sent if field.default is not MISSING} - kind.required
    return [(field.name, hints[field.name]) for field in sent], optional


def _value(name: str, hint: Any, value: object) -> Any:
    options = get_args(hint)
    if type(None) in options:
        words = [
            option for option in options if get_origin(option) is Literal and isinstance(value, str)
        ]
        return None if value is None else _value(name, (words or options)[0], value)
    if get_origin(hint) is Literal:
        return Word(options).of(name, value)
    if get_origin(hint) is Annotated:
        return options[1].of(name, value)
    if isinstance(hint, type) and is_dataclass(hint):
        return read(hint, value, name)
    if hint is bool:
        return Flag().of(name, value)
    if hint is str and not isinstance(value, str):
        raise errors.refuse(name, value, "a string")
    return value


def write_proof(proof: Proof) -> ProofView:
    entries = [EntryView(*entry) for entry in proof.entries]
    return ProofView(*proof.head, proof.consistency, entries)


def read_proof(said: object) -> Proof:
    view = read(ProofView, said)
    own = [read(EntryView, entry, "entries") for entry in view.entries]
    for hashes in (view.consistency, *(entry.path for entry in own)):
        if not isinstance(hashes, list) or not all(isinstance(text, str) for text in hashes):
            raise errors.refuse("proof", None, "lists of hashes")
    found = [Inclusion(entry.number, entry.body, entry.path) for entry in own]
    return Proof(Head.read(f"{view.number} {view.hash} {view.root}"), view.consistency, found)


def read_floats(name: str, text: str, count: int | None = None) -> Floats:
    """`count` finite numbers (None: any number of them). What is refused is never repeated: it may
    be data."""
    allowed = f"{'' if count is None else f'{count} '}finite float64 numbers in base64"
    try:
        numbers = from_text(text)
    except ValueError:
        raise Refusal(name, inputs.counted(len(text), "character"), allowed) from None
    if count is not None and len(numbers) != count:
        raise Refusal(name, inputs.counted(len(numbers), "number"), allowed)
    if not np.isfinite(numbers).all():
        raise Refusal(name, "a number that is not finite", allowed)
    return numbers


def read_matrix(name: str, matrix: Matrix, dim: int) -> Packed:
    count = dim * (dim + 1) // 2 if matrix.form == TRIANGLE else None
    numbers = read_floats(f"{name}.numbers", matrix.numbers, count)
    if matrix.form == FACTOR and (len(numbers) % dim or len(numbers) > dim * dim):
        allowed = f"at most {inputs.counted(dim, 'row')} of {inputs.counted(dim, 'number')}"
        raise Refusal(f"{name}.numbers", inputs.counted(len(numbers), "number"), allowed)
    return Packed(matrix.form, dim, numbers)


class BadReply(ValueError):
    """A reply of the coordinator that cannot be right."""


def reply(read: Callable[[], Value]) -> Value:
    """Return what `read` returns. BadReply instead of InputError: nobody's input is to blame."""
    try:
        return read()
    except errors.InputError as error:
        raise BadReply(f"the coordinator's reply: {error}") from None


# ----------------------------------------------------------- protocol messages to and from JSON


def write_matrix(packed: Packed) -> Matrix:
    return Matrix("factor" if packed.form == FACTOR else "triangle", to_text(packed.numbers))


def write_download(download: Download) -> DownloadView:
    shared = {str(round): paid for round, paid in download.shared.items()}
    V, b = write_matrix(download.V), to_text(download.b)
    scores = None if download.scores is None else to_text(download.scores)
    digits = download.money_digits
    units = {round: to_units(paid, digits) for round, paid in shared.items()}
    return DownloadView(
        download.epoch, download.since, V, b, shared, digits, units, scores, download.withdrawn
    )


def read_upload_body(round: int, body: UploadBody, dim: int) -> Upload:
    """`check_upload` judges whether its numbers are possible."""
    return Upload(round, body.epoch, body.steps, body.cost, read_matrix("dV", body.dV, dim))


def read_delivery_body(round: int, body: DeliveryBody, dim: int) -> Delivery:
    """`check_delivery` judges whether its numbers are possible."""
    scores = None if body.scores is None else read_floats("scores", body.scores, SCORES)
    db = read_floats("db", body.db, dim)
    return Delivery(round, db, scores=scores, upload=body.upload)


def read_signal_body(body: SignalBody, dim: int) -> Signal:
    """`check_signal` judges whether its numbers are possible."""
    rows = None
    if body.rows is not None:
        numbers = read_floats("rows", body.rows)
        if len(numbers) % dim or len(numbers) > dim * dim:
            allowed = f"at most {inputs.counted(dim, 'row')} of {inputs.counted(dim, 'number')}"
            raise Refusal("rows", inputs.counted(len(numbers), "number"), allowed)
        rows = numbers.reshape(-1, dim)
    dV = None if body.dV is None else read_matrix("dV", body.dV, dim)
    return Signal(body.epoch, body.learned, body.steps, body.growth, body.cost, rows, dV)
