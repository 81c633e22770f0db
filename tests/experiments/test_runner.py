"""Runs: the same numbers anywhere, kept when finished, redone when anything changed."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.experiments import Experiment, Outcome, plan, run, workers
from incfed.experiments.saved import collect
from incfed.support.inputs import InputError
from support.experiments import experiment, own


def carried_out(made: Experiment, jobs: int = 1, **more: Any) -> Outcome:
    return run(plan(made, jobs=jobs, **more))


def rests(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


def test_runs_are_the_simulator_s_and_on_disk(tmp_path: Path) -> None:
    made = experiment(tmp_path, seeds=[3, 1])
    seen: list[tuple[int, int]] = []
    outcome = run(plan(made, jobs=1), progress=lambda *step: seen.append(step))
    assert (outcome.total, outcome.kept, outcome.complete) == (4, 0, True)
    assert list(outcome.runs) == ["altruistic", "paid"]
    for label, results in outcome.runs.items():
        for seed, result in zip((3, 1), results, strict=True):
            alone = incfed.simulate(made.world, made.algorithms[label], steps=400, seed=seed)
            saved = incfed.load(tmp_path / "results/runs" / label / f"seed-{seed}")
            for other in (alone, saved):
                assert np.array_equal(result.regret, other.regret)
                assert np.array_equal(result.rounds.payments, other.rounds.payments)
    assert seen == sorted(seen)
    assert seen[-1] == (1600, 1600)
    assert not rests(tmp_path)


def test_one_process_or_two_and_a_failure_in_between(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    seen: list[int] = []
    one = carried_out(own(tmp_path / "one", at=2, trouble="raise"))
    made = own(tmp_path / "two", at=2, trouble="raise")
    two = run(plan(made, jobs=2), progress=lambda done, total: seen.append(done))
    for outcome in (one, two):
        assert list(outcome.runs) == ["altruistic", "paid"]
        assert [(job.label, job.seed) for job, _ in outcome.failures] == [("mine", 0), ("mine", 1)]
        assert {fault for _, fault in outcome.failures} == {"KeyError: 'lost it' (own.py, line 12)"}
    for label, results in one.runs.items():
        for mine, theirs in zip(results, two.runs[label], strict=True):
            assert mine.settings == theirs.settings
            for name in ("regret", "reward", "communication", "payment"):
                assert np.array_equal(getattr(mine, name), getattr(theirs, name))
            assert np.array_equal(mine.rounds.participants, theirs.rounds.participants)
            assert np.array_equal(mine.rounds.payments, theirs.rounds.payments)
    assert seen == sorted(seen)
    assert seen[-1] == 6 * 400  # steps that a failed run did not make do not hold the bar up
    assert not rests(tmp_path)


def test_a_process_that_dies_takes_only_its_run_along(tmp_path: Path) -> None:
    outcome = carried_out(own(tmp_path, trouble="die"), jobs=2)
    assert [(job.label, job.seed) for job, _ in outcome.failures] == [("mine", 0), ("mine", 1)]
    assert "ended with code -9" in outcome.failures[0][1]
    assert outcome.finished == 4


def test_leaving_is_no_way_out(tmp_path: Path) -> None:
    outcome = carried_out(own(tmp_path, trouble="exit"))
    assert [fault for _, fault in outcome.failures] == ["SystemExit: 3 (own.py, line 14)"] * 2


def test_finished_runs_are_kept_and_changed_ones_redone(tmp_path: Path) -> None:
    carried_out(experiment(tmp_path))
    again = plan(experiment(tmp_path), jobs=1)
    assert (len(again.done), again.todo) == (4, [])
    more = plan(experiment(tmp_path, seeds=3), jobs=1)
    assert [(job.label, job.seed) for job in more.todo] == [("altruistic", 2), ("paid", 2)]
    assert run(more).kept == 4
    assert len(plan(experiment(tmp_path, steps=300)).todo) == 4
    assert len(plan(experiment(tmp_path), fresh=True).todo) == 4


def test_an_edited_mechanism_is_run_again_and_the_others_are_not(tmp_path: Path) -> None:
    carried_out(own(tmp_path, at=1))
    todo = plan(own(tmp_path, at=2), jobs=1).todo
    assert [job.label for job in todo] == ["mine", "mine"]


def test_broken_runs_are_redone(tmp_path: Path) -> None:
    carried_out(experiment(tmp_path))
    seed = tmp_path / "results/runs/paid/seed-0"
    (seed / "steps.parquet").write_bytes(b"cut off")
    (tmp_path / "results/runs/altruistic/seed-1/result.json").unlink()
    outcome = carried_out(experiment(tmp_path))
    assert (outcome.kept, outcome.complete) == (2, True)
    assert incfed.load(seed).regret.size == 400


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    carried_out(experiment(tmp_path))
    seed = tmp_path / "results/runs/paid/seed-0"
    (seed / "notes.txt").write_text("mine")
    (seed / "result.json").unlink()
    with pytest.raises(InputError, match=r"seed-0 must be left to incfed.*notes\.txt"):
        plan(experiment(tmp_path))
    assert (seed / "notes.txt").exists()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "report.html").write_text("theirs")
    with pytest.raises(InputError, match=r"output: got .*report\.html from another source"):
        plan(experiment(tmp_path, output="theirs"))


@pytest.mark.parametrize("name", ["a_file", "a_file/below"])
def test_an_output_folder_that_cannot_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "a_file").write_text("")
    with pytest.raises(InputError, match=rf"output: got '.*{name}', must be a folder"):
        plan(experiment(tmp_path, output=name))


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, jobs: int) -> None:
    made = experiment(tmp_path, seeds=8, steps=20_000)

    def press(done: int, total: int) -> None:
        if done > 50_000:
            raise KeyboardInterrupt

    outcome = run(plan(made, jobs=jobs), progress=press)
    assert outcome.interrupted
    assert not outcome.failures
    assert 0 < outcome.finished < 16
    assert not rests(tmp_path)
    found = collect(made.output)
    assert (found.count, found.total) == (outcome.finished, 16)
    assert len(plan(made).done) == outcome.finished


def test_ctrl_c_does_not_wait_for_long_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "GRACE", 100.0)  # they stop by themselves, not by force
    pressed: list[float] = []

    def press(done: int, total: int) -> None:
        if done > 0:
            pressed.append(time.monotonic())
            raise KeyboardInterrupt

    made = experiment(tmp_path, seeds=1, steps=100_000_000)
    outcome = run(plan(made, jobs=2), progress=press)
    assert (outcome.interrupted, outcome.finished) == (True, 0)
    assert time.monotonic() - pressed[0] < 50.0


def test_a_file_that_goes_away_meanwhile(tmp_path: Path) -> None:
    made = own(tmp_path)
    todo = plan(made, jobs=2)
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    (tmp_path / "own.py").unlink()
    outcome = run(todo)
    assert outcome.finished == 0
    assert len(outcome.failures) == 6
    assert "own.py is not there" in outcome.failures[0][1]
