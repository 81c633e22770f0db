"""A coordinator over a real database and clients in one process, driven in step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.clients import enrol, members, revoke
from incfed.ledger.database import Database
from incfed.ledger.records import read_epoch
from incfed.ledger.settings import Settings
from incfed.protocol.client import Learner
from incfed.protocol.messages import Answer, Delivery, Upload
from incfed.protocol.money import to_units
from incfed.protocol.packing import Packed, pack_matrix, pack_rows
from incfed.results import RoundRecord
from incfed.service.wire import StateView
from reference.mechanisms import FloatArray
from support.single_messages import SingleCoordinator

# Bounds far beyond what the worlds of the tests have.
WIDE: dict[str, Any] = {"arm_norm": 1e3, "reward_bound": 1e4, "cost_limit": 1e9}
# Nothing that guards against clients who share, ask or call too much.
TRUSTING: dict[str, Any] = {
    "limits": incfed.Limits(), "silent_rounds": 0, "round_interval": 0.0, "rounds_per_second": 0.0,
    "false_calls": 0, "steps_per_second": 0.0,
}  # fmt: skip
FINE = 6  # money_digits with which the payments of most worlds are hardly rounded


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Federation:
    """`count` clients (ids from 0), a clock that stands still, everybody heard of."""

    def __init__(self, url: str | Path, count: int, **options: Any) -> None:
        self.url = url if isinstance(url, str) else f"sqlite:///{url}"
        self.clock = Clock()
        self.events: list[dict[str, Any]] = []
        self.settings = Settings(**{**WIDE, **TRUSTING, **options})
        self.store = Database(self.url)
        self.coordinator = self.another()
        self.tokens = []
        with self.store.write() as connection:
            for k in range(count):
                self.tokens.append(enrol(connection, f"client {k}", self.clock())[1])
        for k in range(count):
            self.coordinator.state(k)

    def another(self) -> SingleCoordinator:
        """One more coordinator over the same database."""
        return SingleCoordinator(self.store, self.settings, self.clock, on_event=self.events.append)

    def wait(self, seconds: float) -> None:
        """Let time pass, with a coordinator that ticks."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now = min(end, self.clock.now + 1.5)
            self.coordinator.tick()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """What happened, of one kind."""
        return [event for event in self.events if event["event"] == kind]

    def offered(self) -> dict[int, Any]:
        """Attempt and payment of those whose offer stands."""
        with self.store.read() as connection:
            ids = [one.id for one in members(connection) if not one.revoked]
        rounds = {
            k: one.round for k, one in zip(ids, self.coordinator.all_states(ids), strict=True)
        }
        return {
            k: (seen.offer.attempt, seen.offer.payment)
            for k, seen in rounds.items()
            if seen is not None and seen.offer is not None
        }

    def upload(self, clients: Sequence[int], rows: list[FloatArray], costs: Any) -> int:
        """A round with these rows pending at these clients; costs: one for all, or one each."""
        state = self.coordinator.open_round(clients[0])
        assert state.round is not None
        cost = np.broadcast_to(np.asarray(costs, float), len(clients)).tolist()
        for client, x, price in zip(clients, rows, cost, strict=True):
            self.coordinator.upload(client, made(state.round.number, state.epoch, x, price))
        return state.round.number

    def deliver(self, client: int, round: int, x: FloatArray) -> StateView:
        return self.coordinator.deliver(client, Delivery(round, x.sum(axis=0)))


def made(round: int, epoch: int, x: FloatArray, cost: float) -> Upload:
    """An upload of these rows."""
    few = len(x) < x.shape[1]
    packed: Packed = pack_rows(x) if few else pack_matrix(x.T @ x)
    return Upload(round, epoch, len(x), cost if len(x) else 0.0, packed)


def run_in_step(trace: incfed.Trace, algorithm: incfed.IncFedUCB, federation: Federation) -> None:
    """The whole trace: whoever's trigger fires opens a round, and all wait for its end."""
    learners = [Learner(trace.dim, algorithm.rules(trace.dim)) for _ in range(trace.count)]
    prices = algorithm.prices(trace.count)
    for t, i in enumerate(trace.clients.tolist()):
        arms = trace.items[trace.arms[t]]
        k = learners[i].choose(arms)
        if learners[i].learn(arms[k], float(trace.rewards[t, k])):
            communicate(federation.coordinator, learners, prices, i)


def communicate(
    coordinator: SingleCoordinator, learners: list[Learner], prices: FloatArray, trigger: int
) -> None:
    opened = coordinator.open_round(trigger).round
    assert opened is not None
    number = opened.number
    for i, learner in enumerate(learners):
        coordinator.upload(i, learner.freeze(number, float(prices[i])))
    for i, learner in enumerate(learners):
        seen = coordinator.state(i).round
        assert seen is not None
        if seen.offer is not None:
            coordinator.answer(i, Answer(number, seen.offer.attempt, True))
            coordinator.deliver(i, Delivery(number, learner.deliver(number)))
    for i, learner in enumerate(learners):
        seen = coordinator.state(i).round
        assert seen is not None
        assert seen.stage == "closed"
        learner.take_in(coordinator.download(i, learner.epoch))


def same(trace: incfed.Trace, algorithm: incfed.IncFedUCB, federation: Federation) -> int:
    """Run both; returns the number of rounds."""
    algorithm = as_served(algorithm)
    run = incfed.Simulation(trace, algorithm)
    run.advance(trace.length)
    expected = run.result().rounds
    run_in_step(trace, algorithm, federation)
    closed = federation.of("closed")
    assert len(closed) == len(expected)
    for record, event, opened in zip(expected, closed, federation.of("opened"), strict=True):
        assert opened["client"] == record.trigger
        same_payments(event, record, federation.settings.money_digits)
        assert event["communication"] == record.communication
        assert event["ratio"] == pytest.approx(record.ratio, rel=1e-9)
        assert event["idle"] == record.idle
    shared = run._run.shared
    with federation.store.read() as connection:
        V, b = read_epoch(connection, len(closed), trace.dim)
    np.testing.assert_allclose(V, shared.V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b, shared.b, rtol=1e-9, atol=1e-9)
    return len(closed)


def same_payments(event: dict[str, Any], record: RoundRecord, digits: int) -> None:
    """To the unit."""
    paid = event["payments"]
    assert [int(client) for client in paid] == record.participants.tolist()
    amounts = list(paid.values())
    assert amounts == [to_units(amount, digits) for amount in record.payments.tolist()]
    assert all(type(amount) is int for amount in amounts)


def cents(amount: float) -> int:
    """Rounded up, as payments are."""
    return math.ceil(100.0 * amount - 1e-6)


def as_served(algorithm: incfed.IncFedUCB) -> incfed.IncFedUCB:
    """As a federation decides: within limits, if only the budget, and in minor units."""
    digits = FINE if algorithm.money_digits is None else algorithm.money_digits
    return replace(algorithm, limits=algorithm.limits or incfed.Limits(), money_digits=digits)


def federate(
    url: str | Path, trace: incfed.Trace, algorithm: incfed.IncFedUCB, **options: Any
) -> Federation:
    names = (
        "mechanism", "threshold", "trigger", "download", "width", "ridge", "noise", "delta",
        "exploration", "trust", "limits", "money_digits",
    )  # fmt: skip
    algorithm = as_served(algorithm)
    known: dict[str, Any] = {name: getattr(algorithm, name) for name in names}
    known["budget"] = None if algorithm.budget == np.inf else algorithm.budget
    return Federation(url, trace.count, dim=trace.dim, **known | options)


def synthetic(count: int = 10, steps: int = 600) -> incfed.Trace:
    chance = np.random.default_rng(7)
    theta = chance.standard_normal(5)
    arms = chance.standard_normal((steps, 8, 5))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ (theta / np.linalg.norm(theta)) + 0.1 * chance.standard_normal((steps, 1))
    return incfed.Trace(chance.integers(0, count, steps), arms, rewards, count=count)


def eventful(path: Path, mechanism: incfed.Mechanism | None = None, **options: Any) -> Federation:
    """Rounds of every kind: closed, decided again, void, data-only, one still open."""
    mechanism = mechanism or incfed.PaymentEfficient(beta=0.9)
    chance = np.random.default_rng(3)
    x = [[chance.standard_normal((r, 2)) for r in (1, 2, 3, 1)] for _ in range(6)]
    four = Federation(
        path, 4, dim=2, ridge=1.0, threshold=1.0, mechanism=mechanism,
        budget=150.0, answer_time=5.0, barred_time=40.0, live_time=1e6, **options,
    )  # fmt: skip

    def play(rows: list[Any], cost: float, silent: tuple[int, ...] = (), no: int = -1) -> None:
        number = four.upload(range(4), rows, cost)
        for _ in range(4):
            for k, (attempt, _) in four.offered().items():
                seen = four.coordinator.state(k).round
                assert seen is not None
                if k == no:
                    four.coordinator.answer(k, Answer(number, attempt, False))
                elif k not in silent and not seen.delivered:
                    four.coordinator.answer(k, Answer(number, attempt, True))
                    four.deliver(k, number, rows[k])
            four.wait(10.0)

    play(x[0], 10.0)
    play(x[1], 20.0, silent=(1,))
    play(x[2], 5.0, no=2)
    play(x[3], 10.0, silent=(0, 1, 2))
    play(x[4], 1000.0)  # more than is left: for data alone, or nobody
    with four.store.write() as connection:
        revoke(connection, "client 3", four.clock())
    number = four.upload([0, 1], [x[5][0], x[5][1]], 1.0)
    assert number == 6
    return four
