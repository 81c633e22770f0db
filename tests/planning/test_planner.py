"""`incfed.plan`: what it states, what that rests on, and that nothing else changes it."""

from __future__ import annotations

import itertools
import json
import os
import re
import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.console import runs as console_runs
from incfed.experiments import read
from incfed.experiments.checkpoint import read_cells
from incfed.planning import advice, alternatives, planner
from incfed.planning.case import read_case
from incfed.planning.goals import Goal, Limit
from incfed.planning.judging import Judged
from incfed.planning.page import plan_document
from incfed.planning.report import as_data
from incfed.planning.search import Update
from incfed.planning.selection import RUNGS
from incfed.planning.study import Study
from incfed.planning.ties import PLAY_OFF, RIVALS
from incfed.results import html
from support.past import copied, refused, sentence
from support.planning import CASE, SMALL, finished_trials, write_trace


@pytest.fixture(scope="module")
def made() -> incfed.Plan:
    return incfed.plan(CASE, minimize="regret", budget=60, **SMALL)


def test_the_figures_are_those_of_the_held_out_seeds(made: incfed.Plan) -> None:
    """Run again by hand, with seeds that the search did not see."""
    world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=40)
    runs = [
        incfed.simulate(world, made.algorithm(), steps=120, seed=seed) for seed in made.held_out
    ]
    for metric in ("regret", "reward", "payment", "communication"):
        finals = [getattr(run, metric)[-1] for run in runs]
        assert made.figures[metric].mean == pytest.approx(statistics.fmean(finals))
    error = statistics.stdev(run.regret[-1] for run in runs) / 5**0.5
    assert made.regret.half == pytest.approx(2.776445 * error, rel=1e-5)  # t(4)


def test_a_plan_keeps_its_limits_and_says_so(made: incfed.Plan) -> None:
    assert made.within
    [kept] = made.limits
    assert kept.kept == (made.payment.mean <= 60)
    assert f"{made.payment}" in made.advice or "we expect no payments" in made.advice
    assert "Over 120 steps, we expect regret " in made.advice
    assert list(made.judgement.sensitivity) == [0.5, 1.0, 2.0]
    assert made.judgement.sensitivity[1.0] is made.judgement.chosen


def test_what_each_further_sum_buys(made: incfed.Plan) -> None:
    found, line = advice.frontier_steps(made), made.judgement.improving("regret")
    assert len(found) == len(line) - 1 > 0
    top = made.frontier[-1]["payment"].mean
    for step, cheap, dear in zip(found, line, line[1:], strict=False):
        assert dear["regret"].mean < cheap["regret"].mean
        bought = cheap["regret"].mean - dear["regret"].mean
        paid = dear["payment"].mean - cheap["payment"].mean
        assert step.rate == pytest.approx(step.unit * bought / paid)
        assert top / 100 < step.unit <= top / 10
        assert str(step) in str(made)


def test_less_traffic_is_only_named_if_it_holds_up(made: incfed.Plan) -> None:
    # Whatever else the plan would say is not about this.
    made = _bare(made)

    def said(**change: float) -> str:
        plan = replace(made, judgement=replace(made.judgement, frontier=(_times(made, **change),)))
        assert all(text in str(plan) and text in _page(plan) for text in alternatives.thrift(plan))
        return " ".join(alternatives.thrift(plan))

    assert said(communication=0.5).startswith("About as good for 50% of the traffic: another, ")
    assert said(communication=0.9) == ""
    half = _times(made, communication=0.5)
    worse = tuple({**run, "regret": run["regret"] + 0.5} for run in half.runs)  # for sure
    line = (replace(half, runs=worse),)
    assert (
        alternatives.thrift(replace(made, judgement=replace(made.judgement, frontier=line))) == []
    )
    assert said(communication=0.5, regret=0.5)
    paid = _plus(made, payment=50.0)
    dear = replace(made, judgement=replace(made.judgement, chosen=paid, frontier=(_plus(made),)))
    [words] = alternatives.thrift(dear)
    assert re.match(r"About as good for (\d+%|no money).*: another, with regret ", words)


def _bare(plan: incfed.Plan) -> incfed.Plan:
    """Without other settings that could be advised."""
    judgement, elsewhere = plan.judgement, replace(plan.setting, ridge=9.0)  # not searched
    references = tuple(
        one if one.setting is None else replace(one, setting=elsewhere)
        for one in judgement.references
    )
    bare = replace(judgement, references=references, frontier=(), runner_up=None)
    return replace(plan, judgement=bare)


def _times(plan: incfed.Plan, **change: float) -> Judged:
    """Another setting, with figures so many times those of the advice."""
    runs = plan.judgement.chosen.runs
    return Judged(
        "another",
        tuple({**run, **{name: run[name] * x for name, x in change.items()}} for run in runs),
        plan.setting,
    )


def _plus(plan: incfed.Plan, **change: float) -> Judged:
    """So much more than the advice, with every seed."""
    runs = plan.judgement.chosen.runs
    return Judged(
        "another",
        tuple({**run, **{name: run[name] + x for name, x in change.items()}} for run in runs),
        plan.setting,
    )


def test_what_is_left_of_a_budget_and_why(made: incfed.Plan) -> None:
    def said(spending: dict[str, tuple[int, Judged]]) -> str:
        plan = replace(made, judgement=replace(made.judgement, spending=spending))
        [text] = alternatives.unused(plan)
        assert text in str(plan)
        assert text in _page(plan)
        return text

    assert made.payment.mean < 54
    none = said({})
    assert " of the 60 that may be paid are not needed." in none
    assert none.endswith(" No setting was found that keeps the limits and pays more.")
    worse = said({"payment": (7, _plus(made, payment=40.0, regret=1.5))})
    assert (
        " of the 60 that may be paid are not needed. To pay more brings no less regret: the best "
        "of 7 settings paying more within the limits has " in worse
    )
    assert "1.50 more than the advice (another)." in worse
    assert "chance" not in worse
    better = said({"payment": (1, _plus(made, payment=40.0, regret=-0.5))})
    assert "In the held-out runs it helps to pay more: the best of 1 setting paying " in better
    assert ", 0.500 less than the advice (another)." in better
    free = replace(made.judgement, chosen=_times(made, payment=0.0))
    [text] = alternatives.unused(replace(made, judgement=free))
    assert text.startswith("None of the budget of 60 is needed.")
    spent = replace(made, judgement=replace(made.judgement, chosen=_plus(made, payment=58.0)))
    assert alternatives.unused(spent) == []


def test_the_setting_that_the_advice_tied_with_is_named(made: incfed.Plan) -> None:
    def said(leader: Judged) -> list[str]:
        plan = replace(made, judgement=replace(made.judgement, leader=leader, replaced=None))
        words = alternatives.tie_words(plan)
        assert all(text in str(plan) and text in _page(plan) for text in words)
        return words

    assert said(made.judgement.chosen) == []
    [tied] = said(_plus(made, communication=4.0))
    assert ": another. It has regret " in tied
    assert tied.endswith("no better than the advice, as far as these runs can tell.")
    [better] = said(_plus(made, regret=-0.5))
    assert better.endswith(", better than the advice by 0.500.")


def test_why_the_advice_is_not_what_the_search_chose(made: incfed.Plan) -> None:
    def said(**change: Any) -> list[str]:
        plan = replace(made, judgement=replace(made.judgement, **{"replaced": None, **change}))
        words = alternatives.replaced(plan)
        assert all(text in str(plan) and text in _page(plan) for text in words)
        return words

    assert said() == []
    [text] = said(replaced=_plus(made, regret=0.5), leader=_plus(made, regret=0.5))
    assert text.startswith(
        "In the held-out runs the advice has 0.500 less regret for no more of what you limit than "
        "what looked best in the search (another), so it is advised instead."
    )
    dear = _plus(made, payment=5.0)
    [text] = said(replaced=_plus(made, regret=0.5), chosen=dear)
    assert " less regret within your limits than what looked best" in text
    replaced = replace(made.judgement, replaced=dear, leader=dear)
    assert alternatives.tie_words(replace(made, judgement=replaced)) == []
    # Learning alone cannot be advised as a setting, and is named.
    noisy = tuple(
        {**run, "regret": run["regret"] + x}
        for run, x in zip(made.judgement.chosen.runs, (-9.0, 9.0, -9.0, 9.0, -1.0), strict=True)
    )
    alone = replace(made.judgement.alone, runs=noisy)
    [text] = said(references=(*made.judgement.references[:-1], alone))
    assert text.startswith("Learning alone did better than the advice in these runs, if only ")


def test_the_table_has_the_runner_up(made: incfed.Plan) -> None:
    [(label, row)] = alternatives.runner_up(made)
    assert row is made.judgement.runner_up
    assert label == f"runner-up: {row.label}"
    assert label in str(made)
    assert label in _page(made)
    assert as_data(made)["runner_up"]["regret"]["mean"] == row["regret"].mean
    far = replace(made, judgement=replace(made.judgement, runner_up=_plus(made, payment=100.0)))
    assert alternatives.runner_up(far)[0][0] == "runner-up: another; outside: at most 60 paid"
    none = replace(made, judgement=replace(made.judgement, runner_up=None))
    assert alternatives.runner_up(none) == []
    assert as_data(none)["runner_up"] is None


def test_a_fair_share_of_the_settings_pays_something_within_the_budget(made: incfed.Plan) -> None:
    """A part of each batch after the first looks for such settings."""
    inside = [means["payment"] for _, means in made.tried if 0 < means["payment"] <= 60]
    assert len(inside) > 0.4 * len(made.tried)
    places = sorted([0.0, *(x**0.5 for x in inside), 60**0.5])
    assert max(b - a for a, b in itertools.pairwise(places)) < 0.25 * 60**0.5


def test_where_more_money_buys_nothing(made: incfed.Plan) -> None:
    one = replace(made, judgement=replace(made.judgement, frontier=made.frontier[:1]))
    assert advice.NOTHING_MORE in str(one)
    assert advice.NOTHING_MORE in _page(one)
    assert advice.NOTHING_MORE not in str(made)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from([1, 4]))
def test_no_seed_is_used_for_both(one: int, two: int, runs: int) -> None:
    def ranges(seed: int) -> tuple[set[int], set[int]]:
        """Worlds to choose with and to judge by."""
        search, held = planner.seeds_of(seed, 1000, runs)
        assert len({n // runs for n in search}) == len(search)  # each is run once
        assert len(held) == 1000 * runs
        return {n // runs for n in search}, {n // runs for n in held}

    assert not ranges(one)[0] & ranges(one)[1]
    assert len(ranges(one)[1]) == 1000
    if one != two:  # and another search is another search
        assert not (ranges(one)[0] | ranges(one)[1]) & (ranges(two)[0] | ranges(two)[1])


def test_the_same_on_two_processes_and_when_asked_again(made: incfed.Plan, tmp_path: Path) -> None:
    told: list[Update] = []
    two = incfed.plan(
        CASE, minimize="regret", budget=60, output=tmp_path, progress=told.append,
        **{**SMALL, "jobs": 2},
    )  # fmt: skip
    assert as_data(two) == as_data(made)
    assert list(dict.fromkeys(update.done for update in told)) == [0, 16, 32]
    assert {update.done for update in told if update.part == 1} == {0, 16, 32}  # and meanwhile
    assert told[-1].best is not None
    before = read_cells(tmp_path / "cells.jsonl")
    assert {record.seed for record in before} <= {*made.search_seeds, *made.held_out}
    again = incfed.plan(CASE, minimize="regret", budget=60, output=tmp_path, **SMALL)
    assert as_data(again) == as_data(made)
    assert len(read_cells(tmp_path / "cells.jsonl")) == len(before)  # nothing was run
    assert as_data(incfed.plan(CASE, minimize="regret", budget=60, seed=1, **SMALL)) != as_data(
        made
    )


def test_more_trials_go_on_where_fewer_ended(tmp_path: Path) -> None:
    ask: dict[str, Any] = {"minimize": "payment", "max_regret": 20, "held_out": 3, "jobs": 1}
    incfed.plan(CASE, output=tmp_path / "one", trials=16, **ask)
    more = incfed.plan(CASE, output=tmp_path / "one", trials=48, **ask)
    whole = incfed.plan(CASE, trials=48, **ask)
    assert as_data(more) == as_data(whole)


def test_a_damaged_study_is_begun_anew(tmp_path: Path) -> None:
    """Runs are kept elsewhere, so that it comes to the same point again."""
    ask: dict[str, Any] = {"budget": 60, "trials": 32, "held_out": 2, "jobs": 1}
    whole = as_data(incfed.plan(CASE, output=tmp_path, **ask))
    runs = (tmp_path / "cells.jsonl").read_bytes()
    [study] = tmp_path.glob("study-*.log")
    kept, before = study.read_text(), finished_trials(tmp_path)
    # The end of the second batch of 16 is lost, and half a line is left.
    cut = "".join(kept.splitlines(keepends=True)[:-15]) + '{"op_code'
    for damage, left in (("garbage\n", 0), ('{"op_code": 99}\n', 0), (cut, 16)):
        study.write_text(damage)
        assert as_data(incfed.plan(CASE, output=tmp_path, **ask)) == whole
        assert (tmp_path / "cells.jsonl").read_bytes() == runs
        after = finished_trials(tmp_path)
        assert len(after) == len(before) == 32
        assert [one in before for one in after] == [n < left for n in range(32)]


@pytest.mark.parametrize("call", range(8))
def test_ctrl_c_while_a_study_is_written_is_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """Whatever it is doing with its files; and the next one goes on."""
    goal, space = Goal("regret", (Limit("payment", 60.0),), "payment"), read_case(CASE).space
    study = Study(tmp_path / "study.log", goal, space, 0)
    left = itertools.count(-call)

    def struck(act: Callable[..., Any], *given: Any, **named: Any) -> Any:
        if next(left) == 0:
            raise KeyboardInterrupt
        return act(*given, **named)

    with monkeypatch.context() as patched:
        for name in ("open", "close", "fsync", "rename", "stat", "unlink"):
            patched.setattr(os, name, partial(struck, getattr(os, name)))
        with pytest.raises(KeyboardInterrupt):
            study.ask(0, [])
    assert len(Study(tmp_path / "study.log", goal, space, 0).ask(0, [])) == 16


def test_racing_gives_hopeless_settings_fewer_seeds(made: incfed.Plan) -> None:
    first = 16  # are not raced
    raced = len(made.tried) - first
    most = RUNGS[-1]
    play_off = (1 + RIVALS) * PLAY_OFF[-1]
    assert made.runs < (first + 0.8 * raced) * most + play_off
    assert made.runs >= 2 * len(made.tried)


def test_limits_that_cannot_be_kept_get_the_nearest_and_what_to_relax() -> None:
    plan = incfed.plan(CASE, minimize="payment", max_regret=0.1, max_communication=1e6, **SMALL)
    assert not plan.within
    assert ". No setting was found that keeps all limits. The nearest: " in plan.advice
    [text] = [line for line in str(plan).splitlines() if "--max-regret" in line]
    offered = float(re.findall(r"--max-regret ([\d.]+) instead of 0.1", text)[0])
    assert offered >= plan.judgement.easiest["regret"]["regret"].high
    again = incfed.plan(
        CASE, minimize="payment", max_regret=offered, max_communication=1e6, **SMALL
    )
    assert again.within
    assert "What to relax" in _page(plan)
    assert "What to relax" not in _page(again)


def _page(plan: incfed.Plan) -> str:
    return html.render(plan_document(plan, configs=True))


def test_a_share_is_of_paying_everyone() -> None:
    plan = incfed.plan(CASE, minimize="payment", min_reward="90%", **SMALL)
    [limit] = plan.goal.limits
    assert limit.share == 90
    world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=40)
    threshold = float(f"{incfed.thresholds.high(steps=120, clients=5, dim=3):.3g}")
    everyone = incfed.IncFedUCB(incfed.PayEveryone(), threshold=threshold, costs=2.0)
    rewards = [
        incfed.simulate(world, everyone, steps=120, seed=seed).reward[-1]
        for seed in plan.held_out  # held against held-out: a log's second part may pay less
    ]
    assert limit.value == pytest.approx(0.9 * statistics.fmean(rewards))


def test_the_console_shows_it(made: incfed.Plan, tmp_path: Path) -> None:
    made.save(tmp_path / "mine")
    shown = console_runs.view(tmp_path, ["mine"])
    assert (shown.kind, shown.words) == ("plan", [made.advice])
    assert shown.rows[0].label == "The advice"
    assert shown.charts == ["search", "frontier"]
    for name in shown.charts:
        assert console_runs.chart(tmp_path, ["mine"], name)["data"]


def test_the_config_is_one_that_runs(made: incfed.Plan, tmp_path: Path) -> None:
    page = made.save(tmp_path)
    assert page == tmp_path / "plan.html"
    _check_config(made, tmp_path)
    assert json.loads((tmp_path / "plan.json").read_text())["advice"] == made.advice
    text = page.read_text()
    assert advice.what_to_run(made) in text.replace("&#39;", "'")
    assert "http" not in text.replace("http-equiv", "")  # nothing from elsewhere
    assert "<script" not in text
    assert "<svg" in text
    for word in ("What to expect", "What money buys", "factor of 2", "How to use it"):
        assert word in text


def _check_config(plan: incfed.Plan, folder: Path) -> None:
    """Running it gives the figures that the plan states, with seeds that nothing was chosen on."""
    plan.save(folder)
    experiment = read(folder / "run.toml")
    algorithm, alone = experiment.algorithms.values()
    assert algorithm == plan.algorithm()
    assert isinstance(alone, incfed.Independent)
    assert experiment.seeds == plan.held_out
    assert not set(experiment.seeds) & set(plan.search_seeds)
    runs = [
        incfed.simulate(experiment.world, algorithm, steps=experiment.steps, seed=seed)
        for seed in experiment.seeds
    ]
    for metric in ("reward", "payment", "communication"):
        finals = [getattr(run, metric)[-1] for run in runs]
        assert plan.figures[metric].mean == pytest.approx(statistics.fmean(finals))


def test_a_trace_is_planned_in_the_world_fitted_to_it(tmp_path: Path) -> None:
    write_trace(tmp_path / "log.npz")
    tables = {"world": {"kind": "Trace", "file": str(tmp_path / "log.npz")}, "costs": 1.0}
    plan = incfed.plan(tables, maximize="reward", budget=20, **SMALL)
    assert plan.case.steps == 120
    fitted = incfed.FittedWorld(incfed.Trace.load(tmp_path / "log.npz"), length=120, runs=4)
    runs = [incfed.simulate(fitted, plan.algorithm(), seed=seed) for seed in plan.held_out]
    assert plan.reward.mean == pytest.approx(statistics.fmean(run.reward[-1] for run in runs))
    _check_config(plan, tmp_path / "plan")
    assert "regret" not in plan.advice
    write_trace(tmp_path / "known.npz", expected=True)
    known = {"kind": "Trace", "file": str(tmp_path / "known.npz")}
    assert read_case({**tables, "world": known}).rewarded is False


def test_costs_that_are_drawn(tmp_path: Path) -> None:
    tables = {**CASE, "costs": {"kind": "exponential", "mean": 3}}
    plan = incfed.plan(tables, minimize="payment", max_regret=30, output=tmp_path, **SMALL)
    experiment = read(tmp_path / "run.toml")
    algorithm, _ = experiment.algorithms.values()
    assert isinstance(algorithm, incfed.IncFedUCB)
    assert algorithm.costs == tuple(plan.case.costs.of(plan.held_out[0]))  # type: ignore[arg-type]
    assert "drawn from exponential (mean 3)" in plan.config


@pytest.mark.parametrize("fresh", [True, False])
def test_plans_of_earlier_versions_are_refused_and_left_alone(tmp_path: Path, fresh: bool) -> None:
    folder = copied("planning/data/plan-0.2.0", tmp_path / "plan")
    with refused(folder, sentence(folder / "plan.json")):
        incfed.plan(CASE, trials=16, held_out=2, jobs=1, output=folder, fresh=fresh)
    (folder / "plan.json").unlink()  # as if it had been stopped before
    said = sentence(folder / "cells.jsonl")
    with refused(folder, f"output: {said}; choose another folder"):
        incfed.plan(CASE, trials=16, held_out=2, jobs=1, output=folder, fresh=fresh)


def test_a_saved_plan_of_an_earlier_version_is_not_replaced(
    tmp_path: Path, made: incfed.Plan
) -> None:
    folder = copied("planning/data/plan-0.2.0", tmp_path / "plan")
    with refused(folder, sentence(folder / "plan.json")):
        made.save(folder)
