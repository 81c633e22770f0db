"""Sharing from so many steps on, and with noise: against the literal simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import incfed
from incfed.rules.privacy import Privacy, noise_stream
from reference import simulation as reference
from support.worlds import (
    MECHANISMS,
    Costs,
    Kind,
    costs,
    features,
    mechanisms,
    settings_of_a_run,
    traces,
)

PLAIN: dict[str, Any] = {"ridge": 0.1, "noise": 0.1, "delta": 0.1}


def bounds(trace: incfed.Trace) -> dict[str, float]:
    longest = float(np.linalg.norm(trace.items, axis=1).max())
    return {
        "arm_norm": longest or 1.0,
        "reward_bound": float(np.abs(trace.rewards).max()) or 1.0,
    }


def blur(privacy: Privacy, dim: int, seed: int) -> reference.Blur:
    def noise(client: int, batch: int) -> Any:
        return privacy.noise(dim, noise_stream(seed, client, batch).standard_normal)

    return reference.Blur(noise, privacy.arm_norm, privacy.reward_bound)


def compare(
    trace: incfed.Trace,
    mechanism: Kind,
    prices: Costs,
    share_from: int,
    privacy: Privacy | None,
    options: dict[str, Any],
) -> reference.Run:
    kind, knobs = mechanism
    algorithm = incfed.IncFedUCB(
        MECHANISMS[kind](**knobs), costs=prices, share_from=share_from, privacy=privacy, **options
    )
    fast = incfed.simulate(trace, algorithm, seed=7)
    slow = reference.run(
        trace.clients, trace.items[trace.arms], trace.rewards, trace.expected, trace.count,
        mechanism=mechanism, costs=np.array(prices), share_from=share_from,
        blur=None if privacy is None else blur(privacy, trace.dim, 7), **options,
    )  # fmt: skip
    assert [r.step for r in fast.rounds] == [r.step for r in slow.rounds]
    price_of = np.broadcast_to(np.array(prices), trace.count)
    for ours, theirs in zip(fast.rounds, slow.rounds, strict=True):
        assert ours.participants.tolist() == theirs.participants.tolist()
        allowed = 1e-7 * (1.0 + price_of[theirs.participants])
        assert (np.abs(ours.payments - theirs.payments) <= allowed).all()
        assert (ours.pending, ours.idle) == (theirs.pending, theirs.idle)
        assert ours.communication == theirs.communication
        np.testing.assert_allclose(ours.ratio, theirs.ratio, rtol=1e-7)
    np.testing.assert_allclose(fast.regret, slow.regret, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.payment, slow.payment, rtol=1e-7, atol=1e-7)
    return slow


@given(st.data(), traces(), mechanisms(), settings_of_a_run(), st.integers(1, 5))
def test_any_small_world_shared_from_so_many_steps_on(
    data: st.DataObject,
    trace: incfed.Trace,
    mechanism: Kind,
    options: dict[str, Any],
    share_from: int,
) -> None:
    slow = compare(trace, mechanism, data.draw(costs(trace.count)), share_from, None, options)
    event(f"rounds: {min(len(slow.rounds), 2)}")


def long_trace(seed: int) -> incfed.Trace:
    chance = np.random.default_rng(seed)
    arms = features(chance, "unit", 400, 4, 4)
    theta = chance.standard_normal(4)
    expected = arms @ (theta / np.linalg.norm(theta))
    rewards = expected + 0.1 * chance.standard_normal((400, 1))
    return incfed.Trace(chance.integers(0, 6, 400), arms, rewards, expected, count=6)


@pytest.mark.parametrize(
    ("kind", "threshold", "share_from", "epsilon"),
    [
        ("pay_everyone", 0.0, 10, 1.0),
        ("payment_efficient", 0.0, 10, 1.0),
        ("payment_efficient", 3.0, 1, 8.0),
        ("payment_free", 0.0, 10, 8.0),
        ("payment_free", 3.0, 1, 1.0),
    ],
)
def test_whole_runs_with_noise(
    kind: str, threshold: float, share_from: int, epsilon: float
) -> None:
    trace = long_trace(3)
    knobs: dict[str, Any] = {"beta": 0.6} if kind == "payment_efficient" else {}
    privacy = Privacy(epsilon, **bounds(trace))
    options = {**PLAIN, "threshold": threshold}
    slow = compare(trace, (kind, knobs), 0.7, share_from, privacy, options)
    assert len(slow.rounds) > 5
    if kind != "pay_everyone":  # batches that come back to a client, and are joined by others
        assert any(len(r.participants) < r.pending for r in slow.rounds)


# ------------------------------------------------------------------------- one fact at a time


def everyone(**options: Any) -> incfed.IncFedUCB:
    return incfed.IncFedUCB(incfed.PayEveryone(), **{"threshold": 0.5, **options})


def test_settings_at_their_defaults_change_nothing() -> None:
    world = incfed.Synthetic(clients=5, dim=4, arms=5, pool=50)
    plain = incfed.simulate(world, everyone(), steps=500)
    same = incfed.simulate(world, everyone(share_from=1, privacy=None), steps=500)
    np.testing.assert_array_equal(plain.regret, same.regret)
    assert plain.settings == same.settings
    recorded = plain.settings["algorithm"]
    assert (recorded["share_from"], recorded["privacy"]) == (1, None)


def test_settings_are_recorded() -> None:
    recorded = everyone(share_from=20, privacy=Privacy(4.0)).settings()
    assert recorded["share_from"] == 20
    assert recorded["privacy"] == {
        "epsilon": 4.0, "delta": 1e-5, "arm_norm": 1.0, "reward_bound": 1.0,
    }  # fmt: skip


def test_no_round_is_called_before_there_are_enough_steps() -> None:
    # One client, D_c = 0: it calls at every step, and now at every tenth.
    world = incfed.Synthetic(clients=1, dim=3, arms=4, pool=20)
    often = incfed.simulate(world, everyone(threshold=0.0), steps=100)
    seldom = incfed.simulate(world, everyone(threshold=0.0, share_from=10), steps=100)
    assert len(often.rounds) == 100
    assert [one.step for one in seldom.rounds] == list(range(9, 100, 10))


def test_noise_is_the_less_the_larger_epsilon() -> None:
    world = incfed.Synthetic(clients=5, dim=3, arms=5, pool=50, noise=0.1)

    def regret(epsilon: float) -> float:
        privacy = Privacy(epsilon, reward_bound=1.5)
        algorithm = everyone(threshold=0.0, share_from=50, privacy=privacy)
        return sum(
            float(incfed.simulate(world, algorithm, steps=2000, seed=seed).regret[-1])
            for seed in range(3)
        )

    none = everyone(threshold=0.0, share_from=50)
    plain = sum(
        float(incfed.simulate(world, none, steps=2000, seed=s).regret[-1]) for s in (0, 1, 2)
    )
    assert plain < regret(4.0) < regret(0.5)
    assert regret(100.0) < 2.0 * plain


def test_a_noisy_upload_is_packed_in_full() -> None:
    world = incfed.Synthetic(clients=1, dim=6, arms=4, pool=20)
    options = {"threshold": 0.0, "share_from": 2}
    thin = incfed.simulate(world, everyone(**options), steps=2)
    full = incfed.simulate(
        world, everyone(privacy=Privacy(1.0, reward_bound=1.6), **options), steps=2
    )
    assert thin.packed[-1] == 6 + 5 + 2  # two rows of a factor, and two coordinates
    assert full.packed[-1] == 21 + 6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"privacy": 4.0}, "privacy: got 4.0, must be a Privacy, such as Privacy(epsilon=4)"),
        ({"share_from": 0}, "share_from: got 0, must be a whole number from 1"),
        (
            {"privacy": Privacy(4.0), "threshold": None, "trigger": incfed.News(above=1.0)},
            "privacy: got Privacy(epsilon=4.0",
        ),
        (
            {"share_from": 5, "threshold": None, "trigger": incfed.Patient(news=1.0)},
            "share_from: got 5, must be left out with Patient: clients stream every step",
        ),
        (
            {"privacy": Privacy(4.0), "trust": 10.0},
            "trust: got 10.0, must be left out with privacy",
        ),
        ({"privacy": Privacy(4.0), "trust": "auto"}, "trust: got 'auto', must be left out"),
    ],
)
def test_settings_that_do_not_go_together(options: dict[str, Any], said: str) -> None:
    with pytest.raises(incfed.InputError) as refused:
        everyone(**options)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (
            {"arm_norm": 0.5},
            "privacy.arm_norm: got 0.5, must be at least the length of the longest",
        ),
        (
            {"reward_bound": 0.1},
            "privacy.reward_bound: got 0.1, must be at least the largest reward",
        ),
    ],
)
def test_worlds_that_exceed_the_bounds(bound: dict[str, float], said: str) -> None:
    world = incfed.Synthetic(clients=2, dim=3, arms=4, pool=20)
    with pytest.raises(incfed.InputError) as refused:
        incfed.simulate(world, everyone(privacy=Privacy(1.0, **bound)), steps=100)
    assert str(refused.value).startswith(said)


def test_one_for_one_downloads() -> None:
    world = incfed.Synthetic(clients=5, dim=3, arms=5, pool=50)
    algorithm = incfed.IncFedUCB(
        incfed.PaymentEfficient(beta=0.6), threshold=0.5, costs=2.0, download="one-for-one",
        share_from=5, privacy=Privacy(8.0, reward_bound=1.6),
    )  # fmt: skip
    result = incfed.simulate(world, algorithm, steps=600)
    assert len(result.rounds) > 5
    assert np.isfinite(result.regret).all()
