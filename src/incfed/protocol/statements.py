"""Statements: what a client signs of its uploads (with the price), answers and deliveries.

A statement has only what an entry of the ledger has too, so that an auditor, who sees the ledger
and nothing else, can write it down again and check the signature. It names the federation and the
round: it proves nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..support.signing import canonical, digest
from .floats import to_bytes
from .messages import Upload
from .money import from_units

PREFIX = "incfed-statement-1 "  # so that a signature means nothing in another protocol
UPLOADED, ANSWERED, DELIVERED = "uploaded", "answered", "delivered"  # kinds of entries
FIELDS = {
    UPLOADED: ("round", "client", "epoch", "steps", "cost", "form", "numbers"),
    ANSWERED: ("round", "client", "attempt", "accepted"),
    # with the price, because what was streamed became an upload without a message of its own
    DELIVERED: ("round", "client", "db", "steps", "cost"),
}
REGISTERED, REQUIRED = "registered", "required"  # who has to sign: who has a key, or everybody


def statement(federation: str, kind: str, fields: Mapping[str, Any]) -> bytes:
    """What is signed; `fields`: those of the entry, and perhaps more."""
    said = {name: _plain(fields[name]) for name in FIELDS[kind]}
    if (
        "cost" in said and (digits := fields.get("money_digits")) is not None
    ):  # it is in minor units
        said["cost"] = _plain(from_units(said["cost"], digits))
    return (PREFIX + canonical({**said, "federation": federation, "kind": kind})).encode()


def upload_fields(client: int, upload: Upload) -> dict[str, Any]:
    """Those of the entry of an upload."""
    return {
        "round": upload.round,
        "client": client,
        "epoch": upload.epoch,
        "steps": upload.steps,
        "cost": upload.cost,
        "form": upload.dV.form,
        "numbers": digest(to_bytes(upload.dV.numbers)),
    }


def _plain(value: Any) -> Any:
    """A whole number in one way, whether it came as 1 or as 1.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
