"""Runs: the same numbers anywhere, kept when finished, redone when anything changed."""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.errors import InputError
from incfed.experiments import Experiment, Outcome, Recipe, build, executors, run, run_folders
from incfed.experiments.engine import Local
from incfed.experiments.run_folders import RunFolders, last_earlier
from incfed.results import Result
from incfed.results.collection import collect
from incfed.support.terminal import short
from support.experiments import experiment, own, tables
from support.past import copied, refused, sentence


def carried_out(made: Experiment, jobs: int = 1, **more: Any) -> Outcome:
    return run(made, executor=Local(jobs), **more)


def rests(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


def failed(outcome: Outcome) -> list[tuple[str, int]]:
    return [(cell.point["algorithm"], cell.seed) for cell, _ in outcome.failures]


def same(one: Result, two: Result) -> bool:
    """In all but the fingerprint and label that a saved one bears."""
    plain = replace(one, settings={}), replace(two, settings={})
    return bool(plain[0] == plain[1])


def test_runs_are_the_simulator_s_and_on_disk(tmp_path: Path) -> None:
    made = experiment(tmp_path, seeds=[3, 1])
    seen: list[tuple[int, int]] = []
    outcome = carried_out(made, progress=lambda *step: seen.append(step))
    assert (outcome.total, outcome.kept, outcome.complete) == (4, 0, True)
    assert list(outcome.runs) == ["altruistic", "paid"]
    for label, results in outcome.runs.items():
        for seed, result in zip((3, 1), results, strict=True):
            alone = incfed.simulate(made.world, made.algorithms[label], steps=400, seed=seed)
            saved = incfed.load(tmp_path / "results/runs" / label / f"seed-{seed}")
            assert same(result, alone)
            assert same(result, saved)
    assert seen == sorted(seen)
    assert seen[-1] == (1600, 1600)
    assert not rests(tmp_path)


def test_its_comparison_is_that_of_python(tmp_path: Path) -> None:
    made = experiment(tmp_path, seeds=[0, 1])
    carried_out(made)
    found = incfed.Comparison.load(tmp_path / "results")
    expected = incfed.compare(made.world, made.algorithms, steps=400, seeds=2)
    assert found.rows == expected.rows
    assert list(found) == list(expected)
    assert all(
        same(*pair) for name in found for pair in zip(found[name], expected[name], strict=True)
    )
    with pytest.raises(InputError, match="holds no output of `incfed run`"):
        incfed.Comparison.load(tmp_path)
    with pytest.raises(InputError, match="folder not found: nowhere"):
        incfed.Comparison.load("nowhere")


def test_one_process_or_two_and_a_failure_in_between(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    seen: list[int] = []
    one = carried_out(own(tmp_path / "one", at=2, trouble="raise"))
    made = own(tmp_path / "two", at=2, trouble="raise")
    two = carried_out(made, jobs=2, progress=lambda done, total: seen.append(done))
    for outcome in (one, two):
        assert list(outcome.runs) == ["altruistic", "paid"]
        assert failed(outcome) == [("mine", 0), ("mine", 1)]
        assert {why for _, why in outcome.failures} == {"KeyError: 'lost it' (own.py, line 12)"}
    assert one.runs == two.runs
    for folder in ("one", "two"):
        assert all(
            same(result, incfed.load(tmp_path / folder / f"results/runs/{label}/seed-{seed}"))
            for label, results in one.runs.items()
            for seed, result in enumerate(results)
        )
    assert seen == sorted(seen)
    assert seen[-1] == 6 * 400  # steps that a failed run did not make do not hold the bar up
    assert not rests(tmp_path)


def test_a_process_that_dies_takes_only_its_run_along(tmp_path: Path) -> None:
    outcome = carried_out(own(tmp_path, trouble="die"), jobs=2)
    assert failed(outcome) == [("mine", 0), ("mine", 1)]
    assert "ended with code -9" in outcome.failures[0][1]
    assert len(outcome.records) == 4


def test_leaving_is_no_way_out(tmp_path: Path) -> None:
    outcome = carried_out(own(tmp_path, trouble="exit"))
    assert [why for _, why in outcome.failures] == ["SystemExit: 3 (own.py, line 14)"] * 2


def test_finished_runs_are_kept_and_changed_ones_redone(tmp_path: Path) -> None:
    first = carried_out(experiment(tmp_path))
    again = carried_out(experiment(tmp_path))
    assert (again.kept, again.complete) == (4, True)
    assert all(
        same(*both)
        for label in first.runs
        for both in zip(first.runs[label], again.runs[label], strict=True)
    )
    more = carried_out(experiment(tmp_path, seeds=3))
    assert (more.kept, more.total, more.complete) == (4, 6, True)
    assert carried_out(experiment(tmp_path, seeds=3), fresh=True).kept == 0
    assert carried_out(experiment(tmp_path, seeds=3)).kept == 6
    assert carried_out(experiment(tmp_path, steps=300)).kept == 0
    assert not rests(tmp_path)


def test_what_a_changed_config_replaces_is_kept(tmp_path: Path) -> None:
    first = carried_out(experiment(tmp_path))
    made = experiment(tmp_path, steps=300)
    carried_out(made)
    before = tmp_path / "results/earlier/1"
    assert last_earlier(made.output) == before
    kept = collect(before).runs
    assert {label: len(results) for label, results in kept.items()} == {"altruistic": 2, "paid": 2}
    for label, results in kept.items():
        assert all(same(*both) for both in zip(results, first.runs[label], strict=True))
    assert collect(made.output).runs["paid"][0].regret.size == 300
    carried_out(made)  # nothing changed
    carried_out(experiment(tmp_path, steps=300, seeds=3))  # nor is anything replaced
    assert last_earlier(made.output) == before
    carried_out(experiment(tmp_path, steps=300, seeds=3), fresh=True)  # the same numbers again
    assert last_earlier(made.output) == before
    carried_out(experiment(tmp_path), fresh=True)  # another config, also if all is run again
    assert last_earlier(made.output) == tmp_path / "results/earlier/2"
    assert collect(tmp_path / "results/earlier/2").runs["paid"][0].regret.size == 300
    assert collect(before).count == 4


def test_what_a_config_with_other_labels_no_longer_lists_is_kept(tmp_path: Path) -> None:
    carried_out(experiment(tmp_path))
    given = tables()
    for algorithm in given["algorithm"]:
        algorithm["label"] += " again"
    made = build(Recipe(given, tmp_path))
    assert made.found().endswith("will be kept in " + short(tmp_path / "results/earlier/1"))
    carried_out(made)
    assert list(collect(tmp_path / "results/earlier/1").runs) == ["altruistic", "paid"]
    assert list(collect(made.output).runs) == ["altruistic again", "paid again"]
    assert made.found() == "4 of 4 runs already there"
    assert made.found(fresh=True) == "4 of 4 runs already there, to be run again"


def test_a_fresh_start_needs_no_list_of_earlier_runs(tmp_path: Path) -> None:
    """One that is damaged, say."""
    carried_out(experiment(tmp_path))
    index = tmp_path / "results/experiment.json"
    index.write_text(index.read_text().replace('"runs"', '"walks"'))
    with pytest.raises(InputError, match=r"KeyError: 'runs'.*Run into another folder"):
        carried_out(experiment(tmp_path))
    assert carried_out(experiment(tmp_path), fresh=True).kept == 0
    assert collect(tmp_path / "results").count == 4


def test_a_keeping_that_was_interrupted_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out(experiment(tmp_path))

    def stop(*unused: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_folders, "_link_file", stop)
        with pytest.raises(KeyboardInterrupt):
            carried_out(experiment(tmp_path, steps=300))
    assert last_earlier(tmp_path / "results") is None
    assert collect(tmp_path / "results").count == 4  # nothing was touched
    carried_out(experiment(tmp_path, steps=300))
    assert collect(tmp_path / "results/earlier/1").count == 4


def test_an_edited_mechanism_is_run_again_and_the_others_are_not(tmp_path: Path) -> None:
    carried_out(own(tmp_path, at=1))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("result.json")}
    assert carried_out(own(tmp_path, at=2)).kept == 4
    redone = {path for path, made in before.items() if path.stat().st_mtime_ns != made}
    assert {path.parent.parent.name for path in redone} == {"mine"}


def test_broken_runs_are_redone(tmp_path: Path) -> None:
    carried_out(experiment(tmp_path))
    seed = tmp_path / "results/runs/paid/seed-0"
    (seed / "steps.parquet").write_bytes(b"cut off")
    (tmp_path / "results/runs/altruistic/seed-1/result.json").unlink()
    outcome = carried_out(experiment(tmp_path))
    assert (outcome.kept, outcome.complete) == (2, True)
    assert incfed.load(seed).regret.size == 400


def test_two_labels_of_one_algorithm_are_run_once_and_saved_twice(tmp_path: Path) -> None:
    given = tables(seeds=1)
    given["algorithm"].append(given["algorithm"][1] | {"label": "again"})
    made = build(Recipe(given, tmp_path))
    steps: list[int] = []
    outcome = carried_out(made, progress=lambda done, total: steps.append(total))
    assert (list(outcome.runs), steps[-1]) == (["altruistic", "paid", "again"], 800)
    folders = [tmp_path / f"results/runs/{label}/seed-0" for label in ("paid", "again")]
    assert same(*map(incfed.load, folders))
    shutil.rmtree(folders[0])
    assert carried_out(made).kept == 3
    assert same(*map(incfed.load, folders))
    assert collect(made.output).count == 3


def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    carried_out(experiment(tmp_path))
    seed = tmp_path / "results/runs/paid/seed-0"
    (seed / "notes.txt").write_text("mine")
    (seed / "result.json").unlink()
    with pytest.raises(InputError, match=r"seed-0 must hold nothing but a run.*notes\.txt"):
        carried_out(experiment(tmp_path), fresh=True)
    assert (seed / "notes.txt").exists()
    assert (tmp_path / "results/runs/altruistic/seed-0/result.json").exists()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "report.html").write_text("theirs")
    with pytest.raises(InputError, match=r"output: got .*report\.html from another source"):
        carried_out(experiment(tmp_path, output="theirs"))


@pytest.mark.parametrize("name", ["a_file", "a_file/below"])
def test_an_output_folder_that_cannot_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "a_file").write_text("")
    with pytest.raises(InputError, match=rf"output: got '.*{name}', must be a folder"):
        carried_out(experiment(tmp_path, output=name))


def test_resume_refuses_a_folder_with_nothing_to_continue(tmp_path: Path) -> None:
    made = experiment(tmp_path)
    with pytest.raises(InputError, match=r"--resume: .*results has no runs to continue"):
        carried_out(made, resume=True)
    assert not made.output.exists()
    carried_out(experiment(tmp_path, seeds=1))
    assert carried_out(made, resume=True).kept == 2
    with pytest.raises(InputError, match="--resume and --fresh: got both"):
        carried_out(made, resume=True, fresh=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, jobs: int) -> None:
    made = experiment(tmp_path, seeds=8, steps=20_000)

    def press(done: int, total: int) -> None:
        if done > 50_000:
            raise KeyboardInterrupt

    outcome = carried_out(made, jobs, progress=press)
    finished = len(outcome.records)
    assert outcome.interrupted
    assert not outcome.failures
    assert 0 < finished < 16
    assert not rests(tmp_path)
    found = collect(made.output)
    assert (found.count, found.total) == (finished, 16)
    on = carried_out(made, jobs)
    assert (on.kept, on.complete) == (finished, True)


@pytest.mark.parametrize(
    ("place", "kept"), [("before", 1), ("aside", 1), ("placed", 2), ("after", 2)]
)
def test_ctrl_c_at_any_moment_counts_what_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, kept: int
) -> None:
    """It strikes while the second run, which replaces an older one, is being saved."""
    carried_out(experiment(tmp_path, seeds=1, steps=300))
    old = incfed.load(tmp_path / "results/runs/paid/seed-0")
    rename, add, count = os.rename, RunFolders.add, [0]

    def interrupted_rename(one: Path, two: Path) -> None:
        count[0] += 1
        if (place, count[0]) == ("before", 3):
            raise KeyboardInterrupt
        rename(one, two)
        if (place, count[0]) in (("aside", 3), ("placed", 4)):
            raise KeyboardInterrupt

    def interrupted_add(folders: RunFolders, record: Any) -> None:
        add(folders, record)
        if place == "after" and len(folders.records) == 2:
            raise KeyboardInterrupt

    made = experiment(tmp_path, seeds=1)
    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", interrupted_rename)
        patched.setattr(RunFolders, "add", interrupted_add)
        outcome = carried_out(made)
    assert outcome.interrupted
    assert len(outcome.records) == collect(made.output).count == kept
    assert not rests(tmp_path)
    if kept == 1:
        assert incfed.load(tmp_path / "results/runs/paid/seed-0") == old
    on = carried_out(made)
    assert (on.kept, on.complete) == (kept, True)


def test_what_a_killed_run_left_half_written_is_removed(tmp_path: Path) -> None:
    made = experiment(tmp_path, seeds=1)
    carried_out(made)
    runs = tmp_path / "results/runs"
    shutil.copytree(runs / "paid/seed-0", runs / "paid/.seed-0.12ab.new")
    os.rename(runs / "altruistic/seed-0", runs / "altruistic/.seed-0.12ab.old")
    assert carried_out(made).kept == 2
    assert not rests(tmp_path)


def test_ctrl_c_does_not_wait_for_long_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "GRACE", 100.0)  # they stop by themselves, not by force
    pressed: list[float] = []

    def press(done: int, total: int) -> None:
        if done > 0:
            pressed.append(time.monotonic())
            raise KeyboardInterrupt

    made = experiment(tmp_path, seeds=1, steps=100_000_000)
    outcome = carried_out(made, jobs=2, progress=press)
    assert (outcome.interrupted, outcome.records) == (True, [])
    assert time.monotonic() - pressed[0] < 50.0


def test_a_file_that_goes_away_meanwhile(tmp_path: Path) -> None:
    def remove(total: int, kept: int) -> None:
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        (tmp_path / "own.py").unlink()

    outcome = carried_out(own(tmp_path), jobs=2, begin=remove)
    assert failed(outcome) == [("mine", 0), ("mine", 1)]
    assert re.search(r"file not found: .*own\.py", outcome.failures[0][1])
    assert len(outcome.records) == 4


def test_only_the_missing_run_is_made(tmp_path: Path) -> None:
    made = own(tmp_path)
    carried_out(made)
    shutil.rmtree(tmp_path / "results/runs/mine/seed-1")
    assert (collect(made.output).count, collect(made.output).total) == (5, 6)
    before = {path: path.stat().st_mtime_ns for path in made.output.rglob("result.json")}
    on = carried_out(own(tmp_path))
    assert (on.kept, on.complete) == (5, True)
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert collect(made.output).count == 6
    assert carried_out(own(tmp_path, at=1)).kept == 4  # another mechanism under the same label


@pytest.mark.parametrize("fresh", [True, False])
def test_folders_of_earlier_versions_are_refused_and_left_alone(
    tmp_path: Path, fresh: bool
) -> None:
    output = copied("experiments/data/run-0.2.0", tmp_path / "results")
    said = sentence(output / "experiment.json")
    with refused(output, f"output: {said}; choose another folder"):
        carried_out(experiment(tmp_path), fresh=fresh)
    with refused(output, said):
        incfed.Comparison.load(output)
    with refused(output, sentence(output / "earlier/1/experiment.json")):
        incfed.Comparison.load(output / "earlier/1")


@pytest.mark.parametrize("fresh", [True, False])
def test_a_run_of_an_earlier_version_is_not_replaced(tmp_path: Path, fresh: bool) -> None:
    """Even where somebody put it into a folder of this version."""
    made = experiment(tmp_path, seeds=1)
    carried_out(made)
    place = made.output / "runs/paid/seed-0"
    shutil.rmtree(place)
    copied("results/data/result-0.2.0", place)
    said = sentence(place / "result.json")
    with refused(made.output, f"output: {said}; choose another folder"):
        carried_out(experiment(tmp_path, seeds=1), fresh=fresh)
    with refused(made.output, said):
        collect(made.output)
