"""What clients sign, and what an audit says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.chain import canonical, link
from incfed.ledger.clients import reset_key
from incfed.ledger.replay import Replay
from incfed.ledger.settings import Settings
from incfed.ledger.signatures import disputed
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Answer, Delivery, Signal
from incfed.protocol.packing import pack_rows
from incfed.protocol.statements import statement, stream_fields, upload_fields
from incfed.service.coordinator import handlers
from incfed.service.coordinator.errors import Conflict
from incfed.support.signing import digest, new_key, public_key, sign, verify
from support.federation import Federation, made
from support.sqlite import unguarded

X = np.array([[0.6, 0.2]])


class Member:
    """A client that signs."""

    def __init__(self, federation: Federation, client: int) -> None:
        self.federation, self.client, self.key = federation, client, new_key()
        self.register(public_key(self.key))

    def register(self, key: str) -> None:
        self.federation.coordinator._send(self.client, handlers.register_key, key)

    def signed(self, kind: str, **fields: Any) -> str:
        with self.federation.store.read() as connection:
            name = connection.exec_driver_sql("SELECT name FROM federation").scalar()
        return sign(self.key, statement(str(name), kind, {"client": self.client, **fields}))

    def share(self, number: int) -> None:
        """All three acts."""
        coordinator, sent = self.federation.coordinator, made(number, 0, X, 2.0)
        signature = self.signed("uploaded", **upload_fields(self.client, sent))
        coordinator.upload(self.client, sent._replace(signature=signature))
        self.federation.wait(12.0)
        yes = {"round": number, "attempt": 1, "accepted": True}
        signature = self.signed("answered", **yes)
        coordinator.answer(self.client, Answer(number, 1, True, signature=signature))
        db = {"db": digest(X[0].astype("<f8").tobytes()), "steps": 1, "cost": 2.0, "round": number}
        delivery = Delivery(number, X[0], signature=self.signed("delivered", **db))
        coordinator.deliver(self.client, delivery)


def federation(path: Path, **options: Any) -> Federation:
    base: dict[str, Any] = {"dim": 2, "ridge": 1.0, "threshold": 1.0, "live_time": 1e6}
    return Federation(path, 2, mechanism=incfed.PayEveryone(), **base | options)


def findings(one: Federation) -> list[str]:
    with one.store.read() as connection:
        return audit(connection).findings


@pytest.mark.parametrize("digits", [0, 2])  # the entry has a whole number of minor units
def test_signed_acts_are_recorded_and_audited(tmp_path: Path, digits: int) -> None:
    two = federation(tmp_path / "ledger.db", money_digits=digits)
    member = Member(two, 0)
    two.coordinator.open_round(0)
    member.share(1)
    assert two.of("closed")
    for kind in ("uploaded", "answered", "delivered"):
        [event] = two.of(kind)
        assert len(event["signature"]) == 88
    assert findings(two) == []


def test_a_forged_act_shows(tmp_path: Path) -> None:
    """The operator changes a price, in every table, and makes all hashes fit."""
    two = federation(tmp_path / "ledger.db")
    member = Member(two, 0)
    two.coordinator.open_round(0)
    sent = made(1, 0, X, 2.0)
    signature = member.signed("uploaded", **upload_fields(0, sent))
    two.coordinator.upload(0, sent._replace(signature=signature))
    two.store.close()
    with unguarded(tmp_path / "ledger.db") as outside:
        previous = "0" * 64
        for number, body in outside.execute("SELECT number, body FROM entries").fetchall():
            entry = json.loads(body)
            if entry["kind"] == "uploaded":
                entry["cost"] = 100
            previous = link(previous, canonical(entry))
            values = (canonical(entry), previous, number)
            outside.execute("UPDATE entries SET body = ?, hash = ? WHERE number = ?", values)
        outside.execute("UPDATE uploads SET cost_units = 100")
    [finding] = findings(two)
    assert finding.endswith("client 0: the signature is not that of its sender")


@pytest.mark.parametrize("kind", ["uploaded", "answered", "delivered"])
def test_the_signature_of_a_stream_is_one_of_an_upload_alone(kind: str) -> None:
    """The coordinator writes an entry with all that the client signed, and more."""
    key = new_key()
    fields = stream_fields(0, Signal(0, 1, 1, 0.1, 2.0), pack_rows(X), 0)
    e = fields | {"signature": sign(key, statement("f-1", "streamed", fields))}
    e |= {"round": 1, "epoch": 0, "attempt": 1, "accepted": True, "db": "00", "kind": kind}
    replay = Replay()
    replay.federation[1], replay.clients[0] = {"name": "f-1"}, {"key": public_key(key)}
    replay.uploads[1, 0] = {"cost_units": 200}
    settings = Settings(dim=2, mechanism=incfed.PaymentFree(), trigger=incfed.News(0.5))
    wrong = ["client 0: the signature is not that of its sender"]
    assert disputed(replay, e, settings) == ([] if kind == "uploaded" else wrong)


def test_a_client_with_a_key_must_sign(tmp_path: Path) -> None:
    two = federation(tmp_path / "ledger.db")
    member = Member(two, 0)
    two.coordinator.open_round(0)
    sent, other = made(1, 0, X, 2.0), made(1, 0, X, 3.0)
    with pytest.raises(Refusal, match="it is not signed"):
        two.coordinator.upload(0, sent)
    for wrong in (other, sent._replace(epoch=1), sent._replace(round=2)):
        signature = member.signed("uploaded", **upload_fields(0, wrong))
        with pytest.raises(Refusal, match="the signature is not that of its sender"):
            two.coordinator.upload(0, sent._replace(signature=signature))
    assert not two.of("uploaded")
    signature = member.signed("uploaded", **upload_fields(1, sent))
    with pytest.raises(Refusal, match="its sender has no key"):
        two.coordinator.upload(1, sent._replace(signature=signature))
    two.coordinator.upload(1, sent)
    assert findings(two) == []


def test_signatures_can_be_required(tmp_path: Path) -> None:
    two = federation(tmp_path / "ledger.db", signatures="required")
    two.coordinator.open_round(1)
    with pytest.raises(Refusal, match="it is not signed"):
        two.coordinator.upload(1, made(1, 0, X, 2.0))


def test_a_key_is_registered_once(tmp_path: Path) -> None:
    two = federation(tmp_path / "ledger.db")
    member = Member(two, 0)
    member.register(public_key(member.key))  # the same again
    with pytest.raises(Conflict, match="incfed client reset-key"):
        member.register(public_key(new_key()))
    for wrong in ("", "A" * 44, public_key(new_key())[:-1]):
        with pytest.raises(Refusal, match="32 bytes in base64"):
            member.register(wrong)
    two.coordinator.open_round(0)
    member.share(1)
    with two.store.write() as connection:
        reset_key(connection, "0", two.clock())
        with pytest.raises(incfed.InputError, match="one that has registered a key"):
            reset_key(connection, "client 0", two.clock())
    assert findings(two) == []  # what the old key signed stays signed
    Member(two, 0)
    assert len(two.of("key")) == 2
    assert findings(two) == []


def test_any_changed_byte_breaks_a_signature() -> None:
    key = new_key()
    message = b"incfed-statement-1 {}"
    signature = sign(key, message)
    assert verify(public_key(key), message, signature)
    for n in range(len(message)):
        other = message[:n] + bytes([message[n] ^ 1]) + message[n + 1 :]
        assert not verify(public_key(key), other, signature)
    for text in ("", "x", signature[:-2], signature + "=", "A" * 88, signature.swapcase()):
        assert not verify(public_key(key), message, text)
    assert not verify(public_key(new_key()), message, signature)


def test_a_statement_is_written_in_one_way() -> None:
    fields = {"round": 1, "client": 0, "attempt": 1, "accepted": True, "at": 5.0}
    assert statement("f-1", "answered", fields) == (
        b'incfed-statement-1 {"accepted":true,"attempt":1,"client":0,"federation":"f-1",'
        b'"kind":"answered","round":1}'
    )
    delivered = {"round": 1, "client": 0, "db": "00", "steps": 2, "cost": 3.0}
    assert b'"cost":3,' in statement("f-1", "delivered", delivered)
