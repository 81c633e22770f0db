"""Downloads one for one: joining, and each share, entitles a client to one download."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import insert, select, update

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.federation import prune
from incfed.ledger.records import pack_epoch
from incfed.protocol.messages import Signal
from incfed.protocol.packing import pack_rows
from incfed.service.coordinator.errors import Conflict
from support.federation import Federation, made
from support.in_process_transport import reply
from support.in_step import Party, settle

X = np.eye(2)[:1]


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Federation]:
    made = Federation(
        tmp_path / "ledger.db", 3, dim=2, ridge=1.0, threshold=1.0, lag=0,
        mechanism=incfed.PaymentFree(), download="one-for-one",
    )  # fmt: skip
    yield made
    made.store.close()


def share(federation: Federation, epochs: list[int], costs: list[float]) -> None:
    """A round in which all have the same data pending, on top of these epochs."""
    here = federation.coordinator
    opened = here.open_round(0).round
    assert opened is not None
    for client, (epoch, cost) in enumerate(zip(epochs, costs, strict=True)):
        here.upload(client, made(opened.number, epoch, X, cost))
    for client in federation.offered():
        federation.deliver(client, opened.number, X)


def test_who_does_not_share_gets_no_later_model(three: Federation) -> None:
    here = three.coordinator
    for client in range(3):
        assert here.download(client, 0).epoch == 0  # joining
    share(three, [0, 0, 0], [0.0, 0.0, 100.0])
    assert [here.state(client).epoch for client in range(3)] == [1, 1, 0]
    refused = here.download(2, 0)
    assert (refused.epoch, refused.since, refused.shared, refused.V.rank) == (0, 0, {}, 0)
    told = here.download(0, 0, model=False)
    assert (told.epoch, told.since, told.shared, told.V.rank) == (0, 0, {1: 0.0}, 0)
    assert here.state(0).epoch == 1  # that was no download
    assert here.download(0, 0).epoch == 1


def test_a_refused_request_uses_up_no_entitlement(three: Federation) -> None:
    here = three.coordinator
    share(three, [0, 0, 0], [0.0, 0.0, 0.0])
    with pytest.raises(Conflict, match="since"):
        here.download(0, 9)
    with three.store.read() as connection:
        assert connection.execute(select(tables.grants)).all() == []
    assert here.download(0, 0).epoch == 1


def test_what_was_shared_is_said_also_if_old_epochs_are_pruned(three: Federation) -> None:
    share(three, [0, 0, 0], [0.0, 0.0, 0.0])
    for client in range(3):
        three.coordinator.download(client, 0)
    with three.store.write() as connection:
        prune(connection, three.clock.now + 1.0, three.clock.now)
    told = three.coordinator.download(0, None, model=False)
    assert (told.epoch, told.since, told.shared) == (0, 0, {1: 0.0})


def test_a_reply_that_was_lost_is_sent_again_but_nothing_later(three: Federation) -> None:
    here = three.coordinator
    share(three, [0, 0, 0], [0.0, 0.0, 100.0])
    first = here.download(0, 0)
    here.download(1, 0)
    three.upload([1, 0, 2], [X, X[:0], X[:0]], 0.0)
    three.deliver(1, 2, X)
    again = here.download(0, 0)
    assert again.epoch == first.epoch == 1
    np.testing.assert_array_equal(again.V.matrix(), first.V.matrix())
    assert here.download(0, 1).epoch == 1
    assert here.download(1, 1).epoch == 2
    assert here.download(2, 0).epoch == 2  # it joined, and has never asked before


def test_a_client_that_stays_behind_may_upload_and_its_epoch_is_kept(three: Federation) -> None:
    here = three.coordinator
    here.download(2, 0)
    for epoch in range(3):
        share(three, [epoch, epoch, 0], [0.0, 0.0, 1e6])
        for client in (0, 1):
            here.download(client, epoch)
    three.clock.now += 1000.0
    with three.store.write() as connection:
        assert prune(connection, three.clock.now, three.clock.now).epoch == 3
    for client in range(3):
        here.state(client)  # all are there
    opened = here.open_round(2, epoch=0).round
    assert opened is not None
    with pytest.raises(Conflict, match="not pruned"):
        here.upload(0, made(opened.number, 2, X, 0.0))
    here.upload(2, made(opened.number, 0, X, 0.0))
    for client in (0, 1):
        here.upload(client, made(opened.number, 3, X[:0], 0.0))
    assert list(three.offered()) == [2]
    three.deliver(2, opened.number, X)
    assert here.download(2, 0).epoch == 4
    with three.store.read() as connection:
        assert audit(connection).findings == []


def test_a_call_that_comes_twice_opens_one_round(three: Federation) -> None:
    """Also that of a client whose epoch has not changed since."""
    here = three.coordinator
    here.download(2, 0)
    assert here.open_round(2, epoch=0, after=0).round is not None
    assert here.open_round(2, epoch=0, after=0).round is not None  # it joins
    for client, cost in enumerate((0.0, 0.0, 1e6)):
        here.upload(client, made(1, 0, X, cost))
    for client in three.offered():
        three.deliver(client, 1, X)
    with pytest.raises(Conflict, match="the last round"):
        here.open_round(2, epoch=0, after=0)
    assert here.state(2).active is None
    assert here.open_round(2, epoch=0, after=1).active is not None


def set_download(federation: Federation, rule: str) -> None:
    """The operator changes the rule, and restarts the coordinator."""
    changed = {**vars(federation.settings), "download": rule, "identity": ""}
    federation.settings = federation.settings.__class__(**changed)
    federation.coordinator = federation.another()


def test_an_epoch_that_was_pruned_while_another_rule_applied(
    three: Federation, tmp_path: Path
) -> None:
    """A client that slept through it has an epoch that nobody keeps: it downloads, and goes on."""
    party = Party(lambda who, one: reply(three.coordinator, who, one), 2, 0.0, tmp_path / "2")
    party.durable.act()
    settle([party])
    assert party.durable.learner.epoch == 0
    for epoch in range(3):
        share(three, [epoch, epoch, 0], [0.0, 0.0, 1e6])
        for client in (0, 1):
            three.coordinator.download(client, epoch)
    set_download(three, "everyone")
    three.clock.now += 1000.0
    with three.store.write() as connection:
        prune(connection, three.clock.now, three.clock.now)
    set_download(three, "one-for-one")
    party.durable.learn(X[0], 0.5)
    settle([party])
    assert party.durable.learner.epoch == 3
    number = three.coordinator.open_round(0).round
    assert number is not None
    for client in (0, 1):
        three.coordinator.upload(client, made(number.number, 3, X[:0], 0.0))
    settle([party])
    assert party.durable.pending == 0
    party.durable.close()


@pytest.mark.parametrize("signal", ["rows", "growth"])
def test_a_signal_on_top_of_an_epoch_that_was_pruned(signal: str, tmp_path: Path) -> None:
    """It does not count, and harms nobody."""
    two = Federation(
        tmp_path / "ledger.db", 2, dim=2, ridge=1.0, mechanism=incfed.PaymentFree(),
        trigger=incfed.Patient(0.5, signal, 1.0), download="one-for-one",
    )  # fmt: skip
    here = two.coordinator
    own = pack_rows(X) if signal == "rows" else None
    here.signal(0, Signal(0, 1, 1, 0.69, 1e6, None, own))
    with two.store.write() as connection:
        connection.execute(update(tables.epochs).values(V=None, b=None))
        V, b = pack_epoch(np.eye(2), np.zeros(2))
        connection.execute(insert(tables.epochs).values(number=1, round=1, V=V, b=b))
        connection.execute(update(tables.federation).values(epoch=1))
    assert two.another().signal(1, Signal(1, 1, 1, 0.4, 0.0, None, own)).epoch == 1
    two.store.close()


def test_an_upload_on_top_of_an_epoch_that_was_pruned(tmp_path: Path) -> None:
    """It was not shared: until its client downloads, it counts on top of the current epoch."""
    two = Federation(
        tmp_path / "ledger.db", 2, dim=2, ridge=1.0, mechanism=incfed.PaymentFree(),
        trigger=incfed.Patient(1.0, "growth", 1.0), download="one-for-one",
    )  # fmt: skip
    for client in (0, 1):
        state = two.coordinator.signal(client, Signal(0, 1, 1, 0.69, 0.9))
    assert state.active is not None  # too early: both have the same
    for client in (0, 1):
        two.coordinator.upload(client, made(1, 0, X, 0.9))
    assert two.coordinator.state(0).active is None
    with two.store.write() as connection:
        first = tables.epochs.c.number == 0
        connection.execute(update(tables.epochs).where(first).values(V=None, b=None))
    assert two.another().signal(1, Signal(1, 2, 2, 0.7, 50.0)).active is None
    two.store.close()


def test_another_rule_for_downloads_begins_anew(three: Federation) -> None:
    share(three, [0, 0, 0], [0.0, 0.0, 100.0])
    for client in range(3):
        three.coordinator.download(client, 0)
    share(three, [1, 1, 1], [0.0, 0.0, 1e6])
    assert three.coordinator.state(2).epoch == 1
    for rule in ("everyone", "one-for-one"):
        set_download(three, rule)
        assert three.coordinator.state(2).epoch == 2


def test_a_change_of_the_settings_reaches_running_clients(
    three: Federation, tmp_path: Path
) -> None:
    party = Party(lambda who, one: reply(three.coordinator, who, one), 0, 0.0, tmp_path / "0")
    settle([party])
    assert party.durable.settings.threshold == 1.0
    changed = {**vars(three.settings), "threshold": None, "identity": ""}
    trigger = incfed.Patient(2.0, "growth")
    three.settings = three.settings.__class__(**{**changed, "trigger": trigger})
    three.coordinator = three.another()
    settle([party])
    assert party.durable.settings.trigger == trigger.settings()
    assert party.durable.streams == "growth"
    party.durable.learn(X[0], 0.5)
    settle([party])
    with three.store.read() as connection:
        assert connection.scalar(select(tables.signals.c.steps)) == 1
    party.durable.close()
