"""Plans of a log beside one pass of replay."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import incfed
from incfed.experiments.config import build_algorithm
from incfed.experiments.engine import Local, Session
from incfed.planning.case import Case, read_case
from incfed.planning.cross_check import (
    CrossCheck,
    Rewards,
    as_data,
    blocks,
    cross_check,
    obstacle,
)
from incfed.planning.space import Setting
from incfed.results.document import Document
from incfed.results.intervals import Interval
from incfed.results.markdown import render
from support.planning import write_trace

SEEDS = tuple(range(8, 24))  # as for four held-out worlds
ALONE = {"kind": "Independent", "ridge": 1.0}
FREE = Setting("PaymentFree", None, 0.5, 0.1)


def write_log(folder: Path, events: int = 400, slate: int = 3) -> Path:
    """A log of clicks of four clients on one of a slate, picked at random."""
    chance = np.random.default_rng(4)
    features = chance.standard_normal((events, slate, 2))
    chosen = chance.integers(0, slate, events)
    scores = features[np.arange(events), chosen, 0]
    pl.DataFrame(
        {
            "client": chance.integers(0, 4, events),
            "features": features.tolist(),
            "chosen": chosen,
            "reward": (chance.random(events) < 1 / (1 + np.exp(-2 * scores))).astype(float),
        }
    ).write_parquet(folder / "log.parquet")
    return folder / "log.parquet"


def case_of(world: dict[str, Any], **run: Any) -> Case:
    return read_case({"world": world, "run": run, "costs": 1.0})


def log_case(folder: Path, mode: str = "replay", **more: Any) -> Case:
    return case_of({"kind": "ReplayLog", "file": str(write_log(folder, **more)), "mode": mode})


def checked(case: Case, jobs: int = 1) -> CrossCheck | None:
    judgement: Any = SimpleNamespace(
        chosen=SimpleNamespace(setting=FREE), alone=SimpleNamespace(rules=ALONE)
    )
    with Session(executor=Local(jobs)) as session:
        return cross_check(case, session, judgement, SEEDS, lambda done, total: None)


def test_replay_and_the_fitted_world_by_hand(tmp_path: Path) -> None:
    """One in three of 400 events matches; four passes of all, and four halves in four orders."""
    case = log_case(tmp_path)
    found, fitted = checked(case), case.fitted
    assert found is not None
    assert fitted is not None
    assert (found.length, found.events, case.steps) == (133, 400, 200)

    def rewards(world: incfed.World, table: Any, seed: int) -> float:
        algorithm = build_algorithm(table, "algorithm", world, case.steps, tmp_path).value
        if world is fitted:
            return float(incfed.simulate(world, algorithm, steps=133, seed=seed).reward[-1])
        run = incfed.simulate(world, algorithm, seed=seed)
        return float(133 * run.reward[-1] / run.matched[-1])

    ways = {"alone": ALONE, "advice": FREE.table({}, case.costs.of(0))}
    log = incfed.ReplayLog(tmp_path / "log.parquet", mode="replay")
    passes = {
        name: np.array([rewards(log.bootstrap(400), table, seed) for seed in SEEDS[:4]])
        for name, table in ways.items()
    }
    live = {
        name: np.array([rewards(fitted, table, seed) for seed in SEEDS])
        for name, table in ways.items()
    }
    for name in ways:
        assert getattr(found.replay, name).mean == pytest.approx(passes[name].mean())
        assert getattr(found.fitted, name).mean == pytest.approx(live[name].mean())
    assert found.replay.gain.mean == pytest.approx((passes["advice"] - passes["alone"]).mean())
    worlds = Interval.of_worlds(live["advice"] - live["alone"], 4)
    assert found.fitted.gain.half == pytest.approx(worlds.half)
    chance = Interval.of(passes["alone"]).half
    assert found.replay.alone.half > chance  # other events would differ by more than other orders


def test_the_same_on_any_number_of_processes(tmp_path: Path) -> None:
    case = log_case(tmp_path)
    assert checked(case) == checked(case, jobs=2)


def test_a_trace_is_run_in_its_order(tmp_path: Path) -> None:
    """All rewards are known, so that every step counts; the plan is for half of 240."""
    file = write_trace(tmp_path / "trace.npz")
    found = checked(case_of({"kind": "Trace", "file": str(file)}))
    assert found is not None
    assert (found.length, found.events) == (120, 120)
    longer = checked(case_of({"kind": "Trace", "file": str(file)}, steps=1000))
    assert longer is not None
    assert (longer.length, longer.events) == (240, 240)


def test_intervals_of_replay_hold_the_truth() -> None:
    """Means of 100 events, each 0 or 1: the interval is that of the mean, 1.96 x 0.05 or so."""
    halves, widths = [], []
    for n in range(40):
        chance = np.random.default_rng(n)
        events = (chance.random(100) < 0.5).astype(float)
        log = incfed.Trace(np.zeros(100, int), np.ones((100, 1, 1)), events[:, None])
        drawn = incfed.compare(log.bootstrap(50), {"one": incfed.Independent()}, seeds=20)
        row = drawn.rows[0].reward
        widths.append(row.times * row.sd / 50)
        halves.append(abs(row.mean / 50 - 0.5) <= widths[-1])
    assert statistics.fmean(widths) == pytest.approx(1.96 * 0.05, rel=0.15)
    assert statistics.fmean(halves) >= 0.85


@pytest.mark.parametrize(
    ("world", "why"),
    [
        ({"mode": "zero"}, 'count as reward 0 (mode = "zero"), no replay is unbiased'),
        ({"events": 200}, "one pass of the log has about 66 matched steps, and 100 are needed"),
    ],
)
def test_what_cannot_be_checked(tmp_path: Path, world: dict[str, Any], why: str) -> None:
    case = log_case(tmp_path, **world)
    assert why in obstacle(case)
    assert checked(case) is None
    plan: Any = SimpleNamespace(case=case, cross_check=None)
    assert why in render(Document("", list(blocks(plan))))
    assert as_data(plan) == {"not_checked": obstacle(case)}


def test_small_propensities_leave_too_few_steps(tmp_path: Path) -> None:
    file = write_log(tmp_path)
    pl.read_parquet(file).with_columns(propensity=pl.lit(0.01)).write_parquet(file)
    world = {"kind": "ReplayLog", "file": str(file), "mode": "replay"}
    assert "about 4 matched steps, and 100 are needed. Its prop" in obstacle(case_of(world))
    assert not obstacle(case_of({**world, "clip": 0.3}))


def test_other_clients_than_those_of_the_log(tmp_path: Path) -> None:
    log = {"kind": "ReplayLog", "file": str(write_log(tmp_path)), "mode": "replay"}
    case = case_of({"kind": "FittedWorld", "log": log, "clients": 9})
    assert "it has 9 clients, and the log 4" in obstacle(case)
    assert checked(case) is None


def test_a_world_that_is_not_of_a_log_has_nothing_to_check() -> None:
    case = case_of({"kind": "Synthetic", "clients": 3, "dim": 2}, steps=200)
    plan: Any = SimpleNamespace(case=case, cross_check=checked(case))
    assert list(blocks(plan)) == []
    assert as_data(plan) is None


def rewards(gain: float, half: float) -> Rewards:
    return Rewards(
        Interval(100.0, 5.0, 20), Interval(100.0 + gain, 5.0, 20), Interval(gain, half, 20)
    )


def said(found: CrossCheck, steps: int, late: Interval) -> str:
    plan: Any = SimpleNamespace(
        case=SimpleNamespace(steps=steps, fitted=None),
        cross_check=found,
        judgement=SimpleNamespace(
            alone=None, chosen=SimpleNamespace(more=lambda other, metric: late)
        ),
    )
    return render(Document("", list(blocks(plan))))


def test_it_says_whether_they_agree() -> None:
    """Sharing brings 30 ± 14 in replay: 17 or 43 may be the same, 16 or 44 may not."""
    late = Interval(30.0, 5.0, 20)
    for gain in (16.5, 43.5):
        found = CrossCheck(1640, 8000, rewards(30.0, 14.0), rewards(gain, 8.0))
        assert found.agree
        text = said(found, 1640, late)
        assert "differs by 13.5, and chance alone explains 14" in text
        assert "The log supports all 1,640 steps of the plan." in text
    for gain in (15.5, 44.5):
        found = CrossCheck(1640, 8000, rewards(30.0, 14.0), rewards(gain, 8.0))
        assert not found.agree
        text = said(found, 9000, late)
        assert "over 1,640 steps sharing brings 30 ± 14 in replay" in text
        assert "after step 1,640 of 9,000 is the fitted world's word alone" in text
        assert "So it is here" not in text


def test_sharing_can_win_early_and_lose_late() -> None:
    found = CrossCheck(1640, 8000, rewards(30.0, 14.0), rewards(28.0, 9.0))
    text = said(found, 9000, Interval(-137.0, 22.0, 20))
    assert "in the fitted world sharing brings 28 ± 9 by then, -137 ± 22 in all" in text


def test_a_plan_has_it(tmp_path: Path) -> None:
    log = {"kind": "ReplayLog", "file": str(write_log(tmp_path)), "mode": "replay"}
    plan = incfed.plan(
        {"world": log, "costs": 1.0, "search": {"mechanisms": ["PaymentFree"]}},
        trials=1, held_out=2, jobs=1, output=tmp_path / "plan",
    )  # fmt: skip
    found = plan.cross_check
    assert found is not None
    assert "## Checked by replay" in str(plan)
    kept = json.loads((tmp_path / "plan" / "plan.json").read_text())["cross_check"]
    assert kept["length"] == found.length == 133
    assert kept["agree"] == found.agree
    assert kept["replay"]["gain"]["mean"] == found.replay.gain.mean
    assert kept["fitted"]["alone"]["low"] == found.fitted.alone.low
    assert kept["apart"]["high"] == found.apart.high
