"""Plans for logs, for MovieLens, and on a cluster."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.experiments import read
from incfed.planning.case import JUDGE, SEARCH, read_case
from incfed.planning.report import as_data
from incfed.results.intervals import Interval
from support.dask_cluster import cluster
from support.movielens import Sample
from support.planning import CASE, SMALL, write_log


def test_a_log_is_planned_in_the_world_fitted_to_it(tmp_path: Path) -> None:
    world = write_log(tmp_path)
    tables = {"world": world, "costs": 1.0, "leave": ["shop 1"]}
    plan = incfed.plan(tables, budget=30, output=tmp_path / "out", **SMALL)
    assert plan.goal.aim == plan.goal.performance == "reward"
    assert plan.case.steps == 300  # half as many as the log has events
    log = incfed.ReplayLog(world["file"], mode="replay")
    fitted = incfed.FittedWorld(log, length=300, runs=4)
    runs = [incfed.simulate(fitted, plan.algorithm(), seed=seed) for seed in plan.held_out]
    rewards = [run.reward[-1] for run in runs]
    assert plan.reward.mean == pytest.approx(math.fsum(rewards) / len(rewards))
    assert plan.reward.half == pytest.approx(Interval.of_worlds(rewards, 4).half)
    assert len(rewards) == 4 * SMALL["held_out"]  # worlds, each run four times
    assert plan.verdict in ("Share", "Do not share", "This log cannot tell")
    assert json.loads((tmp_path / "out/plan.json").read_text())["verdict"] == plan.verdict
    assert "a model that is fitted to the 600 events of the log" in " ".join(str(plan).split())
    # Shops have their names.
    assert sorted(shop.name for shop in plan.shops) == [f"shop {n}" for n in range(4)]
    assert math.fsum(shop.gain.mean for shop in plan.shops) == pytest.approx(plan.gain.mean)
    assert plan.leaving is not None
    assert plan.leaving.names == ("shop 1",)
    others = [shop.gain.mean for shop in plan.shops if shop.name != "shop 1"]
    assert plan.leaving.gain_with_all.mean == pytest.approx(math.fsum(others))
    # run.toml gives the same figures
    experiment = read(tmp_path / "out/run.toml")
    assert isinstance(experiment.world, incfed.FittedWorld)
    assert experiment.world.settings() == fitted.settings()
    first = next(iter(experiment.algorithms.values()))
    again = incfed.simulate(experiment.world, first, seed=plan.held_out[0])
    assert again.reward[-1] == rewards[0]


def test_a_plan_of_a_log_may_be_longer_than_the_log(tmp_path: Path) -> None:
    tables: dict[str, Any] = {"world": write_log(tmp_path), "costs": 1.0, "run": {"steps": 900}}
    case = read_case(tables)
    assert (case.steps, case.world.length) == (900, 900)
    assert case.scene(SEARCH) == case.scene(JUDGE)


@pytest.mark.parametrize(("clients", "names"), [(2, []), (5, ["shop 2", "shop 3", "client 4"])])
def test_clients_of_a_log_that_differ_by_seed_have_no_names(
    tmp_path: Path, clients: int, names: list[str]
) -> None:
    world = {"kind": "FittedWorld", "log": write_log(tmp_path), "clients": clients, "runs": 4}
    case = read_case({"world": world, "costs": 1.0, "run": {"steps": 100}})
    assert case.client_names[2:] == names


def test_regret_of_a_log_is_the_models(tmp_path: Path) -> None:
    plan = incfed.plan({"world": write_log(tmp_path), "costs": 1.0}, minimize="regret", **SMALL)
    assert plan.goal.performance == "regret"
    assert plan.regret.mean > 0


@pytest.mark.parametrize("events", [600, 4])
def test_a_log_that_predicts_nothing_is_refused(tmp_path: Path, events: int) -> None:
    tables = {"world": write_log(tmp_path, scale=0.0, events=events), "costs": 1.0}
    with pytest.raises(incfed.InputError, match="this log cannot tell whether sharing pays: a mod"):
        incfed.plan(tables, output=tmp_path / "out", **SMALL)
    assert not (tmp_path / "out").exists()


def test_settings_that_a_fitted_world_has_no_use_for_are_refused(tmp_path: Path) -> None:
    tables: dict[str, Any] = {"world": write_log(tmp_path), "costs": 1.0}
    with pytest.raises(incfed.InputError, match=r"search\.first: .*fitted to the whole log"):
        read_case({**tables, "search": {"first": 0.25}})
    with pytest.raises(incfed.InputError, match=r"run\.resample: .*no such setting"):
        read_case({**tables, "run": {"resample": "clients"}})
    with pytest.raises(incfed.InputError, match=r"world: got 'ReplayLog', must be .* all of it"):
        read_case({**tables, "world": {**tables["world"], "part": [0.0, 0.5]}})


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
