"""`incfed sweep` as people meet it: real processes, their output and their exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import polars
import pytest

from incfed.experiments.checkpoint import NAME, read_cells
from support.cli import INCFED, alive, incfed, invoke
from support.experiments import OWN, TOML
from support.sweeps import SWEEP


def test_a_sweep_from_start_to_finish(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SWEEP)
    done = incfed(tmp_path, "sweep", "a.toml", "--seeds", "3", "--output", "there", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert "18 runs: 6 points, 3 seeds; 2 processes" in done.stderr
    assert "there/report.html" in done.stderr
    there = tmp_path / "there"
    assert {path.name for path in there.iterdir()} == {
        "cells.jsonl", "cells.parquet", "curves.parquet", "plots", "report.html",
        "summary.json", "summary.md",
    }  # fmt: skip
    rows = re.findall(r"^\| (\w+ \| \S+ \| \S*) +\| 3 \|", done.stdout, re.MULTILINE)
    assert rows[:2] == ["altruistic | 0.1 | ", "altruistic | 0.3 | "]
    assert rows[2:] == [f"paid | {noise} | {costs}" for noise in (0.1, 0.3) for costs in (1, 10)]
    table = done.stdout[done.stdout.index("| Algorithm") :]
    assert table.strip() in (there / "summary.md").read_text()
    assert len(polars.read_parquet(there / "cells.parquet")) == 18
    assert len(json.loads((there / "summary.json").read_text())) == 6

    again = invoke(tmp_path, "sweep", "a.toml", "--seeds", "3", "--output", "there")
    assert "18 of 18 runs already there" in again.stderr
    assert again.stdout == done.stdout
    ask = ("sweep", "a.toml", "--seeds", "1", "--output", "there", "--jobs", "1")
    anew = invoke(tmp_path, *ask, "--fresh")
    assert (anew.returncode, len(read_cells(there / NAME))) == (0, 6)
    shown = invoke(tmp_path, "show", "there").stdout
    assert "| altruistic | 0.1 |  | 1 |" in shown


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("[1, 10]", "[1, -10]", "a.toml: paid, noise 0.1, costs -10: algorithm['paid'].costs: got"),
        ("algorithm.costs", "algorithm.coast", "a.toml: sweep.algorithm.coast: no algorithm takes"),
        ("[0.1, 0.3]", "[]", "a.toml: sweep.world.noise: got [], must be a list"),
        ("[sweep]", "[swep]", "a.toml: swep: got a table, but there is no such setting (did you"),
    ],
)
def test_mistakes_end_with_2_and_a_line(tmp_path: Path, old: str, new: str, place: str) -> None:
    (tmp_path / "a.toml").write_text(SWEEP.replace(old, new, 1))
    done = invoke(tmp_path, "sweep", "a.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert place in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml"]


def test_each_command_knows_the_other_s_config(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SWEEP)
    (tmp_path / "b.toml").write_text(TOML)
    assert (
        "is a config for another command: incfed sweep a.toml"
        in invoke(tmp_path, "run", "a.toml").stderr
    )
    said = invoke(tmp_path, "sweep", "b.toml").stderr
    assert "sweep: is missing, must be given" in said
    assert "without it: incfed run" in said


def test_a_run_and_a_sweep_of_the_same_settings_give_the_same_numbers(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(TOML)
    (tmp_path / "sweep.toml").write_text(f'{TOML}[sweep]\n"world.noise" = [0.1]\n')  # its default
    assert incfed(tmp_path, "run", "run.toml", "--output", "one").returncode == 0
    assert incfed(tmp_path, "sweep", "sweep.toml", "--output", "two").returncode == 0
    run = json.loads((tmp_path / "one/summary.json").read_text())["Comparison"]
    swept = polars.read_parquet(tmp_path / "two/cells.parquet")
    for label, runs in run.items():
        rows = swept.filter(polars.col("algorithm") == label).sort("seed")
        for name in ("seed", "regret", "reward", "communication", "payment", "rounds", "paid"):
            assert rows[name].to_list() == [one[name] for one in runs], (label, name)


def test_resume_goes_on_and_never_starts(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SWEEP)
    nothing = incfed(tmp_path, "sweep", "a.toml", "--resume")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "results has no runs to continue (cells.jsonl is missing)" in nothing.stderr
    assert not (tmp_path / "results").exists()
    assert incfed(tmp_path, "sweep", "a.toml", "--seeds", "1", "--jobs", "1").returncode == 0
    on = incfed(tmp_path, "sweep", "a.toml", "--resume", "--jobs", "1")
    assert "6 of 12 runs already there" in on.stderr


def test_failures_are_told_together(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    mine = '"own.py:Mine", at = 1, trouble = "raise"'
    (tmp_path / "a.toml").write_text(SWEEP.replace('"PaymentEfficient", beta = 0.7', mine))
    done = incfed(tmp_path, "sweep", "a.toml", "--jobs", "1")
    assert done.returncode == 1
    assert (
        "error: paid, noise 0.1, costs 1, seed 0 and 7 more: KeyError: 'lost it' (own.py, line 12)"
        in done.stderr
    )
    assert "8 of 12 runs failed; the others are kept" in done.stderr
    assert "| altruistic | 0.1 |" in done.stdout
    assert (
        "Not included: 8 of 12 runs, which failed."
        in (tmp_path / "results/report.html").read_text()
    )


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals are sent to a process group")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path, sent: signal.Signals) -> None:
    (tmp_path / "a.toml").write_text(SWEEP.replace("steps = 400", "steps = 30_000"))
    command = [*INCFED, "sweep", "a.toml", "--seeds", "100", "--jobs", "2"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    file, limit = tmp_path / "results" / NAME, time.monotonic() + 600
    while not file.exists() or file.read_bytes().count(b"\n") < 5:
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)
    os.killpg(process.pid, sent) if sent == signal.SIGINT else process.kill()
    assert process.wait(timeout=60) == (130 if sent == signal.SIGINT else -signal.SIGKILL)
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read() if sent == signal.SIGINT else ""
    assert "Traceback" not in said
    for _ in range(300):  # workers see within moments that their parent is gone
        if not alive(process.pid):
            break
        time.sleep(0.1)
    assert not alive(process.pid)
    kept = len(read_cells(file))
    assert 4 <= kept < 600
    if sent == signal.SIGINT:
        assert f"stopped: {kept} of 600 runs finished and kept in {file.parent};" in said
        assert "continue with: incfed sweep a.toml --seeds 100 --jobs 2" in said
    on = invoke(tmp_path, "sweep", "a.toml", "--seeds", "2", "--jobs", "1")
    assert on.returncode == 0, on.stderr
    assert re.search(r"\d+ of 12 runs already there", on.stderr)
    assert "| paid | 0.1 | 1 | 2 |" in on.stdout


def test_help_says_how_to_write_one(tmp_path: Path) -> None:
    said = invoke(tmp_path, "sweep", "--help").stdout
    for word in ("[sweep] table", '"algorithm[paid].mechanism.beta"', "--dask", "--fresh"):
        assert word in said
