"""Signatures: does what a client did bear its signature? Checked before it is recorded, and again
by the audit, from the entries alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..protocol.statements import DELIVERED, UPLOADED, signed_kind, statement
from ..protocol.triggers import ROWS
from ..rules.clients import REQUIRED
from ..support.signing import verify
from .replay import Replay, Row
from .settings import Settings


def fault(
    federation: str, kind: str, fields: Mapping[str, Any], key: str | None, signature: str | None,
    settings: Settings,
) -> str | None:  # fmt: skip
    """The fault in the signature of an act; None: there is none."""
    if signature is None:
        return "it is not signed" if must_sign(key, settings) else None
    if key is None:
        return "it is signed, but its sender has no key"
    if not verify(key, statement(federation, kind, fields), signature):
        return "the signature is not that of its sender"
    return None


def must_sign(key: str | None, settings: Settings) -> bool:
    """Must a client with this key sign what it does?"""
    return key is not None or settings.signatures == REQUIRED


def disputed(replay: Replay, e: Row, settings: Settings) -> list[str]:
    """The faults in the signature of an entry of an act, given all entries before it."""
    kind, signature = signed_kind(e), e.get("signature")
    if kind == UPLOADED and signature is None and settings.rule.streams == ROWS and not e["steps"]:
        return []  # the coordinator says that it has streamed nothing
    upload: Row = {}
    if kind == DELIVERED:
        upload = dict(replay.uploads[e["round"], e["client"]])
        upload |= {"cost": upload["cost_units"], "money_digits": replay.digits}
    key = replay.clients[e["client"]]["key"]
    found = fault(replay.now["name"], kind, {**upload, **e}, key, signature, settings)
    return [] if found is None else [f"client {e['client']}: {found}"]
