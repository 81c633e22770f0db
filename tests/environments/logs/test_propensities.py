"""Logs whose picks were not equally likely: with propensities a replay is unbiased, without them it
is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import incfed
from incfed.errors import InputError
from reference.mechanisms import FloatArray
from support.logs import Sample

ARMS, DIM = 3, 2
LONGEST = incfed.DisLinUCB(threshold=1e3, ridge=1e12, exploration=1e12)  # whatever it learns
LOGGERS = ["uniform", "skewed", "adversarial"]


def scene(chance: np.random.Generator, steps: int) -> tuple[FloatArray, FloatArray]:
    """Arms, and what each pays on average: long ones pay well in some events, badly in others."""
    arms = chance.standard_normal((steps, ARMS, DIM))
    return arms, arms @ np.full(DIM, 0.5)


def probabilities(logger: str, arms: FloatArray, means: FloatArray) -> FloatArray:
    """With which the logger picks each arm."""
    steps, longest = len(arms), np.linalg.norm(arms, axis=2).argmax(axis=1)
    if logger == "uniform":
        return np.full((steps, ARMS), 1 / ARMS)
    if logger == "skewed":  # towards what pays
        weights = np.exp(np.clip(1.5 * means, -1.5, 1.5))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
    # What the algorithm picks is shown mostly where it pays badly.
    bad = means[np.arange(steps), longest] < 0
    found = np.where(bad, 0.1, 0.45)[:, None] * np.ones((steps, ARMS))
    found[np.arange(steps), longest] = np.where(bad, 0.8, 0.1)
    return found


def logged(
    chance: np.random.Generator, logger: str, arms: FloatArray, means: FloatArray
) -> pl.DataFrame:
    odds = probabilities(logger, arms, means)
    picks = (odds.cumsum(axis=1) < chance.random((len(arms), 1))).sum(axis=1)
    picks = picks.clip(max=ARMS - 1)
    at = np.arange(len(arms)), picks
    return pl.DataFrame(
        {
            "client": chance.integers(0, 2, len(arms)),
            "features": pl.Series(arms).cast(pl.List(pl.List(pl.Float64))),
            "chosen": picks,
            "reward": means[at] + 0.1 * chance.standard_normal(len(arms)),
            "propensity": odds[at],
        }
    )


@pytest.mark.parametrize("logger", LOGGERS)
def test_the_value_of_a_fixed_policy(logger: str) -> None:
    chance = np.random.default_rng(5)
    arms, means = scene(chance, 30_000)
    value = means[np.arange(len(arms)), np.linalg.norm(arms, axis=2).argmax(axis=1)]
    frame = logged(chance, logger, arms, means)
    log = incfed.ReplayLog(frame, mode="replay")

    def off(world: incfed.ReplayLog) -> tuple[float, incfed.Result]:
        """How many standard errors the estimate is away from the truth."""
        result = incfed.simulate(world, LONGEST)
        error = value.std() / np.sqrt(result.matched[-1])
        return float((result.reward[-1] / result.matched[-1] - value.mean()) / error), result

    distance, result = off(log)
    assert abs(distance) < 3
    # It is worth as many live steps as the effective sample size says.
    assert result.matched[-1] == pytest.approx(log.effective, abs=4 * np.sqrt(log.effective))
    naive, _ = off(incfed.ReplayLog(frame.drop("propensity"), mode="replay"))
    if logger == "uniform":
        assert naive == distance  # to the digit
    elif logger == "skewed":
        assert naive > 20
    else:
        assert naive < -20


def test_the_course_of_an_algorithm_that_learns() -> None:
    """m matched events of an adversarial log are m live steps, on average: reward and traffic."""
    chance = np.random.default_rng(8)
    m, repeats = 20, 60
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(0.8), threshold=0.5, costs=1.0)
    gaps: dict[bool, list[list[float]]] = {True: [], False: []}
    for _ in range(repeats):
        arms, means = scene(chance, m)
        rewards = means + 0.1 * chance.standard_normal(means.shape)
        live = incfed.simulate(
            incfed.Trace(chance.integers(0, 2, m), arms, rewards, count=2), algorithm
        )
        frame = logged(chance, "adversarial", *scene(chance, 40 * m))
        for given in gaps:
            log = incfed.ReplayLog(frame if given else frame.drop("propensity"), mode="replay")
            found = incfed.simulate(log, algorithm)
            end = int(np.searchsorted(found.matched, m))
            assert end < log.length  # long enough
            gaps[given].append(
                [
                    found.reward[end] - live.reward[-1],
                    found.communication[end] - live.communication[-1],
                ]
            )
    away = {
        given: np.abs(np.mean(gap, axis=0)) / (np.std(gap, axis=0, ddof=1) / np.sqrt(repeats))
        for given, gap in gaps.items()
    }
    assert (away[True] < 3).all()
    assert away[False][0] > 5  # the naive replay is far off


def test_equal_propensities_change_nothing() -> None:
    """Neither the picks nor the order of candidates, to the digit."""
    sample = Sample.random(events=80)
    plain = incfed.ReplayLog(sample.events, mode="replay", items=sample.table)
    told = sample.events.with_columns(propensity=0.25)
    given = incfed.ReplayLog(told, mode="replay", items=sample.table)
    algorithm = incfed.IncFedUCB(incfed.PaymentFree(), threshold=0.5, costs=0.5)
    for seed in (0, 1):
        one, two = (incfed.simulate(log, algorithm, seed=seed) for log in (plain, given))
        np.testing.assert_array_equal(one.matched, two.matched)
        np.testing.assert_array_equal(one.reward, two.reward)
    assert given.effective == 0.25 * 80
    assert plain.effective == pytest.approx(sum(1 / len(shown) for shown in sample.candidates))
    assert "worth about 20 live steps" in given.notes[0]
    assert not plain.notes


@pytest.mark.parametrize("value", [0.0, -0.1, 1.5, float("nan"), float("inf"), None])
def test_a_bad_propensity_is_an_error_with_its_row(value: float | None) -> None:
    sample = Sample.random(events=10)
    told: list[float | None] = [0.5] * 10
    told[6] = told[8] = value
    frame = sample.events.with_columns(p=pl.Series(told, dtype=pl.Float64))
    for column in ("p", "propensity"):
        given = frame.rename({"p": column})
        options: Any = {"propensity": "p"} if column == "p" else {}
        with pytest.raises(InputError, match=rf"{column}: got .*row 7 of the data frame \(2 such"):
            incfed.ReplayLog(given, mode="replay", items=sample.table, **options)


def test_the_long_format_has_it_beside_the_chosen_candidate() -> None:
    sample = Sample.random(events=10)
    chosen = pl.col("chosen") == 1
    frame = sample.long.with_columns(p=pl.when(chosen).then(0.5))
    options: Any = {"mode": "replay", "items": sample.table, "event": "event", "propensity": "p"}
    assert incfed.ReplayLog(frame, **options).effective == 5.0
    wrong = sample.long.with_columns(p=pl.when(chosen).then(7.0).otherwise(0.5))
    with pytest.raises(InputError, match=r"p: got 7\.0, must be above 0 and at most 1"):
        incfed.ReplayLog(wrong, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"propensity": "odds"}, r"propensity: got 'odds', must be a column of the data frame"),
        ({"clip": 0.1}, "clip: got 0.1, must be left out: the log has no column of propensities"),
        ({"clip": 2.0}, "clip: got 2.0, must be a number from 0 to 1"),
        ({"propensity": "reward", "mode": "zero"}, 'propensity: got .* or mode = "replay"'),
    ],
)
def test_arguments(options: dict[str, Any], message: str) -> None:
    sample = Sample.random(events=10)
    frame = sample.events.with_columns(reward=pl.lit(1.0))
    with pytest.raises(InputError, match=message):
        incfed.ReplayLog(frame, **{"mode": "replay", "items": sample.table, **options})


def test_clipping_keeps_more_events() -> None:
    chance = np.random.default_rng(2)
    frame = logged(chance, "skewed", *scene(chance, 2000))
    whole = incfed.ReplayLog(frame, mode="replay")
    clipped = incfed.ReplayLog(frame, mode="replay", clip=0.3)
    assert clipped.effective == pytest.approx(600)
    counts = [incfed.simulate(log, LONGEST).matched[-1] for log in (whole, clipped)]
    assert counts[1] > 2 * counts[0]
    assert "clipped to 0.3" in clipped.notes[0]
