"""What the console says of saved results: listed, tagged, compared, and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import incfed
from incfed.console import runs
from incfed.experiments import Recipe, build, suite
from incfed.experiments.show import PLAN_VERSION
from incfed.results.collection import collect
from support.console import app_of, served
from support.logs import Sample

PAID = {
    "label": "paid", "kind": "IncFedUCB", "threshold": 1.0, "costs": 1.0,
    "mechanism": {"kind": "PaymentEfficient", "beta": 0.7},
}  # fmt: skip
WORLD = {"kind": "Synthetic", "clients": 4, "dim": 2, "arms": 3}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of two algorithms, a sweep over two parameters, and a single run."""
    folder = tmp_path_factory.mktemp("results")
    run: dict[str, Any] = {"run": {"steps": 60, "seeds": 2}, "world": WORLD}
    alone = {"label": "alone", "kind": "Independent"}
    there = {**run["run"], "output": str(folder / "compared")}
    suite.run(build(Recipe({**run, "run": there, "algorithm": [PAID, alone]})))
    axes = {"algorithm.costs": [1, 4], "algorithm.mechanism.beta": [0.5, 0.9]}
    incfed.sweep({**run, "algorithm": [PAID], "sweep": axes}, jobs=1, output=folder / "swept")
    world = incfed.Synthetic(clients=4, dim=2, arms=3)
    incfed.simulate(world, incfed.Independent(), steps=60, seed=1).save(folder / "single")
    return folder


@pytest.fixture(scope="module")
def asked(results: Path) -> Iterator[httpx.Client]:
    with served(app_of(folder=results, login=False)) as url:
        headers = {"Origin": url.removesuffix("/console")}
        with httpx.Client(base_url=f"{url}/api/", headers=headers, timeout=60.0) as client:
            yield client


def test_they_are_listed_by_kind_and_tagged(asked: httpx.Client) -> None:
    found = {one["id"]: one for one in asked.get("runs").json()}
    kinds = {name: one["kind"] for name, one in found.items()}
    assert kinds == {"compared": "experiment", "swept": "sweep", "single": "run"}
    tags = {"tags": ["paper", " paper ", "", "<b>"]}
    assert asked.put("runs/tags", params={"id": "single"}, json=tags).json() == ["<b>", "paper"]
    assert {one["id"]: one["tags"] for one in asked.get("runs").json()}["single"] == [
        "<b>",
        "paper",
    ]
    assert (
        asked.put("runs/tags", params={"id": "single"}, json={"tags": ["x" * 41]}).status_code
        == 422
    )
    assert asked.put("runs/tags", params={"id": "nowhere"}, json={"tags": []}).status_code == 404


def test_nothing_outside_of_the_folder_is_read(asked: httpx.Client) -> None:
    for outside in ("..", "../results", "/etc", "compared/../.."):
        assert asked.get("runs/view", params={"id": outside}).status_code in (404, 422)


def test_an_experiment_and_its_differences(asked: httpx.Client, results: Path) -> None:
    view = asked.get("runs/view", params={"id": "compared"}).json()
    runs = collect(results / "compared").runs
    paid, alone = view["rows"]
    assert (paid["label"], alone["label"], paid["seeds"]) == ("paid", "alone", 2)
    last = {label: [one.reward[-1] for one in each] for label, each in runs.items()}
    assert paid["mean"]["reward"] == pytest.approx(np.mean(last["paid"]))
    assert paid["difference"]["reward"] is None
    mean, low, high = alone["difference"]["reward"]
    assert mean == pytest.approx(np.mean(np.subtract(last["alone"], last["paid"])))
    assert low < mean < high
    for name in view["charts"]:
        figure = asked.get("runs/chart", params={"id": "compared", "name": name}).json()
        assert len(figure["data"]) >= 1, name


def test_runs_are_compared_and_read_as_csv(asked: httpx.Client) -> None:
    ids = {"id": ["compared", "single"]}
    view = asked.get("runs/view", params=ids).json()
    assert [row["label"] for row in view["rows"]] == ["compared: paid", "compared: alone", "single"]
    text = asked.get("runs/table.csv", params=ids)
    assert "attachment" in text.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert [row["label"] for row in rows] == [row["label"] for row in view["rows"]]
    assert float(rows[2]["reward"]) == view["rows"][2]["mean"]["reward"]
    mixed = asked.get("runs/view", params={"id": ["swept", "single"]})
    assert "only experiments and runs can be compared" in mixed.json()["message"]


def test_figures_of_a_log_say_that_they_are_per_matched_step(tmp_path: Path) -> None:
    sample = Sample.random(events=400, most=3)
    log = incfed.ReplayLog(sample.events, mode="replay", items=sample.table)
    compared = incfed.compare(log, {"alone": incfed.Independent()}, bootstrap=2)
    compared["alone"][0].save(tmp_path / "log")
    with served(app_of(folder=tmp_path, login=False)) as url:
        view = httpx.get(f"{url}/api/runs/view", params={"id": "log"}).json()
        text = httpx.get(f"{url}/api/runs/table.csv", params={"id": "log"}).text
    assert (view["per"], view["note"]) == (1000, "Final figures.")
    assert view["lines"] == "Over the matched steps. One run each."
    assert "tradeoff" not in view["charts"]  # its regret is unknown
    assert {"reward_per_1000_matched", "reward_per_1000_matched_sd"} <= set(
        text.splitlines()[0].split(",")
    )
    scale = runs._scale(compared.rows)
    assert scale["bootstrap"]
    assert "95 % interval from 2 bootstrapped logs" in scale["note"]


def test_a_plan_shows_what_money_buys(tmp_path: Path) -> None:
    """Of a log, that is reward, also if the aim is to pay little."""
    nobody = dict.fromkeys(("mean", "low", "high"))
    known = {"mean": 1.0, "low": 0.5, "high": 1.5}
    point = {"regret": nobody, "reward": known, "payment": known, "communication": known}
    plan = {
        "format": PLAN_VERSION, "incfed": "0.3.0", "tried": [],
        "advice": "", "aim": "payment", "bought": "reward", "figures": point, "references": {},
        "frontier": [{**point, "improves": True}], "held_out_seeds": [1],
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert runs._plan_chart(tmp_path, "frontier")["data"][0]["y"] == [1.0]


def test_a_sweep_has_points_and_heat_maps(asked: httpx.Client) -> None:
    view = asked.get("runs/view", params={"id": "swept"}).json()
    assert len(view["rows"]) == 4
    assert view["words"][0].startswith("4 points over ")
    assert {"regret", "payment", "tradeoff"} <= set(view["charts"])
    figure = asked.get("runs/chart", params={"id": "swept", "name": "payment"}).json()
    assert len(figure["data"]) >= 1
    assert asked.get("runs/chart", params={"id": "swept", "name": "moon"}).status_code == 422
