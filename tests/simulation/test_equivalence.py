"""The fast path equals the literal reference: choice for choice, round for round, cent for cent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import incfed
from incfed.kernels.client import REFRESH
from reference import simulation as reference
from support.worlds import (
    MECHANISMS,
    Costs,
    Kind,
    costs,
    efficient,
    features,
    mechanisms,
    settings_of_a_run,
    traces,
)


def compare(
    trace: incfed.Trace, mechanism: Kind, prices: Costs, options: dict[str, Any]
) -> reference.Run:
    kind, knobs = mechanism
    algorithm = incfed.IncFedUCB(mechanism=MECHANISMS[kind](**knobs), costs=prices, **options)
    fast = incfed.simulate(trace, algorithm)
    slow = reference.run(
        trace.clients,
        trace.items[trace.arms],
        trace.rewards,
        trace.expected,
        trace.count,
        mechanism=mechanism,
        costs=np.array(prices),
        **options,
    )
    assert [r.step for r in fast.rounds] == [r.step for r in slow.rounds]
    assert [r.trigger for r in fast.rounds] == [r.trigger for r in slow.rounds]
    price_of = np.broadcast_to(np.array(prices), trace.count)
    for ours, theirs in zip(fast.rounds, slow.rounds, strict=True):
        assert ours.participants.tolist() == theirs.participants.tolist()
        allowed = 1e-8 * (1.0 + price_of[theirs.participants])
        assert (np.abs(ours.payments - theirs.payments) <= allowed).all()
        assert ours.pending == theirs.pending
        assert ours.idle == theirs.idle
        assert ours.communication == theirs.communication
        np.testing.assert_allclose(ours.ratio, theirs.ratio, rtol=1e-8)
    np.testing.assert_allclose(fast.reward, slow.reward, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.regret, slow.regret, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(fast.matched, slow.matched)
    np.testing.assert_array_equal(fast.communication, slow.communication)
    np.testing.assert_allclose(fast.payment, slow.payment, rtol=1e-8, atol=1e-8)
    return slow


def most_paid(run: reference.Run) -> int:
    return max((int((r.payments > 0).sum()) for r in run.rounds), default=0)


@given(st.data(), traces(), mechanisms(), settings_of_a_run())
def test_any_small_world(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    compare(trace, mechanism, data.draw(costs(trace.count)), options)


@given(
    st.data(),
    traces(unknown=st.sampled_from([0.05, 0.5, 0.9, 1.0])),
    mechanisms(),
    settings_of_a_run(),
)
def test_worlds_that_do_not_know_every_reward(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    slow = compare(trace, mechanism, data.draw(costs(trace.count)), options)
    event(f"rounds: {min(len(slow.rounds), 2)}, skipped: {slow.matched[-1] < trace.length}")


@given(
    st.data(),
    traces(count=(4, 12), dim=(2, 8), steps=(30, 120)),
    efficient(st.floats(0.5, 0.999)),
    settings_of_a_run(thresholds=(1.0, 3.0, 8.0, 20.0)),
)
def test_worlds_in_which_several_are_paid(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    # Many with much to share, at costs near what the data is worth: the search has work to do.
    slow = compare(trace, mechanism, data.draw(costs(trace.count, 0, 3)), options)
    event(f"paid in one round: {min(most_paid(slow), 3)}")


STEPS = 800
PLAIN = {"ridge": 0.1, "noise": 0.1, "delta": 0.1}


def long_trace(count: int, dim: int, shape: str, seed: int) -> incfed.Trace:
    chance = np.random.default_rng(seed)
    arms = features(chance, shape, STEPS, 4, dim)
    expected = arms @ chance.standard_normal(dim)
    noise = 0.1 * chance.standard_normal((STEPS, 1))
    clients = chance.integers(0, count, STEPS)
    return incfed.Trace(clients, arms, expected + noise, expected, count=count)


@pytest.mark.parametrize("cover", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("threshold", [0.5, 5.0])  # few pending steps, and many
def test_whole_runs_of_the_auction(cover: float, threshold: float) -> None:
    trace = long_trace(9, 5, "unit", 3)
    prices = np.random.default_rng(1).uniform(2.0, 20.0, 9).tolist()
    auction = ("truthful", {"cover": cover, "reserve": 18.0})
    slow = compare(trace, auction, prices, {"threshold": threshold, **PLAIN})
    assert most_paid(slow) > 2
    assert len(slow.rounds) > 10


@pytest.mark.parametrize("reads", ["fresh", "stale"])
@pytest.mark.parametrize("shape", ["spread", "subspace"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_factor_made_afresh_changes_nothing(count: int, shape: str, reads: str) -> None:
    assert STEPS / count > 1.5 * REFRESH  # everybody gets there
    options = {**PLAIN, "threshold": 1e9, "reads": reads}
    slow = compare(long_trace(count, 5, shape, seed=count), ("pay_everyone", {}), 1.0, options)
    assert not slow.rounds


@pytest.mark.parametrize("dim", [3, 6, 7, 11])
@pytest.mark.parametrize("ridge", [0.01, 0.1, 0.3])
def test_arms_of_zeros_never_open_a_round(dim: int, ridge: float) -> None:
    # After a few steps log det V_i is computed anew, and may differ in its last bits.
    nothing = np.zeros((STEPS, 1, dim))
    trace = incfed.Trace(np.zeros(STEPS, int), nothing, np.ones((STEPS, 1)), count=1)
    options = {**PLAIN, "ridge": ridge, "threshold": 0.0}
    assert not compare(trace, ("pay_everyone", {}), 0.0, options).rounds


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
