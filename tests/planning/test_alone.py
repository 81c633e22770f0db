"""Every plan is compared with learning alone, at its best, and says first whether sharing pays."""

from __future__ import annotations

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.experiments import read
from incfed.experiments.config import build_algorithm
from incfed.planning.alone import candidates, named, rules_of
from incfed.planning.case import Case, read_case
from incfed.planning.page import plan_document
from incfed.planning.report import as_data
from incfed.planning.space import CONSTANT, MIXTURE, PATIENT
from incfed.results import html
from support.planning import CASE, SMALL, setting

WORLD = incfed.Synthetic(clients=5, dim=3, arms=4, pool=40)


@pytest.fixture(scope="module")
def made() -> incfed.Plan:
    return incfed.plan(CASE, minimize="regret", budget=60, **SMALL)


def alone_in(case: Case, rules: Any, seed: int) -> incfed.Result:
    algorithm = build_algorithm(rules, "algorithm", WORLD, case.steps, Path())
    return incfed.simulate(WORLD, algorithm.value, steps=case.steps, seed=seed)


def regret(case: Case, rules: Any, seeds: Any) -> float:
    return statistics.fmean(alone_in(case, rules, seed).regret[-1] for seed in seeds)


def test_the_rules_are_those_of_a_setting_without_what_is_about_sharing() -> None:
    patient = replace(
        setting(1), threshold=None, news=5.0, download="one-for-one", exploration=0.2, ridge=0.5
    )
    fixed = {"delta": 0.05, "clocks": "participants", "availability": 0.5}
    assert rules_of(patient, fixed) == {
        "kind": "Independent", "ridge": 0.5, "exploration": 0.2, "delta": 0.05,
    }  # fmt: skip
    assert named(rules_of(patient, fixed)) == "nobody shares, alpha 0.2, lambda 0.5"
    assert named(rules_of(replace(setting(1), width=MIXTURE), {})) == (
        "nobody shares, mixture, lambda 0.1"
    )
    assert named(rules_of(setting(1), {})) == "nobody shares, lambda 0.1"


def test_ways_to_learn_alone() -> None:
    case = read_case(CASE)
    chosen = case.space.make(
        "PaymentFree", PATIENT, "everyone", CONSTANT, ridge=0.5, exploration=0.07
    )
    found = candidates(case.space, chosen, case.fixed)
    assert found[0] == {"kind": "Independent", "ridge": 0.5, "exploration": 0.07}
    assert len(found) == 13  # two lambdas for each of two formulas and four alphas
    assert all(found.count(one) == 1 for one in found)
    given = {**CASE, "algorithm": {"exploration": 0.3, "ridge": 0.2}}
    case = read_case(given)
    assert candidates(case.space, case.space.first(1.0)[0], case.fixed) == [
        {"kind": "Independent", "ridge": 0.2, "exploration": 0.3}
    ]


def test_the_best_way_is_chosen_on_the_seeds_of_the_search(made: incfed.Plan) -> None:
    ways = candidates(made.case.space, made.setting, made.case.fixed)
    two, six = made.search_seeds[:2], made.search_seeds[:6]
    best = sorted(ways, key=lambda one: regret(made.case, one, two))[:4]
    assert made.judgement.alone.rules == min(best, key=lambda one: regret(made.case, one, six))


def test_the_gain_is_paired_by_held_out_seed(made: incfed.Plan) -> None:
    gains = [
        alone_in(made.case, made.judgement.alone.rules, seed).regret[-1]
        - incfed.simulate(WORLD, made.algorithm(), steps=120, seed=seed).regret[-1]
        for seed in made.held_out
    ]
    assert made.gain.mean == pytest.approx(statistics.fmean(gains))
    error = statistics.stdev(gains) / 5**0.5
    assert made.gain.half == pytest.approx(2.776445 * error, rel=1e-5)  # t(4)


def with_regret(plan: incfed.Plan, *more: float, **goal: Any) -> incfed.Plan:
    """As if the advice had had so much more regret (and as much less reward) than alone."""
    runs = tuple(
        {**run, "regret": run["regret"] + x, "reward": run["reward"] - x}
        for run, x in zip(plan.judgement.alone.runs, more, strict=True)
    )
    chosen = replace(plan.judgement.chosen, runs=runs)
    judgement = replace(plan.judgement, chosen=chosen)
    return replace(plan, judgement=judgement, goal=replace(plan.goal, **goal))


@pytest.mark.parametrize(
    ("more", "verdict", "said", "tone"),
    [
        (
            [-3.0] * 5,
            "Share",
            "Sharing pays here: regret is 3 lower than if nobody shares, ",
            "good",
        ),
        (
            [2.0] * 5,
            "Do not share",
            "Sharing does not pay here: regret is 2 higher than if nobody",
            "bad",
        ),
        (
            [-9.0, 9.0, 0.0, 1.0, -6.0],
            "These runs cannot tell",
            "These runs cannot show whether sharing pays: the difference is 1.00, and chance alone "
            "explains 8.65.",
            "plain",
        ),
    ],
)
def test_a_plan_says_first_whether_sharing_pays(
    more: list[float], verdict: str, said: str, tone: str, made: incfed.Plan
) -> None:
    plan = with_regret(made, *more)
    assert plan.verdict == verdict
    assert plan.advice.startswith(said)
    assert "we expect " in plan.advice
    assert str(plan).startswith(f"**{verdict}**\n\n{said}")
    assert said in plan._repr_html_()
    page = html.render(plan_document(plan, configs=True))
    assert f'<p class="headline {tone}">{verdict}</p>' in page
    assert page.index(verdict) < page.index(said) < page.index("Asked for")
    assert as_data(plan)["gain"]["mean"] == pytest.approx(-statistics.fmean(more))


def test_in_reward_where_that_is_asked_for(made: incfed.Plan) -> None:
    plan = with_regret(made, *[-3.0] * 5, performance="reward", aim="reward")
    assert plan.advice.startswith("Sharing pays here: reward is 3 higher than if nobody shares, ")
    plan = with_regret(made, *[3.0] * 5, performance="reward", aim="reward")
    assert plan.advice.startswith("Sharing does not pay here: reward is 3 lower than if nobody")


def test_where_nobody_needs_to_share(made: incfed.Plan) -> None:
    free = "Without sharing all limits are kept too, for no money and no traffic."
    assert free not in made.advice
    assert free in with_regret(made, *[-3.0] * 5, aim="payment").advice  # a budget of 60 is kept
    strict = incfed.plan(CASE, minimize="payment", max_regret=0.1, **{**SMALL, "trials": 16})
    assert free not in strict.advice


def test_the_config_shows_who_is_better_off(made: incfed.Plan, tmp_path: Path) -> None:
    made.save(tmp_path)
    experiment = read(tmp_path / "run.toml")
    labels = list(experiment.algorithms)
    assert labels == [str(made.setting), made.judgement.alone.label]
    table = str(made).split("What to expect")[1]
    assert made.judgement.alone.label in table
