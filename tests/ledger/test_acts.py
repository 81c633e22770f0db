"""What a coordinator must not accept, an audit finds: resale, and messages at the wrong time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.chain import digest
from incfed.ledger.clients import revoke
from incfed.ledger.federation import prune
from incfed.ledger.records import read_epoch, to_bytes, upload_entry, upload_row
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Answer, Upload
from incfed.protocol.packing import pack_matrix
from incfed.protocol.resale import Downloaded
from incfed.service.coordinator.round import RoundTransaction
from support.federation import Federation, made

CHANCE = np.random.default_rng(8)
X = [CHANCE.standard_normal((4, 3)) / 3.0 for _ in range(12)]


def founded(path: Path, **options: Any) -> Federation:
    given: dict[str, Any] = {"dim": 3, "ridge": 1.0, "threshold": 1.0, "barred_time": 0.0}
    return Federation(path / "ledger.db", 3, mechanism=incfed.PayEveryone(), **given | options)


def share(three: Federation, first: int) -> None:
    """A round in which everybody has new data."""
    rows = X[first : first + 3]
    number = three.upload(range(3), rows, 0.0)
    for client in three.offered():
        three.deliver(client, number, rows[client])


def findings(one: Federation) -> list[str]:
    with one.store.read() as connection:
        found = audit(connection).findings
    return found


# ---------------------------------------------------------------------------------- resale


def resell(three: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Client 2 sells what was new in round 2 back; the coordinator does not look."""
    with three.store.read() as connection:
        V = read_epoch(connection, 2, 3)[0] - read_epoch(connection, 1, 3)[0]
    state = three.coordinator.open_round(2)
    upload = Upload(3, state.epoch, 24, 0.0, pack_matrix(0.5 * V))
    with pytest.raises(Refusal, match="refuse_resale"):
        three.coordinator.upload(2, upload)
    with monkeypatch.context() as patch:
        patch.setattr(Downloaded, "check", lambda self, dV: None)
        three.coordinator.upload(2, upload)


@pytest.mark.parametrize("hidden", ["", "changed", "deleted", "directions"])
def test_resale_that_was_accepted_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    """Also if the sketches by which it is recognised were changed."""
    three = founded(tmp_path, limits=incfed.Limits(refuse_resale=True), live_time=1e6)
    share(three, 0)
    share(three, 3)
    assert findings(three) == []
    resell(three, monkeypatch)
    with three.store.touch() as connection:
        sketches = tables.sketches
        own = sketches.c.epoch == 2
        numbers = connection.scalar(select(sketches.c.numbers).where(own)) or b""
        other = np.frombuffer(numbers, "<f8").copy()
        if hidden == "deleted":
            connection.execute(sketches.delete())
        elif hidden:
            other[0 if hidden == "changed" else -1] += 2.0
            connection.execute(sketches.update().where(own).values(numbers=to_bytes(other)))
    found = findings(three)
    assert found[0].endswith("client 2: only what was downloaded before (limits.refuse_resale)")
    wrong = ["sketches 2: not those of V_g"] if hidden in ("changed", "directions") else []
    assert found[1:] == wrong


def test_resale_is_found_by_the_sketch_of_a_pruned_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = incfed.Limits(refuse_resale=True)
    three = founded(tmp_path, limits=limits, live_time=1e6, lag=0)
    share(three, 0)
    share(three, 3)
    resell(three, monkeypatch)
    three.wait(20.0)
    with three.store.write() as connection:
        prune(connection, three.clock() - 10.0, three.clock())
        assert connection.scalar(select(tables.epochs.c.V)) is None
    assert any("refuse_resale" in one for one in findings(three))


# ----------------------------------------------------------------------------------- stages

Act = Callable[[RoundTransaction, Federation], None]


def late_upload(transaction: RoundTransaction, three: Federation) -> None:
    settings, epoch = three.settings, transaction.federation.epoch
    row = upload_row(1, made(transaction.round.number, epoch, X[9], 0.0), settings)
    transaction.rows.add(tables.uploads, **row)
    transaction.record("uploaded", **upload_entry(row, settings.money_digits))


def old_upload(transaction: RoundTransaction, three: Federation) -> None:
    row = upload_row(1, made(transaction.round.number, 0, X[9], 0.0), three.settings)
    transaction.rows.add(tables.uploads, **row)
    transaction.record("uploaded", **upload_entry(row, three.settings.money_digits))


def deliver(transaction: RoundTransaction, client: int) -> None:
    db = to_bytes(X[6 + client].sum(axis=0))
    number = transaction.round.number
    transaction.rows.add(tables.deliveries, round=number, client=client, db=db)
    transaction.record("delivered", round=number, client=client, db=digest(db))


def early_delivery(transaction: RoundTransaction, three: Federation) -> None:
    deliver(transaction, 0)


def answer(transaction: RoundTransaction, three: Federation) -> None:
    number = transaction.round.number
    transaction.record("answered", round=number, client=0, attempt=1, accepted=True)


def close(transaction: RoundTransaction, three: Federation) -> None:
    transaction._close({})


def decide(transaction: RoundTransaction, three: Federation) -> None:
    number, deadline = transaction.round.number, transaction.round.deadline
    transaction.record(
        "decided", round=number, attempt=5, deadline=deadline, failed=[], offers={}, data_only=False
    )


@pytest.mark.parametrize(
    ("stage", "act", "said"),
    [
        ("offered", late_upload, "the round was offered, not open"),
        ("closed", late_upload, "the round was closed, not open"),
        ("open", old_upload, "client 1: epoch 0 is not from 1 to 1"),
        ("open", early_delivery, "the round was open, not offered"),
        ("open", answer, "the round was open, not offered"),
        ("closed", answer, "the round was closed, not offered"),
        ("answered", answer, "client 0 had answered before"),
        ("declined", early_delivery, "client 0 had declined its offer"),
        ("open", close, "the round was open, not offered"),
        ("offered", decide, "attempt 5 after 1"),
        ("revoked", late_upload, "client 1 was revoked"),
    ],
)
def test_a_message_at_the_wrong_time_is_found(
    tmp_path: Path, stage: str, act: Act, said: str
) -> None:
    """The coordinator writes it into ledger and tables all the same."""
    three = founded(tmp_path, live_time=1e6, upload_time=50.0, answer_time=50.0)
    share(three, 0)
    clients = [0, 2] if stage in ("open", "revoked") else [0, 1, 2]
    if act is late_upload and stage != "revoked":
        clients = [0, 2]
    number = three.upload(clients, [X[6 + client] for client in clients], 0.0)
    if stage not in ("open", "revoked"):
        three.wait(51.0 if len(clients) == 2 else 0.0)
    if stage in ("answered", "declined"):
        three.coordinator.answer(0, Answer(number, 1, stage == "answered"))
    if stage == "closed":
        for client in three.offered():
            three.deliver(client, number, X[6 + client])
    if stage == "revoked":
        with three.store.write() as connection:
            revoke(connection, "client 1", three.clock())
    assert findings(three) == []
    with three.coordinator._write() as transaction:
        act(transaction, three)
        transaction.rows.write()
    assert any(one.endswith(said) for one in findings(three)), findings(three)


def test_what_the_entries_tell_is_found_where_the_data_was_pruned(tmp_path: Path) -> None:
    three = founded(tmp_path, live_time=1e6, upload_time=50.0, lag=0)
    share(three, 0)
    number = three.upload([0, 2], [X[6], X[8]], 0.0)
    three.wait(51.0)
    for client in three.offered():
        three.deliver(client, number, X[6 + client])
    with three.coordinator._write() as transaction:
        old_upload(transaction, three)
        transaction.rows.write()
    three.wait(20.0)
    with three.store.write() as connection:
        prune(connection, three.clock() - 10.0, three.clock())
        assert not any(connection.scalars(select(tables.uploads.c.numbers)))
    found = findings(three)
    assert len(found) == 2, found
    assert found[0].endswith("the round was closed, not open")
    assert found[1].endswith("client 1: epoch 0 is not from 2 to 2")
