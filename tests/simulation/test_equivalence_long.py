"""The fast path equals the literal reference where it takes its time: factors made afresh, clients
that stay out of many rounds, the paper's own size."""

from __future__ import annotations

import numpy as np
import pytest

import incfed
from incfed.kernels.client import REFRESH
from support.equivalence import compare
from support.worlds import Kind, features

STEPS = 800
PLAIN = {"ridge": 0.1, "noise": 0.1, "delta": 0.1}


def long_trace(count: int, dim: int, shape: str, seed: int) -> incfed.Trace:
    chance = np.random.default_rng(seed)
    arms = features(chance, shape, STEPS, 4, dim)
    expected = arms @ chance.standard_normal(dim)
    noise = 0.1 * chance.standard_normal((STEPS, 1))
    clients = chance.integers(0, count, STEPS)
    return incfed.Trace(clients, arms, expected + noise, expected, count=count)


@pytest.mark.parametrize("reads", ["fresh", "stale"])
@pytest.mark.parametrize("shape", ["spread", "subspace"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_factor_made_afresh_changes_nothing(count: int, shape: str, reads: str) -> None:
    assert STEPS / count > 1.5 * REFRESH  # everybody gets there
    options = {**PLAIN, "threshold": 1e9, "reads": reads}
    slow = compare(long_trace(count, 5, shape, seed=count), ("pay_everyone", {}), 1.0, options)
    assert not slow.rounds


@pytest.mark.parametrize("clocks", ["all", "participants"])
@pytest.mark.parametrize("reads", ["fresh", "stale"])
@pytest.mark.parametrize("shape", ["spread", "subspace"])
def test_a_client_that_stays_out_of_many_rounds(shape: str, reads: str, clocks: str) -> None:
    # Client 1 asks more than its data will ever be worth: what it holds back grows all along,
    # while the others' data comes in round by round.
    options = {**PLAIN, "threshold": 0.5, "reads": reads, "clocks": clocks}
    prices = [0.0, 1e6, 0.01]
    slow = compare(long_trace(3, 4, shape, seed=7), ("payment_free", {}), prices, options)
    assert len(slow.rounds) > 30
    assert not any(1 in r.participants for r in slow.rounds)


@pytest.mark.parametrize(
    ("mechanism", "reads", "clocks"),
    [
        (("payment_efficient", {"beta": 0.3}), "stale", "participants"),
        (("payment_efficient", {"beta": 0.9, "order": "ascending"}), "fresh", "all"),
    ],
)
def test_the_paper_s_size(mechanism: Kind, reads: str, clocks: str) -> None:
    steps = 1500
    world = incfed.Synthetic()
    stream = world.open(np.random.SeedSequence(4))
    events = stream.take(steps)
    trace = incfed.Trace(*events, count=world.count, items=stream.items)
    threshold = incfed.thresholds.high(steps=5000, clients=50, dim=25)
    options = {**PLAIN, "threshold": threshold, "reads": reads, "clocks": clocks}
    slow = compare(trace, mechanism, 10.0, options)
    assert sum(r.payments.sum() for r in slow.rounds) > 0
    assert any(len(r.participants) < r.pending for r in slow.rounds)


@pytest.mark.parametrize("exploration", [None, 0.0, 0.3])
@pytest.mark.parametrize("ridge", [1e-6, 0.1, 10.0])
def test_items_that_recur_are_chosen_as_if_they_were_new(
    ridge: float, exploration: float | None
) -> None:
    """What is remembered of an item spares work and decides nothing."""
    steps, dim = 3000, 6
    chance = np.random.default_rng(11)
    items = chance.standard_normal((40, dim)) * np.array([3.0, 1.0, 1.0, 0.3, 0.3, 0.0])
    items[7] = items[3]  # a true tie
    arms = chance.integers(0, 40, (steps, 12))  # some twice in a step
    expected = items[arms] @ chance.standard_normal(dim)
    rewards = expected + 0.1 * chance.standard_normal((steps, 1))
    clients = chance.integers(0, 9, steps)
    mechanism = incfed.PaymentEfficient(beta=0.5)
    algorithm = incfed.IncFedUCB(
        mechanism, threshold=1.0, costs=5.0, ridge=ridge, exploration=exploration
    )
    known = incfed.simulate(incfed.Trace(clients, arms, rewards, expected, items=items), algorithm)
    new = incfed.simulate(incfed.Trace(clients, items[arms], rewards, expected), algorithm)
    assert len(new.rounds) > 20
    np.testing.assert_array_equal(known.reward, new.reward)
    np.testing.assert_array_equal(known.rounds.participants, new.rounds.participants)
