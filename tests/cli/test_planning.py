"""`incfed plan` and `incfed estimate` as people meet them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from incfed.algorithms import thresholds
from incfed.support.extras import install
from support.cli import INCFED, incfed, invoke
from support.planning import TOML, finished_trials, write_trace

SMALL = ("--trials", "16", "--held-out", "3", "--jobs", "1")


def test_a_plan_from_the_template_to_its_run(tmp_path: Path) -> None:
    assert "incfed plan case.toml" in invoke(tmp_path, "init", "--plan", "case.toml").stdout
    (tmp_path / "case.toml").write_text(TOML)
    done = incfed(tmp_path, "plan", "case.toml", "--budget", "60", "--minimize", "regret", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "5 clients, 3 features, 120 steps; sharing costs 2 for each client" in done.stderr
    first = done.stdout.splitlines()[0]
    assert first.strip("*") in ("Share", "Do not share", "These runs cannot tell")
    assert "over 120 steps" in done.stdout
    assert "at most 60 paid" in done.stdout
    assert "What money buys: regret" in done.stdout
    assert "plan/plan.html" in done.stderr
    saved = json.loads((tmp_path / "plan/plan.json").read_text())
    assert saved["verdict"] == first.strip("*")
    assert any(file.name.startswith("study-") for file in (tmp_path / "plan").iterdir())
    assert invoke(tmp_path, "show", "plan").stdout.splitlines()[0] == saved["advice"]
    assert "\nplan,plan," in invoke(tmp_path, "show").stdout
    assert "plan: holds a plan, which cannot be" in invoke(tmp_path, "show", "plan", ".").stderr
    (tmp_path / "plan/plan.json").rename(tmp_path / "kept.json")  # as before it is finished
    assert "A plan that is not finished: " in invoke(tmp_path, "show", "plan").stdout
    (tmp_path / "kept.json").rename(tmp_path / "plan/plan.json")
    ran = invoke(tmp_path, "run", "plan/run.toml", "--seeds", "2", "--jobs", "1")
    assert ran.returncode == 0, ran.stderr
    assert "D_c" in ran.stdout


def test_the_template_is_a_case(tmp_path: Path) -> None:
    from incfed.planning.case import read_case

    invoke(tmp_path, "init", "--plan")
    case = read_case(tmp_path / "world.toml")
    assert case.costs.drawn
    assert case.world.count == 20


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ("", ["--budget", "much"], "--budget: got 'much', must be a number of at least 0"),
        ("", ["--minimize", "reward"], "--minimize: got 'reward', must be one of 'regret'"),
        ("", ["--minimize", "regret", "--maximize", "reward"], "got both"),
        ("", ["--dask", "tcp://x:1", "--jobs", "2"], "--jobs: is for processes on this machine"),
        ("s/costs = 2.0/costs = -2/", [], "case.toml: costs: got -2, must be a number"),
        ("s/costs = 2.0//", [], "case.toml: costs: is missing"),
        ("s/clients = 5/clints = 5/", [], "world.clints: got 5, but there is no such setting"),
        ("s/steps = 120/steps = 0/", [], "run.steps: got 0"),
        ("s/steps = 120//", [], "run.steps: is missing"),
        ("s/[search]/[algorithm]\nnoise = -1\n[search]/", [], "algorithm.noise: got -1"),
        ("s/[search]/[algorithm]\nbeta = 1\n[search]/", [], "algorithm.beta: got 1, but there"),
        ("s/[search]/[search]\nfirst = 0.5/", [], "search.first: got 0.5, must be left out"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    change: str, options: list[str], said: str, tmp_path: Path
) -> None:
    _, old, new, _ = change.split("/") if change else ("", "", "", "")
    assert old in TOML
    (tmp_path / "case.toml").write_text(TOML.replace(old, new) if old else TOML)
    done = invoke(tmp_path, "plan", "case.toml", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["case.toml"]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = invoke(tmp_path, "plan", "none.toml")
    assert done.returncode == 2
    assert "incfed init --plan none.toml" in done.stderr


def test_a_log_that_is_too_short(tmp_path: Path) -> None:
    write_trace(tmp_path / "log.npz", 1)
    (tmp_path / "log.toml").write_text('costs = 1\n[world]\nkind = "Trace"\nfile = "log.npz"\n')
    done = invoke(tmp_path, "plan", "log.toml")
    assert done.returncode == 2
    assert "this log cannot tell whether sharing pays: a model of its 1 event" in done.stderr


def test_without_optuna_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "case.toml").write_text(TOML)
    (tmp_path / "optuna.py").write_text("raise ModuleNotFoundError(\"No module named 'optuna'\")")
    done = subprocess.run(
        [*INCFED, "plan", "case.toml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "needs the package optuna" in done.stderr
    assert install("plan") in done.stderr
    assert not (tmp_path / "plan").exists()


ASK = ("plan", "case.toml", "--budget", "60", "--trials", "48", "--held-out", "3")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "case.toml").write_text(TOML)
    assert invoke(folder, *ASK, "--jobs", "1").returncode == 0
    return (folder / "plan/plan.json").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["killed", "stopped"])
def test_a_search_that_was_stopped_comes_to_the_same_plan(
    how: signal.Signals, uninterrupted: str, tmp_path: Path
) -> None:
    (tmp_path / "case.toml").write_text(TOML)
    begun = subprocess.Popen(
        [*INCFED, *ASK, "--jobs", "2"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    there = tmp_path / "plan"
    deadline = time.monotonic() + 600
    while _told(there) < 24 and begun.poll() is None:  # in the middle of telling the second batch
        assert time.monotonic() < deadline
        time.sleep(0.001)
    begun.send_signal(how)
    _, said = begun.communicate(timeout=60)
    if how == signal.SIGINT:
        assert begun.returncode == 130
        assert "continue with: incfed plan case.toml" in said
    else:
        assert begun.returncode == -signal.SIGKILL
    finished = (there / "cells.jsonl").read_bytes().count(b"\n")
    assert not (there / "plan.html").exists()
    first = finished_trials(there)[:16]
    assert invoke(tmp_path, *ASK, "--jobs", "1").returncode == 0
    assert (there / "plan.json").read_text() == uninterrupted
    assert (there / "cells.jsonl").read_bytes().count(b"\n") > finished
    after = finished_trials(there)
    assert (len(first), len(after)) == (16, 48)
    assert after[:16] == first  # told then, and not again


def _told(folder: Path) -> int:
    """How many settings are finished, by the journal's lines."""
    lines = [line for file in folder.glob("study-*.log") for line in file.read_bytes().splitlines()]
    return sum(b'"op_code":6' in line and b'"state":1' in line for line in lines)


def test_an_estimate(tmp_path: Path) -> None:
    done = incfed(tmp_path, "estimate", "--clients", "5", "--steps", "200", "--dim", "3")
    assert done.returncode == 0
    rows = {line.split()[0]: line for line in done.stdout.splitlines()[1:5]}
    assert set(rows) == {"rounds", "communication", "payment", "regret"}
    assert "no forecast" in done.stdout
    small = ("estimate", "--clients", "5", "--steps", "200", "--dim", "3", "--threshold")
    named = invoke(tmp_path, *small, "high")
    value = str(thresholds.high(steps=200, clients=5, dim=3))
    assert named.stdout == invoke(tmp_path, *small, value).stdout != done.stdout
    assert "threshold: got 'hihg' (did you mean 'high'?)" in invoke(tmp_path, *small, "hihg").stderr
    bad = invoke(tmp_path, "estimate", "--beta", "2")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "beta: got 2.0, must be a number from 0 to 1" in bad.stderr
