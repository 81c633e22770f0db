"""Plans for logs that skip steps, for MovieLens, and on a cluster."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.experiments import read
from incfed.planning.case import JUDGE, SEARCH, read_case
from incfed.planning.report import as_data
from support.dask_cluster import cluster
from support.logs import Sample as Log
from support.movielens import Sample
from support.planning import CASE, SMALL


def test_a_log_that_skips_steps(tmp_path: Path) -> None:
    Log.random(events=300, most=4).open("csv ids", tmp_path)
    world = {"kind": "ReplayLog", "file": "log.csv", "items": "items.csv", "mode": "replay"}
    (tmp_path / "case.toml").write_text(
        "costs = 1.0\n[world]\n" + "".join(f'{key} = "{value}"\n' for key, value in world.items())
    )
    plan = incfed.plan(tmp_path / "case.toml", budget=30, output=tmp_path / "out", **SMALL)
    assert plan.goal.aim == "reward"  # regret is not known
    rest = incfed.ReplayLog(tmp_path / "log.csv", mode="replay", items=tmp_path / "items.csv")
    drawn = math.ceil(150 / rest.match_rate)  # worth 150 live steps
    scene = rest.part(0.5, 1.0).bootstrap(drawn)
    runs = [incfed.simulate(scene, plan.algorithm(), seed=seed) for seed in plan.held_out]
    for run in runs:
        assert run.matched[-1] == pytest.approx(150, rel=0.35)
    for metric in ("reward", "payment", "communication"):  # all on the horizon of the plan
        each = [150 * getattr(run, metric)[-1] / run.matched[-1] for run in runs]
        assert plan.figures[metric].mean == pytest.approx(math.fsum(each) / len(each))
    [kept] = plan.limits
    assert kept.kept == (plan.payment.mean <= 30)
    assert "matched what the log showed; reward, payments and traffic are all for 150 steps" in (
        " ".join(str(plan).split())
    )
    assert f"means over {len(plan.held_out)} bootstrapped logs" in str(plan)
    matching = round(150 * rest.match_rate)  # of the half to judge by
    assert f"rest on about {matching} events of this part that match" in " ".join(str(plan).split())
    assert "whose events are drawn from it with replacement" in " ".join(str(plan).split())
    again = (tmp_path / "case.toml").read_text() + '[run]\nresample = "clients"\n'
    (tmp_path / "again.toml").write_text(again)
    case = read_case(tmp_path / "again.toml")
    assert case.scene(JUDGE) == {**plan.case.scene(JUDGE), "resample": "clients"}
    assert case.identity() != plan.case.identity()
    assert read(tmp_path / "out/run.toml").world.length == drawn  # the paths still lead there


def test_movielens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Sample(users=4, movies=2500).write(tmp_path / "ml")
    tables: dict[str, Any] = {
        "run": {"steps": 100},
        "world": {"kind": "MovieLens", "folder": str(tmp_path / "ml"), "min_events": 200, "dim": 4},
        "costs": 1.0,
        "algorithm": {"exploration": 0.3, "ridge": 0.2},
    }
    plan = incfed.plan(tables, maximize="reward", budget="50%", **SMALL)
    assert plan.setting.ridge == 0.2
    [kept] = plan.limits
    everyone = plan.judgement.references[0]
    assert kept.limit.value == pytest.approx(0.5 * everyone["payment"].mean)
    assert "the first 50% of the log" not in str(plan)
    assert "one half of each user's events" in str(plan)
    # Of a part of it, each of the two parts has as many steps as the plan is for.
    del tables["run"]
    for part in ([0.0, 0.5], [0.3, 0.45], [0.1, 1.0]):
        world: dict[str, Any] = {**tables["world"], "part": part}
        case = read_case({**tables, "world": world})
        whole = incfed.MovieLens(tmp_path / "ml", min_events=200, dim=4)
        lengths = [whole.part(*case.scene(use)["part"]).length for use in (SEARCH, JUDGE)]
        assert case.steps == min(lengths)


def test_the_same_plan_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="distributed (incfed[dask]) is not installed")
    ask = {"minimize": "payment", "max_regret": 4, "trials": 16, "held_out": 3}
    here = incfed.plan(CASE, jobs=1, **ask)  # type: ignore[arg-type]
    with cluster(tmp_path, 1) as made:
        there = incfed.plan(CASE, dask=made.address, **ask)  # type: ignore[arg-type]
    assert as_data(there) == as_data(here)
