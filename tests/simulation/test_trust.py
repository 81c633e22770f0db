"""Clients that trust others only so far; test_protocols.py compares with the literal reference."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.kernels.trust import GRID, REFRESH
from reference import protocols as reference

WORLD = incfed.Synthetic(clients=12, dim=6, arms=8, pool=60, spread=0.5)
STEPS = 1200


def run(seed: int = 0, world: incfed.World = WORLD, **more: Any) -> incfed.Result:
    algorithm = incfed.IncFedUCB(incfed.PayEveryone(), 0.5, 10.0, **more)
    return incfed.simulate(world, algorithm, steps=STEPS, seed=seed)


@pytest.mark.parametrize("reads", ["fresh", "stale"])
@pytest.mark.parametrize("seed", range(3))
def test_the_limits_are_the_paper_and_learning_alone(seed: int, reads: str) -> None:
    """Through the general path; the few rounds that it is off by rounding change no choice."""
    paper, alone = (
        run(seed, reads=reads),
        incfed.simulate(WORLD, incfed.Independent(reads=reads), steps=STEPS, seed=seed),
    )
    trusting, distrusting = run(seed, trust=1e12, reads=reads), run(seed, trust=0.0, reads=reads)
    assert len(distrusting.rounds) > 10
    for ours, theirs in ((trusting, paper), (distrusting, alone)):
        np.testing.assert_array_equal(ours.reward, theirs.reward)
        np.testing.assert_allclose(ours.regret, theirs.regret, rtol=0, atol=1e-6)
    assert trusting.rounds.step.tolist() == paper.rounds.step.tolist()
    np.testing.assert_allclose(trusting.rounds.payments, paper.rounds.payments, rtol=1e-9)


@pytest.mark.parametrize("trust", [0.5, 20.0])
def test_what_is_shared_and_paid_does_not_depend_on_trust_given_the_choices(trust: float) -> None:
    """With one arm a step there is nothing to choose: then everything else is equal."""
    world = incfed.Synthetic(clients=6, dim=4, arms=1, pool=50, spread=0.5)
    ours, theirs = run(world=world, trust=trust), run(world=world)
    for field in fields(ours.rounds):  # processors round payments differently
        one, other = getattr(ours.rounds, field.name), getattr(theirs.rounds, field.name)
        np.testing.assert_allclose(one, other, rtol=1e-12)
    for name in ("reward", "regret", "payment", "communication", "packed"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)


def test_each_client_has_its_own_trust() -> None:
    """Against the literal reference: long enough for models to be recomputed."""
    world = incfed.Synthetic(clients=3, dim=3, arms=3, pool=20, spread=0.5)
    steps, trust = 3 * REFRESH, [0.0, 4.0, np.inf]
    stream = world.open(np.random.SeedSequence(1))
    events = stream.take(steps)
    algorithm = incfed.IncFedUCB(
        incfed.PayEveryone(), trigger=incfed.GrowthRatio(1.2345678), trust=trust
    )
    fast = incfed.simulate(world, algorithm, steps=steps, seed=1)
    slow = reference.run_rounds(
        events.clients, stream.items[events.arms], events.rewards, events.expected, 3,
        mechanism=("pay_everyone", {}), trigger=("ratio", {"gamma": 1.2345678}), costs=0.0,
        ridge=0.1, noise=0.1, delta=0.1, trust=np.array(trust),
    )  # fmt: skip
    assert (np.bincount(events.clients) > REFRESH - 20).all()
    assert [one.step for one in fast.rounds] == [one.step for one in slow.rounds]
    np.testing.assert_allclose(fast.regret, np.cumsum(slow.regret), atol=1e-9)


def test_infinite_trust_of_everyone_is_the_default() -> None:
    assert run(trust=[np.inf] * 12).regret.tolist() == run().regret.tolist()
    assert run().settings["algorithm"]["trust"] == "inf"
    assert run(trust=3).settings["algorithm"]["trust"] == 3.0


def test_scores_are_counted_as_traffic() -> None:
    """With nothing to choose, "auto" sends only its scores more: with each share, each model."""
    world = incfed.Synthetic(clients=6, dim=4, arms=1, pool=50)
    auto, fixed = run(world=world, trust="auto"), run(world=world)
    scores = len(GRID) + 1
    extra = auto.rounds.communication - fixed.rounds.communication
    np.testing.assert_array_equal(extra, scores * 2 * world.count)  # all share, and all get it
    downloads = (auto.packed[-1] - fixed.packed[-1]) / scores - fixed.rounds.shared.sum()
    assert 0 < downloads <= world.count * len(fixed.rounds)


@pytest.mark.parametrize("spread", [0.0, 0.3, 0.6])
def test_auto_is_near_the_best_fixed_trust(spread: float) -> None:
    world = incfed.Synthetic(clients=30, dim=10, arms=10, pool=300, spread=spread)
    mean = {
        trust: np.mean(
            [run(seed, world, trust=trust, exploration=0.5).regret[-1] for seed in range(4)]
        )
        for trust in (0.0, 1.0, 3.0, 10.0, 30.0, np.inf, "auto")
    }
    assert mean["auto"] < 1.4 * min(mean.values())


@pytest.mark.parametrize(
    "never",
    [
        incfed.DisLinUCB(1.0, trust=0.0),
        incfed.FedLinUCB(0.1, trust=0.0),
        incfed.AsyncLinUCB(1.1, 1.5, trust=0.0),
    ],
)
def test_baselines_take_trust_where_others_data_comes_in(never: incfed.Algorithm) -> None:
    alone = incfed.simulate(WORLD, incfed.Independent(), steps=400)
    np.testing.assert_allclose(
        incfed.simulate(WORLD, never, steps=400).regret, alone.regret, atol=1e-6
    )
    for kind in (incfed.Independent, incfed.Centralized):
        with pytest.raises(TypeError, match="trust"):
            kind(trust=1.0)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("trust", "said"),
    [
        (-1.0, "trust: got -1.0, must be a number (or inf) from 0 to 1e+100, or"),
        (np.nan, "trust: got nan, must be a number (or inf) from 0 to 1e+100, or"),
        (True, "trust: got True, must be a number (or inf) from 0 to 1e+100, or"),
        ("some", "trust: got 'some', must be a number (or inf) from 0 to 1e+100, or \"auto\""),
        ([], "trust: got [], must be a number (or inf) from 0 to"),
        (None, "trust: got None, must be a number (or inf) from 0 to"),
        (b"auto", "trust: got b'auto', must be a number (or inf) from 0 to 1e+100"),
        (1e101, "trust: got 1e+101, must be a number (or inf) from 0 to 1e+100"),
        ([1.0, -2.0], "trust[1]: got -2.0, must be a number (or inf) from 0 to 1e+100"),
        ([1.0, "auto"], "trust[1]: got 'auto', must be a number (or inf) from 0 to 1e+100"),
    ],
)
def test_bad_input(trust: Any, said: str) -> None:
    with pytest.raises(incfed.InputError) as error:
        incfed.IncFedUCB(incfed.PayEveryone(), 1.0, trust=trust)
    assert said in str(error.value)


def test_trust_must_fit_the_federation_and_the_reads() -> None:
    one_short = incfed.IncFedUCB(incfed.PayEveryone(), 1.0, trust=[1.0] * 11)
    with pytest.raises(
        incfed.InputError, match="trust: got '11 numbers', must be one number, or 12"
    ):
        incfed.simulate(WORLD, one_short, steps=10)
    with pytest.raises(incfed.InputError, match="'auto', must be a number where reads"):
        incfed.IncFedUCB(incfed.PayEveryone(), 1.0, trust="auto", reads="stale")


def test_auto_does_not_depend_on_the_size_of_arms() -> None:
    """Ten times longer arms with a hundred times the ridge: the same choices."""
    world = incfed.Synthetic(clients=12, dim=6, arms=8, pool=60, spread=0.6)
    stream = world.open(np.random.SeedSequence(3))
    events = stream.take(STEPS)
    found = []
    for size in (1.0, 10.0):
        trace = incfed.Trace(
            events.clients, events.arms, events.rewards, events.expected, 12, size * stream.items
        )
        algorithm = incfed.IncFedUCB(
            incfed.PayEveryone(), 0.5, 10.0, trust="auto", ridge=0.1 * size**2, exploration=0.5
        )
        found.append(incfed.simulate(trace, algorithm).reward)
    np.testing.assert_array_equal(found[0], found[1])
