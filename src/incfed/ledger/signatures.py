"""Signatures: does what a client did bear its signature? Checked before it is recorded, and again
by the audit, from the entries alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..protocol.statements import DELIVERED, FIELDS, REQUIRED, UPLOADED, statement
from ..protocol.triggers import ROWS
from ..support.signing import verify
from .replay import Replay, Row
from .settings import Settings


def fault(
    federation: str, kind: str, fields: Mapping[str, Any], key: str | None, signature: str | None,
    settings: Settings,
) -> str | None:  # fmt: skip
    """What is wrong with the signature of an act, if anything."""
    if signature is None:
        signed = key is not None or settings.signatures == REQUIRED
        return "it is not signed" if signed else None
    if key is None:
        return "it is signed, but its sender has no key"
    if not verify(key, statement(federation, kind, fields), signature):
        return "the signature is not that of its sender"
    return None


def disputed(replay: Replay, e: Row, settings: Settings) -> list[str]:
    """Of an entry, given all entries before it."""
    kind = e["kind"]
    if kind not in FIELDS:
        return []
    signature = e.get("signature")
    if kind == UPLOADED and signature is None and settings.rule.streams == ROWS:
        return []  # the coordinator made it of what was streamed; the delivery is signed
    upload: Row = {}
    if kind == DELIVERED:
        upload = dict(replay.uploads[e["round"], e["client"]])
        if upload["cost_units"] is not None:
            upload |= {"cost": upload["cost_units"], "money_digits": replay.digits(e["round"])}
    key = replay.clients[e["client"]]["key"]
    found = fault(replay.now["name"], kind, {**upload, **e}, key, signature, settings)
    return [] if found is None else [f"client {e['client']}: {found}"]
