"""The paper's synthetic world: its arms, its noise, who acts how often."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments import Events
from incfed.environments.synthetic import SyntheticStream


def opened(world: incfed.Synthetic, seed: int = 0) -> SyntheticStream:
    return world.open(np.random.SeedSequence(seed))


def chi_square(observed: np.ndarray, share: np.ndarray) -> float:
    """(statistic - mean) / standard deviation: about 0 +- 1 if `share` is right."""
    expected = observed.sum() * share
    statistic = float(((observed - expected) ** 2 / expected).sum())
    free = len(observed) - 1
    return float((statistic - free) / np.sqrt(2 * free))


def test_items_and_rewards() -> None:
    world = incfed.Synthetic(clients=3, dim=7, arms=4, pool=50, noise=0.25)
    stream = opened(world)
    assert stream.items.shape == (50, 7)
    np.testing.assert_allclose(np.linalg.norm(stream.items, axis=1), 1.0, rtol=1e-12)
    assert np.linalg.norm(stream.theta) == pytest.approx(1.0)
    events = stream.take(4000)
    assert events.clients.dtype == events.arms.dtype == np.int64
    assert events.arms.shape == events.rewards.shape == events.expected.shape == (4000, 4)
    np.testing.assert_allclose(
        events.expected, stream.items[events.arms] @ stream.theta, rtol=1e-9, atol=1e-12
    )
    noise = events.rewards - events.expected
    np.testing.assert_allclose(noise, noise[:, :1] @ np.ones((1, 4)), atol=1e-12)
    assert noise[:, 0].std() == pytest.approx(0.25, rel=0.06)  # 5 standard errors
    assert abs(noise[:, 0].mean()) < 5 * 0.25 / np.sqrt(4000)
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < 0.08


def test_the_first_coordinates_of_an_arm_are_the_largest() -> None:
    # Before scaling to length 1, coordinate i has variance (d - i) / d.
    items = opened(incfed.Synthetic(dim=4, pool=40_000, arms=1)).items
    raw = np.random.default_rng(0).standard_normal((40_000, 4)) * np.sqrt([1, 0.75, 0.5, 0.25])
    raw /= np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose((items**2).mean(axis=0), (raw**2).mean(axis=0), atol=0.01)
    np.testing.assert_allclose(items.mean(axis=0), 0.0, atol=0.02)


def test_no_noise() -> None:
    events = opened(incfed.Synthetic(clients=2, noise=0)).take(20)
    assert np.array_equal(events.rewards, events.expected)


@pytest.mark.parametrize(("pool", "arms"), [(1, 1), (5, 5), (30, 4), (1000, 25)])
def test_arms_of_a_step_are_distinct_and_all_alike(pool: int, arms: int) -> None:
    steps = 6000
    drawn = opened(incfed.Synthetic(pool=pool, arms=arms, dim=3)).take(steps).arms
    assert drawn.min() >= 0
    assert drawn.max() < pool
    assert all(len(set(row)) == arms for row in drawn.tolist())
    if arms == pool:
        assert (np.sort(drawn, axis=1) == np.arange(pool)).all()
    if pool > 1:  # in every place each item is equally likely, whatever was drawn before
        for place in {0, 1, arms - 1}:
            assert abs(chi_square(np.bincount(drawn[:, place], minlength=pool), uniform(pool))) < 5
        pair = drawn[:-1, 0] * pool + drawn[1:, 0]  # what comes next does not depend on the last
        if pool <= 30:
            assert abs(chi_square(np.bincount(pair, minlength=pool**2), uniform(pool**2))) < 5


def uniform(n: int) -> np.ndarray:
    return np.full(n, 1.0 / n)


@pytest.mark.parametrize(
    ("activity", "share"),
    [
        (None, [0.25, 0.25, 0.25, 0.25]),
        (0, [0.25, 0.25, 0.25, 0.25]),
        (1.0, [12 / 25, 6 / 25, 4 / 25, 3 / 25]),  # 1 : 1/2 : 1/3 : 1/4
        (2, [144 / 205, 36 / 205, 16 / 205, 9 / 205]),
        ([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4]),
        (np.array([5.0, 1.0, 1.0, 3.0]), [0.5, 0.1, 0.1, 0.3]),
    ],
)
def test_who_acts_how_often(activity: object, share: list[float]) -> None:
    world = incfed.Synthetic(clients=4, dim=2, arms=1, pool=2, activity=activity)  # type: ignore[arg-type]
    np.testing.assert_allclose(world.shares(), share, rtol=1e-12)
    who = opened(world, seed=5).take(20_000).clients
    assert abs(chi_square(np.bincount(who, minlength=4), np.array(share))) < 5
    following = who[1:][who[:-1] == 0]  # independent of who acted before
    assert abs(chi_square(np.bincount(following, minlength=4), np.array(share))) < 5


def test_who_never_acts_never_appears() -> None:
    world = incfed.Synthetic(clients=4, dim=2, arms=1, pool=2, activity=[0, 1, 3, 0])
    assert set(opened(world).take(5000).clients.tolist()) == {1, 2}
    result = incfed.simulate(world, incfed.DisLinUCB(threshold=0.1), steps=300)
    assert set(result.rounds.participants.tolist()) == {1, 2}
    assert result.rounds.idle.min() == 2


def same(one: Events, two: Events) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def joined(parts: list[Events]) -> Events:
    return Events(*(np.concatenate(part) for part in zip(*parts, strict=True)))


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12),
    st.integers(0, 2**64),
    st.sampled_from([None, 1.0]),
    st.sampled_from([0.0, 0.3]),
)
def test_the_same_steps_however_they_are_cut(
    pieces: list[int], seed: int, activity: float | None, spread: float
) -> None:
    world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=9, activity=activity, spread=spread)
    whole, cut = opened(world, seed), opened(world, seed)
    assert same(joined([cut.take(n) for n in pieces]), whole.take(sum(pieces)))
    assert np.array_equal(whole.items, cut.items)


def test_seeds_differ() -> None:
    world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=9)
    one, two = opened(world, 0), opened(world, 1)
    assert not np.array_equal(one.items, two.items)
    assert not np.array_equal(one.theta, two.theta)
    first, second = one.take(50), two.take(50)
    assert not np.array_equal(first.clients, second.clients)
    assert not np.array_equal(first.arms, second.arms)


def test_each_kind_of_chance_has_a_stream_of_its_own() -> None:
    # More arms, another noise or activity: the rest stays as it was.
    base = incfed.Synthetic(clients=5, dim=3, arms=4, pool=9)
    events = opened(base).take(50)
    more = opened(incfed.Synthetic(clients=5, dim=3, arms=6, pool=9)).take(50)
    loud = opened(incfed.Synthetic(clients=5, dim=3, arms=4, pool=9, noise=3.0)).take(50)
    busy = opened(incfed.Synthetic(clients=5, dim=3, arms=4, pool=9, activity=2.0)).take(50)
    unlike = opened(incfed.Synthetic(clients=5, dim=3, arms=4, pool=9, spread=0.5)).take(50)
    for other in (more, loud, unlike):
        assert np.array_equal(events.clients, other.clients)
    for other in (loud, busy, unlike):
        assert np.array_equal(events.arms, other.arms)
    noise = [(e.rewards - e.expected)[:, 0] for e in (events, more, unlike, loud)]
    np.testing.assert_allclose(noise[1], noise[0], atol=1e-12)
    np.testing.assert_allclose(noise[2], noise[0], atol=1e-12)
    np.testing.assert_allclose(noise[3], 30 * noise[0], atol=1e-12)


@pytest.mark.parametrize("spread", [0.3, 1.0, 5.0])
def test_clients_that_differ(spread: float) -> None:
    # Literally: theta_i = (theta + spread * delta_i) / its norm, delta_i from the fifth stream.
    alike, world = (incfed.Synthetic(6, 4, 3, 20, spread=value) for value in (0.0, spread))
    theta = opened(alike, seed=7).theta
    deltas = np.random.default_rng(np.random.SeedSequence(7).spawn(5)[4])
    stream = opened(world, seed=7)
    for own in stream.thetas:
        delta = deltas.standard_normal(4)
        away = theta + spread * delta / np.linalg.norm(delta)
        np.testing.assert_allclose(own, away / np.linalg.norm(away), rtol=1e-12)
    events = stream.take(200)
    for client, arms, expected in zip(events.clients, events.arms, events.expected, strict=True):
        for arm, mean in zip(arms, expected, strict=True):
            assert mean == pytest.approx(stream.items[arm] @ stream.thetas[client], abs=1e-12)
    noise = events.rewards - events.expected
    np.testing.assert_allclose(noise, noise[:, :1] @ np.ones((1, 3)), atol=1e-12)


def test_directions_of_deviation_are_uniform() -> None:
    # At a huge spread theta_i is delta_i: mean 0, covariance I / d.
    thetas = opened(incfed.Synthetic(40_000, 3, 1, 2, spread=1e9)).thetas
    np.testing.assert_allclose(thetas.mean(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(thetas.T @ thetas / 40_000, np.eye(3) / 3, atol=0.02)


def test_without_spread_all_clients_have_one_theta() -> None:
    stream = opened(incfed.Synthetic(clients=5, dim=3, arms=4, pool=9))
    assert stream.thetas.shape == (5, 3)
    assert (stream.thetas == stream.theta).all()
    tiny = opened(incfed.Synthetic(clients=5, dim=3, arms=4, pool=9, spread=1e-9)).take(50)
    np.testing.assert_allclose(tiny.expected, stream.take(50).expected, atol=1e-8)


def test_regret_is_against_the_best_arm_of_the_client_that_acts() -> None:
    world = incfed.Synthetic(clients=4, dim=3, arms=5, pool=30, spread=0.8)
    stream, events = opened(world, seed=3), opened(world, seed=3).take(150)
    result = incfed.simulate(world, incfed.DisLinUCB(threshold=1.0), steps=150, seed=3)
    worth = np.einsum("tkd,td->tk", stream.items[events.arms], stream.thetas[events.clients])
    for step, regret in enumerate(np.diff(result.regret, prepend=0.0)):
        possible = worth[step].max() - worth[step]
        assert np.abs(possible - regret).min() < 1e-9


def test_settings_name_every_option() -> None:
    world = incfed.Synthetic(clients=2, dim=3, arms=4, pool=5, noise=0.5, activity=[1, 3])
    assert world.settings() == {
        "kind": "Synthetic",
        "clients": 2,
        "dim": 3,
        "arms": 4,
        "pool": 5,
        "noise": 0.5,
        "activity": (1.0, 3.0),
        "spread": 0.0,
    }
    assert (world.count, world.dim, world.arms_per_step, world.length) == (2, 3, 4, None)
    assert replace(world, spread=1).settings() == {**world.settings(), "spread": 1.0}
