"""Downloads one for one: joining, and each share, entitles a client to one download."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.federation import prune
from incfed.service.coordinator.errors import Conflict
from support.federation import Federation, made

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


def test_another_rule_for_downloads_begins_anew(three: Federation) -> None:
    share(three, [0, 0, 0], [0.0, 0.0, 100.0])
    for client in range(3):
        three.coordinator.download(client, 0)
    share(three, [1, 1, 1], [0.0, 0.0, 1e6])
    assert three.coordinator.state(2).epoch == 1
    for rule in ("everyone", "one-for-one"):
        three.settings = three.settings.__class__(
            **{**vars(three.settings), "download": rule, "identity": ""}
        )
        assert three.another().state(2).epoch == 2
