"""Statements: what a client signs of its uploads (with the price), also of what it streams and may
become an upload, of its answers and deliveries.

A statement has only what an entry of the ledger has too, so that an auditor, who sees the ledger
and nothing else, can write it down again and check the signature. It names the federation, and the
round or the step: it proves nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..support.signing import canonical, digest
from .floats import to_bytes
from .messages import Signal, Upload
from .money import from_units
from .packing import Packed

PREFIX = "incfed-statement-1 "  # so that a signature means nothing in another protocol
UPLOADED, ANSWERED, DELIVERED = "uploaded", "answered", "delivered"  # kinds of entries
FIELDS = {
    UPLOADED: ("round", "client", "epoch", "steps", "cost", "form", "numbers"),
    ANSWERED: ("round", "client", "attempt", "accepted"),
    DELIVERED: ("round", "client", "db", "steps", "cost"),
}
# What is streamed becomes an upload that no message asks for, in a round that the client does not
# know yet: it signs all that it has streamed and not shared. `known`: the epoch that it has;
# `learned`: steps ever; `since`: the round in which it last shared, so that nothing that it has
# shared can be taken again.
STREAMED = "streamed"
SIGNED = FIELDS | {
    STREAMED: ("client", "since", "known", "learned", "steps", "cost", "form", "numbers"),
}


def statement(federation: str, kind: str, fields: Mapping[str, Any]) -> bytes:
    """The bytes that are signed; `fields`: those of the entry, and perhaps more."""
    said = {name: _plain(fields[name]) for name in SIGNED[kind]}
    if "cost" in said and "money_digits" in fields:  # it is in minor units, as in an entry
        said["cost"] = _plain(from_units(said["cost"], fields["money_digits"]))
    return (PREFIX + canonical({**said, "federation": federation, "kind": kind})).encode()


def signed_kind(entry: Mapping[str, Any]) -> str:
    """The kind of statement that an entry bears the signature of."""
    kind = str(entry["kind"])
    return STREAMED if kind == UPLOADED and "learned" in entry else kind


def stream_fields(client: int, signal: Signal, dV: Packed, since: int) -> dict[str, Any]:
    """Those of the entry of an upload that is made of this; dV: all that was streamed by now."""
    return {
        "client": client,
        "since": since,
        "known": signal.epoch,
        "learned": signal.learned,
        "steps": signal.steps,
        "cost": signal.cost,
        "form": dV.form,
        "numbers": digest(to_bytes(dV.numbers)),
    }


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
