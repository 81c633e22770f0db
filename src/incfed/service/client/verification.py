"""Verification: does the ledger hold what this client did, once and unchanged, and nothing in its
name that it did not do? From the client's folder, and from proofs that whoever keeps the ledger
gives: the coordinator (`over_http`), or a reader of the database."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError
from ...protocol.heads import Head, Inclusion, Proof
from ...protocol.statements import FIELDS, UPLOADED, signed_kind, statement
from ...protocol.triggers import ROWS
from ...support.inputs import counted
from ...support.signing import public_key, verify
from .. import codec, requests
from ..wire import FederationView
from . import state_folder
from .durable_learner import trigger_of
from .keys import KEY, load_or_create
from .receipts import Receipt, faults, read_receipts
from .traffic import Traffic
from .transport import ServiceError, Transport, Unreachable, ask
from .validation import check_token, check_url

Prove = Callable[[int, int], Proof]  # from an older number of entries, and of a round
NOTHING = Head(0, "0" * 64, "0" * 64)


class Verification(NamedTuple):
    """The outcome of a verification."""

    acts: int  # that stand in the ledger
    heads: int  # that it extends
    head: Head  # of the ledger
    findings: list[str]

    @property
    def words(self) -> str:
        heads, size = counted(self.heads, "head"), counted(self.head.number, "entry", "entries")
        return (
            f"{counted(self.acts, 'act')} of this client in a ledger of {size}, which extends "
            f"{heads} seen before: {'NOT PROVED' if self.findings else 'proved'}"
        )


def client_of(folder: Path) -> int:
    """The id of the client whose state is in this folder."""
    return _settings(folder).client.id


def _settings(folder: Path) -> FederationView:
    start = state_folder.load(folder)
    if start is None or not (folder / KEY).exists():
        raise InputError(f"{folder}: must be the state folder of a client that has a key")
    return start.settings


def verify_folder(folder: Path, prove: Prove) -> Verification:
    """Check all receipts of the client whose state is in this folder."""
    settings, receipts = _settings(folder), list(read_receipts(folder))
    own = public_key(load_or_create(folder))
    streams = trigger_of(settings).streams == ROWS
    findings: list[str] = []
    heads = sorted({receipt.head for receipt in receipts})
    known = prove(0, 0)
    findings += faults(known, NOTHING) + _keys(known.entries, own)
    rounds = sorted({receipt.fields["round"] for receipt in receipts})
    stand, head = 0, known.head
    for number in rounds:
        proof = prove(0, number)
        findings += faults(proof, NOTHING)
        acts = [receipt for receipt in receipts if receipt.fields["round"] == number]
        good, wrong = _compare(acts, proof.entries, settings.federation, own, streams)
        stand, findings = stand + good, findings + wrong
        heads.append(proof.head)
        head = max(head, proof.head)
    for older in sorted(set(heads)):
        try:
            findings += faults(prove(older.number, 0), older)
        except InputError as error:  # it has fewer entries now
            findings.append(f"the ledger does not extend entry {older.number}: {error}")
    return Verification(stand, len(set(heads)), head, list(dict.fromkeys(findings)))


def over_http(url: str, token: str, timeout: float = 30.0, ca: str | None = None) -> Prove:
    """Proofs from a coordinator."""
    url, token = check_url(url), check_token(token)

    def prove(since: int, round: int) -> Proof:
        def connect() -> Transport:
            return Transport(url, token, timeout, ca, Traffic())

        try:
            [reply] = ask(connect, requests.get_proof(since, round))
            return codec.read_proof(reply)
        except (ServiceError, Unreachable) as error:
            raise InputError(str(error)) from None

    return prove


def _keys(entries: list[Inclusion], own: str) -> list[str]:
    """The key of the client was its own, always."""
    keys = [json.loads(entry.body).get("key") for entry in entries]
    if own not in keys:
        return ["the ledger does not know this client's key"]
    others = {key for key in keys if key not in (None, own)}
    return [
        f"the ledger has {counted(len(others), 'other key')} of this client: unless that is an "
        "earlier one of its own, somebody else could sign in its name"
    ] * bool(others)


def _compare(
    acts: list[Receipt], entries: list[Inclusion], federation: str, own: str, streams: bool
) -> tuple[int, list[str]]:
    """How many acts of a round stand in the ledger, and what is wrong."""
    found: list[str] = []
    recorded: dict[tuple[Any, ...], list[Inclusion]] = {}
    for entry in entries:
        body = json.loads(entry.body)
        if body["kind"] in FIELDS:
            recorded.setdefault(_name(body["kind"], body), []).append(entry)
    sent = recorded.get((UPLOADED, None), [])
    priced = json.loads(sent[0].body) if sent else {}
    price = {name: priced[name] for name in ("steps", "cost", "money_digits") if name in priced}
    good = 0
    for act in {_name(receipt.kind, receipt.fields): receipt for receipt in acts}.values():
        name = _name(act.kind, act.fields)
        where = f"round {act.fields['round']}: what this client {act.kind}"
        same = recorded.pop(name, [])
        if not same:
            found.append(f"{where} is not in the ledger")
        elif len(same) > 1:
            found.append(f"{where} is in the ledger {len(same)} times")
        else:
            body = json.loads(same[0].body)
            said = statement(federation, act.kind, {**act.fields, **price, **body})
            moved = act.entry not in (None, same[0].number)
            if said != statement(federation, act.kind, act.fields) or moved:
                found.append(f"{where} was changed in entry {same[0].number}")
            elif body.get("signature") != act.signature or not verify(own, said, act.signature):
                found.append(f"{where}: entry {same[0].number} does not bear its signature")
            else:
                good += 1
    for number, body in (
        (entry.number, json.loads(entry.body)) for entry in chain(*recorded.values())
    ):
        if body["kind"] == UPLOADED and streams and _is_empty(body):
            continue  # the coordinator says that it had streamed nothing
        if not _is_signed(body, {"steps": 0, "cost": 0, **price, **body}, federation, own):
            found.append(
                f"round {body.get('round')}: entry {number} says that this client "
                f"{body['kind']}, without its signature"
            )
    return good, found


def _is_empty(body: dict[str, Any]) -> bool:
    return body.get("steps") == 0 and "signature" not in body


def _is_signed(body: dict[str, Any], fields: dict[str, Any], federation: str, own: str) -> bool:
    try:
        said = statement(federation, signed_kind(body), fields)
    except (KeyError, TypeError):  # it lacks some of what a client signs
        return False
    return verify(own, said, str(body.get("signature")))


def _name(kind: str, fields: dict[str, Any]) -> tuple[Any, ...]:
    """The key of an act: a round has at most one act with each key."""
    return kind, fields.get("attempt") if kind == "answered" else None
