"""What a log of random picks tells about an algorithm is what a live run would have told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import incfed
from reference.mechanisms import FloatArray
from support.logs import Sample
from support.worlds import settings_of_a_run

CLIENTS, NOISE = 3, 0.1


def live(chance: np.random.Generator, steps: int, arms: int, dim: int) -> incfed.Trace:
    """A linear world in which longer arms tend to be better; all rewards are known."""
    theta = np.full(dim, 1.0 / np.sqrt(dim))
    x = chance.standard_normal((steps, arms, dim)) * chance.uniform(0.2, 1.0, (steps, arms, 1))
    x += 0.4 * np.linalg.norm(x, axis=2, keepdims=True) * theta
    means = x @ theta
    rewards = means + NOISE * chance.standard_normal((steps, arms))
    return incfed.Trace(chance.integers(0, CLIENTS, steps), x, rewards, means)


def logged(world: incfed.Trace, chance: np.random.Generator, file: Path) -> incfed.ReplayLog:
    """What is left of it when somebody picks at random and keeps a log."""
    T, K = world.rewards.shape
    picks = chance.integers(0, K, T)
    features = pl.Series(world.items[world.arms]).cast(pl.List(pl.List(pl.Float64)))
    columns = {"client": world.clients, "features": features, "chosen": picks}
    reward = world.rewards[np.arange(T), picks]
    pl.DataFrame({**columns, "reward": reward}).write_parquet(file)
    return incfed.ReplayLog(file, mode="replay")


def test_the_value_of_a_fixed_policy(tmp_path: Path) -> None:
    """A huge ridge and exploration: whatever it learns, it picks the longest arm."""
    chance = np.random.default_rng(3)
    steps, arms = 60_000, 5
    world = live(chance, steps, arms, 4)
    log = logged(world, chance, tmp_path / "log.parquet")
    policy = incfed.DisLinUCB(threshold=1e3, ridge=1e12, exploration=1e12)
    result = incfed.simulate(log, policy)
    longest = np.linalg.norm(world.items[world.arms], axis=2).argmax(axis=1)
    online = incfed.simulate(world, policy)
    value = world.rewards[np.arange(steps), longest]  # what it would have earned, had it been live
    assert online.reward[-1] == pytest.approx(value.sum(), rel=1e-9)

    earned = np.diff(result.reward, prepend=0.0)
    matched = np.diff(result.matched, prepend=0.0) == 1.0
    assert matched.sum() == pytest.approx(steps / arms, abs=4 * np.sqrt(steps / arms))
    estimate = result.reward[-1] / result.matched[-1]
    error = np.hypot(earned[matched].std() / np.sqrt(matched.sum()), value.std() / np.sqrt(steps))
    assert abs(estimate - value.mean()) < 3 * error
    # The average of the log, which a wrong rule would drift to, is far away.
    assert abs(np.nanmean(logged_rewards(log)) - value.mean()) > 20 * error


def logged_rewards(log: incfed.ReplayLog) -> FloatArray:
    return log.open(np.random.SeedSequence(0)).take(log.length).rewards


def test_the_course_of_an_algorithm_that_learns(tmp_path: Path) -> None:
    """m matched events are m live steps, rounds and all: the same average over many logs."""
    chance = np.random.default_rng(8)
    arms, m, repeats = 3, 40, 250
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(0.8), threshold=0.5, costs=1.0)
    gap = []
    for _ in range(repeats):
        world = live(chance, m, arms, 2)
        online = incfed.simulate(world, algorithm)
        source = live(chance, 2 * m * arms, arms, 2)
        log = logged(source, chance, tmp_path / "log.parquet")
        replayed = incfed.simulate(log, algorithm)
        end = int(np.searchsorted(replayed.matched, m))
        assert end < log.length  # long enough
        gap.append(
            [
                replayed.reward[end] - online.reward[-1],
                replayed.communication[end] - online.communication[-1],
                replayed.payment[end] - online.payment[-1],
            ]
        )
    error = np.std(gap, axis=0, ddof=1) / np.sqrt(repeats)
    assert (error > 0).all()
    assert (np.abs(np.mean(gap, axis=0)) < 3 * error).all()


@given(seed=st.integers(0, 10_000), options=settings_of_a_run(), scale=st.sampled_from([1, 1e3]))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_events_may_be_short(seed: int, options: dict[str, float], scale: float,
                             tmp_path: Path) -> None:  # fmt: skip
    """Events are made equally long by repeating the last candidate; that is never picked, and
    more of it changes nothing."""
    sample = Sample.random(events=40, seed=seed)
    sample.items = sample.items * scale
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), costs=0.5, **options)  # type: ignore[arg-type]
    for form in ("ids", "inline"):
        world = sample.open(form, tmp_path)
        plain = incfed.simulate(world, algorithm)
        # One more event, at the end and far longer, pads all the others.
        more = Sample.random(events=40, seed=seed)
        more.items = sample.items
        more.candidates.append(list(range(12)))
        more.clients.append("u0")
        more.chosen.append(0)
        more.rewards.append(1.0)
        padded_world = more.open(form, tmp_path)
        assert padded_world.arms_per_step == 12
        padded = incfed.simulate(padded_world, algorithm, steps=40)
        np.testing.assert_array_equal(plain.matched, padded.matched)
        np.testing.assert_array_equal(plain.reward, padded.reward)
        assert plain.rounds.step.tolist() == padded.rounds.step.tolist()


@given(seed=st.integers(0, 10_000), options=settings_of_a_run())
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_copy_is_never_picked(seed: int, options: dict[str, float], tmp_path: Path) -> None:
    """Told by a trace whose rewards say which index was picked."""
    sample = Sample.random(events=40, seed=seed)
    world = sample.open("inline", tmp_path)
    stream = world.open(np.random.SeedSequence(0))
    events = stream.take(40)
    index = np.tile(np.arange(float(world.arms_per_step)), (40, 1))
    trace = incfed.Trace(events.clients, events.arms, index, count=world.count, items=stream.items)
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), costs=0.5, **options)  # type: ignore[arg-type]
    picks = np.diff(incfed.simulate(trace, algorithm).reward, prepend=0.0)
    assert (picks < [len(shown) for shown in sample.candidates]).all()


def test_the_same_item_twice_is_the_same_pick(tmp_path: Path) -> None:
    sample = Sample.random(events=30, seed=1)
    sample.candidates = [[0, 1, 0]] * 30
    sample.chosen = [2] * 30  # the copy; a tie goes to the first
    sample.items = np.array([[3.0], [1.0]])
    result = incfed.simulate(sample.open("ids", tmp_path), incfed.Independent())
    assert result.matched[0] == 1.0
