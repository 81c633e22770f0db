"""What a client with a valid token can take, and what it is told when it asks for more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update

import incfed
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.federation import prune
from incfed.ledger.records import read_epoch
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Delivery, Signal, Upload
from incfed.protocol.packing import Packed, pack_matrix, pack_rows
from incfed.protocol.resale import Downloaded
from reference.mechanisms import FloatArray
from support.federation import Federation, made

CHANCE = np.random.default_rng(5)
X = [CHANCE.standard_normal((4, 3)) / 3.0 for _ in range(40)]


def founded(memory: Path, count: int = 3, **limits: Any) -> Federation:
    return Federation(
        memory / "books.db", count, dim=3, ridge=1.0, threshold=1.0, budget=10_000.0,
        mechanism=incfed.PayEveryone(), barred_time=0.0, limits=incfed.Limits(**limits),
    )  # fmt: skip


def share(federation: Federation, prices: list[float], first: int) -> dict[str, float]:
    """A round in which everybody has new data; what is paid in it."""
    rows = X[first : first + len(prices)]
    clients = list(range(len(prices)))
    number = federation.upload(clients, rows, prices)
    for client in federation.offered():
        federation.deliver(client, number, rows[client])
    paid: dict[str, float] = federation.of("closed")[-1]["payments"]
    return paid


def clean(federation: Federation) -> None:
    with federation.store.read() as connection:
        assert audit(connection).findings == []
    federation.store.close()


def test_a_price_equal_to_the_budget_takes_nothing(memory: Path) -> None:
    federation = founded(memory, per_payment=100.0, price_rise=2.0)
    paid = share(federation, [5.0, 5.0, 10_000.0], 0)
    assert set(paid) == {"0", "1"}
    assert all(amount > 0.0 for amount in paid.values())
    assert federation.of("decided")[-1]["removed"] == {"2": "per_payment"}
    clean(federation)


def test_a_price_may_not_rise_tenfold(memory: Path) -> None:
    federation = founded(memory, price_rise=2.0)
    for n, price in enumerate([5.0, 50.0, 500.0, 5_000.0]):
        paid = share(federation, [5.0, 5.0, price], 3 * n)
        assert ("2" in paid) == (n == 0)
    assert federation.of("decided")[-1]["removed"] == {"2": "price_rise"}
    clean(federation)


def test_a_price_is_remembered_in_minor_units_rounded_up(memory: Path) -> None:
    """11.011 was allowed: it counts as 11.02. Noise of floats adds no unit."""
    federation = founded(memory, price_rise=1.1)
    share(federation, [5.0, 10.0, 10.01], 0)
    share(federation, [5.0, 50.0, 50.0], 3)
    with federation.store.read() as connection:
        assert list(connection.scalars(select(tables.past.c.price_units))) == [500, 1100, 1102]
    assert "2" in share(federation, [5.0, 10.0, 12.12], 6)  # 1.1 times 11.02, but not 11.01
    clean(federation)


def test_a_price_is_measured_by_what_the_others_want(memory: Path) -> None:
    """A high price from the start, or one that rises slowly, brings no more than the others'."""
    federation = founded(memory, price_rise=1.1, price_spread=5.0)
    assert set(share(federation, [50.0, 50.0, 251.0], 0)) == {"0", "1"}
    assert federation.of("decided")[-1]["removed"] == {"2": "price_spread"}
    assert set(share(federation, [50.0, 50.0, 249.0], 3)) == {"0", "1", "2"}
    assert set(share(federation, [50.0, 1.0, 251.0], 6)) == {"0", "1", "2"} - {"2"}
    clean(federation)


def test_free_data_crowds_nobody_out(memory: Path) -> None:
    """A million made-up steps wait, until the others have shared a third as many."""
    federation = founded(memory, largest_share=0.75)
    share(federation, [0.0, 0.0, 0.0], 0)  # 4 steps each
    for steps, taken in ((10**6, False), (69, False), (92, True)):
        state = federation.coordinator.open_round(0)
        assert state.round is not None
        number = state.round.number
        for client in (0, 1):
            federation.coordinator.upload(client, made(number, state.epoch, X[client + 9], 0.0))
        made_up = pack_matrix(steps / 3.0 * np.eye(3))
        federation.coordinator.upload(2, Upload(number, state.epoch, steps, 0.0, made_up))
        assert (2 in federation.offered()) == taken
        removed = {} if taken else {"2": "largest_share"}
        assert federation.of("decided")[-1].get("removed", {}) == removed
        for client in (0, 1):
            federation.deliver(client, number, X[client + 9])
        if taken:
            federation.coordinator.deliver(2, Delivery(number, np.zeros(3)))
    clean(federation)


def test_a_client_is_paid_so_much_in_all(memory: Path) -> None:
    federation = founded(memory, per_client=12.0)
    rounds = [share(federation, [1.0, 1.0, 8.0], 3 * n) for n in range(4)]
    assert sum(paid.get("2", 0) for paid in rounds) <= 1200
    assert federation.of("decided")[-1]["removed"]["2"] == "per_client"
    clean(federation)


def resold(federation: Federation, V: FloatArray) -> None:
    """It is refused, whatever the scale."""
    state = federation.coordinator.open_round(2)
    assert state.round is not None
    for scale in (1.0, 0.3, 0.01):
        upload = Upload(state.round.number, state.epoch, 24, 1.0, pack_matrix(scale * V))
        with pytest.raises(Refusal, match=r"^dV: .*limits.refuse_resale"):
            federation.coordinator.upload(2, upload)


def test_what_was_downloaded_is_not_bought_back(memory: Path) -> None:
    federation = founded(memory, refuse_resale=True)
    for n in range(2):
        share(federation, [1.0, 1.0, 1.0], 3 * n)
    resold(federation, federation.coordinator.download(2, None).V.matrix())
    clean(federation)


def test_what_was_downloaded_long_ago_is_not_bought_back(memory: Path) -> None:
    """However many rounds ago, and if it was pruned since; by another coordinator, too."""
    federation = founded(memory, refuse_resale=True)
    seen = [np.zeros((3, 3))]
    for n in range(10):
        share(federation, [1.0, 1.0, 1.0], 3 * n)
        seen.append(federation.coordinator.download(2, None).V.matrix())
    federation.clock.now += 1.0
    with federation.store.write() as connection:
        prune(connection, federation.clock(), federation.clock())
        connection.execute(update(tables.epochs).where(tables.epochs.c.number < 9).values(V=None))
    federation.coordinator = federation.another()
    for V in (seen[1], seen[3], seen[4] - seen[2], seen[9] - seen[1]):
        resold(federation, V)
    federation.store.close()


def test_what_was_downloaded_is_not_streamed_back(memory: Path) -> None:
    """As rows one by one, or as dV at once; rows of one's own are heard."""
    federation = Federation(
        memory / "books.db", 3, dim=3, ridge=1.0, trigger=incfed.News(1.0), budget=10_000.0,
        mechanism=incfed.PayEveryone(), limits=incfed.Limits(refuse_resale=True),
    )  # fmt: skip
    here = federation.coordinator
    here.signal(1, Signal(0, 4, 4, 1.0, 0.0, dV=pack_matrix(X[1].T @ X[1])))
    here.signal(0, Signal(0, 40, 40, 4.0, 0.0, dV=pack_matrix(10.0 * X[0].T @ X[0])))
    federation.deliver(0, 1, X[0])
    federation.deliver(1, 1, X[1])
    V = here.download(2, None).V.matrix()
    assert V.any()
    with pytest.raises(Refusal, match=r"^dV: .*limits.refuse_resale"):
        here.signal(2, Signal(1, 9, 9, 0.1, 0.0, dV=pack_matrix(V / 9.0)))
    values, vectors = np.linalg.eigh(V / 9.0)
    rows = (vectors * np.sqrt(values)).T
    here.signal(2, Signal(1, 1, 1, 0.01, 0.0, dV=pack_rows(rows[:1])))
    here.signal(2, Signal(1, 2, 2, 0.02, 0.0, rows=rows[1:2]))
    with pytest.raises(Refusal, match=r"^dV: .*limits.refuse_resale"):
        here.signal(2, Signal(1, 3, 3, 0.1, 0.0, rows=rows[2:]))
    here.signal(2, Signal(1, 3, 3, 0.1, 0.0, rows=X[2][:1]))
    clean(federation)


def test_a_stream_is_checked_for_resale_once_in_an_epoch(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it is heard: not again with the lock held for all of them, as a round opens."""
    checked: list[Packed] = []
    monkeypatch.setattr(Downloaded, "check", lambda self, dV: checked.append(dV))
    federation = Federation(
        memory / "books.db", 3, dim=3, ridge=1.0, trigger=incfed.News(1.0), budget=10_000.0,
        mechanism=incfed.PayEveryone(), limits=incfed.Limits(refuse_resale=True),
    )  # fmt: skip
    here = federation.coordinator
    here.signal(1, Signal(0, 4, 4, 0.01, 0.0, dV=pack_matrix(0.01 * X[1].T @ X[1])))
    here.signal(0, Signal(0, 40, 40, 4.0, 0.0, dV=pack_matrix(10.0 * X[0].T @ X[0])))
    assert federation.of("opened")
    assert len(checked) == 2
    federation.store.close()


def test_made_up_steps_are_counted(memory: Path) -> None:
    federation = founded(memory, steps_per_upload=1000)
    state = federation.coordinator.open_round(2)
    assert state.round is not None
    made_up = Upload(state.round.number, state.epoch, 10**9, 1.0, pack_matrix(1e9 * np.eye(3)))
    with pytest.raises(Refusal, match=r"from 0 to 1,000 \(limits.steps_per_upload\)"):
        federation.coordinator.upload(2, made_up)
    clean(federation)


def test_if_too_few_deliver_nothing_is_shared_and_nobody_paid(memory: Path) -> None:
    federation = founded(memory, least_sharers=3)
    number = federation.upload([0, 1, 2], X[:3], 5.0)
    assert set(federation.offered()) == {0, 1, 2}
    federation.deliver(0, number, X[0])
    federation.deliver(1, number, X[1])
    federation.wait(15.0)
    [closed] = federation.of("closed")
    assert (closed["payments"], closed["short"]) == ({}, "least_sharers")
    with federation.store.read() as connection:
        assert not read_epoch(connection, 1, 3)[0].any()
    assert set(share(federation, [5.0, 5.0, 5.0], 0)) == {"0", "1", "2"}  # the data was kept
    clean(federation)
