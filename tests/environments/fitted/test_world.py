"""Worlds fitted to logs."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import incfed
from incfed.environments.fitted import FittedWorld
from incfed.environments.fitted.fit import LINEAR, LOGISTIC, Fit
from incfed.environments.known_rewards import inverse_weights

ITEMS = np.random.default_rng(5).normal(size=(12, 3)) / np.sqrt(3)
TASTE = np.array([1.0, -0.5, 0.2])


def made_log(
    events: int = 4000, *, scale: float = 0.3, clicks: bool = True, skew: float = 0.0,
    mode: str = "replay", shortest: int = 4,
) -> incfed.ReplayLog:  # fmt: skip
    """Six shops that are alike, with slates of `shortest` to 4 of the items."""
    rng = np.random.default_rng(6)
    slates = [rng.permutation(12)[: rng.integers(shortest, 5)] for _ in range(events)]
    chosen, reward, propensity = [], [], []
    for slate in slates:
        chances = np.exp(skew * ITEMS[slate] @ TASTE)
        chances /= chances.sum()
        pick = int(rng.choice(len(slate), p=chances))
        mean = 0.4 + scale * float(ITEMS[slate[pick]] @ TASTE)
        chosen.append(pick)
        propensity.append(float(chances[pick]))
        reward.append(float(rng.random() < mean) if clicks else mean + 0.1 * rng.normal())
    table: dict[str, Any] = {
        "client": [f"shop {n}" for n in rng.integers(6, size=events)],
        "features": [ITEMS[slate].tolist() for slate in slates],
        "chosen": chosen,
        "reward": reward,
    }
    if skew:
        table["propensity"] = propensity
    return incfed.ReplayLog(pl.DataFrame(table), mode=mode)


def mean_rewards(world: incfed.World, seeds: int = 20, steps: int = 2000) -> Any:
    """Of arms as they come, seed by seed."""
    return np.array([
        world.open(np.random.SeedSequence(seed)).take(steps).rewards.mean()
        for seed in range(seeds)
    ])  # fmt: skip


@pytest.mark.parametrize("clicks", [True, False])
def test_it_keeps_the_rules_of_worlds(clicks: bool) -> None:
    log = made_log(500, clicks=clicks, shortest=2)
    for clients in (None, 4, 9):
        world = FittedWorld(log, length=700, clients=clients)
        assert incfed.check_world(world) == 200
        assert (world.length, world.count) == (700, clients or 6)
        assert world.client_names[0] == log.client_names[0]


@pytest.mark.parametrize("clicks", [True, False])
def test_rewards_are_those_of_the_log(clicks: bool) -> None:
    """Their mean, with an intercept although the features have no constant."""
    log = made_log(clicks=clicks)
    mean = log.known_rewards().mean
    found = mean_rewards(FittedWorld(log))
    assert abs(found.mean() - mean) < 0.02
    events = FittedWorld(log).open(np.random.SeedSequence(0)).take(1000)
    assert clicks == bool(np.isin(events.rewards, (0.0, 1.0)).all())
    if not clicks:  # resampled residuals have the variance of the noise
        assert np.std(events.rewards - events.expected) == pytest.approx(0.1, rel=0.1)


def test_picks_that_were_not_equally_likely_are_made_up_for() -> None:
    """The log picks what pays; items as they come pay less."""
    log = made_log(8000, skew=2.0)
    truth = 0.4 + 0.3 * float((ITEMS @ TASTE).mean())
    assert log.known_rewards().rewards.mean() > truth + 0.06
    assert abs(mean_rewards(FittedWorld(log)).mean() - truth) < 0.02


def skewed_log(odds: Any, reward: Any, events: int = 3000) -> incfed.ReplayLog:
    """Slates of two arms x in [-1, 1], of which the first is picked with these odds; `reward` of
    the x of what was picked, and which it was."""
    rng = np.random.default_rng(8)
    x = rng.uniform(-1.0, 1.0, size=(events, 2))
    first = np.broadcast_to(odds(x), events)
    chosen = (rng.random(events) > first).astype(int)
    table = {
        "client": rng.integers(5, size=events),
        "features": x[:, :, None].tolist(),
        "chosen": chosen,
        "reward": reward(x[np.arange(events), chosen], chosen, rng.normal(size=events)),
        "propensity": np.where(chosen == 0, first, 1.0 - first),
    }
    return incfed.ReplayLog(pl.DataFrame(table), mode="replay")


@pytest.mark.parametrize(("mean", "weighted"), [(lambda x: x, False), (lambda x: x * x, True)])
def test_events_are_weighted_where_the_model_needs_it(mean: Any, weighted: bool) -> None:
    """A straight line fits x, wherever the log looked; of x^2 it depends on that."""
    log = skewed_log(
        lambda x: 1.0 / (1.0 + np.exp(2.0 * (x[:, 1] - x[:, 0]))),
        lambda x, chosen, noise: mean(x) + 0.1 * noise,
    )
    world = FittedWorld(log)
    assert world.weighted == weighted
    if weighted:  # over all items, x says nothing of x^2
        assert abs(world.fit.model.common[0]) < 0.1
        assert abs(Fit.to(world._seen, 5, LINEAR).model.common[0]) > 0.2


def test_weights_are_judged_by_the_same_loss() -> None:
    """The log seldom picks the second arm, which pays nothing, and features do not tell: what the
    mean reward is depends on the weights, and so does that of the constant to compare with."""
    log = skewed_log(lambda x: 0.9, lambda x, chosen, noise: (chosen == 0) + 0.1 * noise)
    assert FittedWorld(log).weighted


def test_rewards_are_as_noisy_as_the_model_says() -> None:
    """Also if seldom picks, which weigh more, are noisier."""
    log = skewed_log(lambda x: 0.9, lambda x, chosen, noise: x + np.where(chosen, 1.0, 0.1) * noise)
    world = FittedWorld(log)
    events = world.open(np.random.SeedSequence(1)).take(20_000)
    noise = float(np.mean((events.rewards - events.expected) ** 2))
    assert noise == pytest.approx(world.fit.model.noise, rel=0.15)


def test_tiny_propensities_are_no_trouble() -> None:
    log = skewed_log(
        lambda x: np.where(x[:, 0] > 0.99, 1e-308, 1.0),
        lambda x, chosen, noise: x + noise,
        events=200,
    )
    assert np.isfinite(inverse_weights(np.array([0.5, 5e-324, 0.5]))).all()
    assert incfed.check_world(FittedWorld(log)) == 200


def test_seeds_draw_worlds_as_far_apart_as_the_log_leaves_open() -> None:
    """Of more events, less is open."""
    spreads = [
        np.std([
            world.open(np.random.SeedSequence(seed)).thetas[0, 0] for seed in range(40)
        ])
        for world in (FittedWorld(made_log(events), link=LINEAR) for events in (400, 6400))
    ]  # fmt: skip
    assert spreads[1] < 0.5 * spreads[0]


def test_seeds_in_a_row_may_share_their_parameters() -> None:
    world = FittedWorld(made_log(400), runs=2)
    streams = [world.open(np.random.SeedSequence(seed)) for seed in range(4)]
    np.testing.assert_array_equal(streams[0].thetas, streams[1].thetas)
    assert (streams[1].thetas != streams[2].thetas).all()
    events = [stream.take(50) for stream in streams[:2]]
    assert (events[0].clients != events[1].clients).any()
    assert incfed.check_world(world) == 200


def test_the_link_is_the_one_that_predicts_better() -> None:
    assert FittedWorld(made_log(2000, clicks=False)).link == LINEAR
    rng = np.random.default_rng(7)
    x = rng.normal(size=(6000, 1, 2))
    chances = 1 / (1 + np.exp(4.0 - 3.0 * x[:, 0, :1]))  # rare, and far from linear
    clicks = (rng.random((6000, 1)) < chances).astype(float)
    trace = incfed.Trace(rng.integers(4, size=6000), x, clicks)
    assert FittedWorld(trace).link == LOGISTIC
    with pytest.raises(incfed.InputError, match=r"link: got 'logistic', must be one of 'linear'"):
        FittedWorld(made_log(300, clicks=False), link="logistic")


def test_what_it_predicts_is_measured_on_held_out_events() -> None:
    good = FittedWorld(made_log(4000)).held_out
    assert good.gain > 0.01
    assert good.gain > 3 * good.error
    assert good.r2 > 0.01
    assert good.log_loss is not None
    assert good.log_loss[0] < good.log_loss[1]
    assert sum(one.events for one in good.bins) == 4000
    for one in good.bins:
        assert abs(one.predicted - one.seen) < 4 * one.error
    noise = FittedWorld(made_log(4000, scale=0.0)).held_out
    assert abs(noise.gain) < 0.003
    assert noise.gain < 3 * noise.error


def test_of_a_log_of_all_that_was_not_clicked_every_candidate_counts() -> None:
    log = made_log(300, mode="zero", shortest=2)
    seen = log.known_rewards()
    assert len(seen.rewards) == sum(log._log.size)
    assert seen.rewards.sum() == log._log.rewards.sum()
    for row in (0, 17, len(seen.rewards) - 1):
        assert seen.clients[row] == log._log.clients[seen.events[row]]


def test_only_logs_can_be_fitted() -> None:
    with pytest.raises(incfed.InputError, match=r"log: got .*must be a ReplayLog or a Trace"):
        FittedWorld(incfed.Synthetic(clients=2, dim=2))  # type: ignore[arg-type]
    for name in ("length", "clients"):
        options: dict[str, Any] = {name: 0}
        with pytest.raises(incfed.InputError, match=f"{name}: got 0, must be a whole number"):
            FittedWorld(made_log(50), **options)
