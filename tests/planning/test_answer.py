"""The answer of a plan: verdict, key figures, and the chart below them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import incfed
from incfed.planning import advice, answer
from incfed.planning.goals import Limit
from incfed.planning.launch import POINTS
from incfed.planning.page import plan_document
from incfed.planning.report import as_data
from incfed.planning.space import ALL, FREE
from incfed.results import document as doc
from incfed.results import html
from support.planning import CASE, SMALL


@pytest.fixture(scope="module")
def made() -> incfed.Plan:
    return incfed.plan(CASE, budget=60, **{**SMALL, "trials": 16})


def changed(plan: incfed.Plan, **values: list[float]) -> incfed.Plan:
    """With these figures of the advice, seed by seed; of regret, more than learning alone has."""
    judgement = plan.judgement
    runs = [
        {**run, **{name: found[n] for name, found in values.items()}}
        for n, run in enumerate(judgement.chosen.runs)
    ]
    if "regret" in values:
        for run, alone in zip(runs, judgement.alone.values("regret"), strict=True):
            run["regret"] += alone
    return replace(plan, judgement=replace(judgement, chosen=replace(judgement.chosen, runs=runs)))


def of_a_log(plan: incfed.Plan, runs: int = 1) -> incfed.Plan:
    """As if it were one of a log."""
    log = incfed.Trace(
        clients=[0, 1] * 20, arms=np.ones((40, 2, 3)), rewards=np.eye(2)[[0, 1] * 20]
    )
    world = incfed.FittedWorld(log, runs=runs)
    judgement = plan.judgement
    chosen = replace(judgement.chosen, runs_a_world=runs)
    return replace(
        plan, case=replace(plan.case, world=world), judgement=replace(judgement, chosen=chosen)
    )


def key(plan: incfed.Plan) -> dict[str, tuple[str, str]]:
    return {one.title: (one.figure, one.text) for one in answer.key_figures(plan).figures}


def test_what_sharing_brings(made: incfed.Plan) -> None:
    plan = changed(made, regret=[-3.0, -4.0, -3.0, -2.0, -3.0])
    own, alone = plan.regret.mean, plan.judgement.alone["regret"].mean
    figure, text = key(plan)["What sharing brings"]
    assert figure == "+3.00"
    assert text == (
        "reward, give or take 0.88, over 120 steps: the reward missed (regret) is "
        f"{own:.2f} instead of {alone:.2f}"
    )
    worse = changed(made, regret=[3.0, 4.0, 3.0, 2.0, 3.0])
    assert key(worse)["What sharing brings"][0] == "-3.00"
    reward = replace(plan, goal=replace(plan.goal, aim="reward", performance="reward"))
    assert "regret" not in key(reward)["What sharing brings"][1]


def test_what_it_costs(made: incfed.Plan) -> None:
    sent = {"communication": [2000.0] * 5}
    plan = changed(made, payment=[0.0] * 5, **sent)
    free = ("Nothing", "is paid of a budget of 60; 2,000 scalars are sent")
    assert key(plan)["What it costs"] == free
    plan = changed(made, payment=[41.0, 42.0, 43.0, 42.0, 42.0], **sent)
    unlimited = replace(plan, goal=replace(plan.goal, limits=()))
    assert key(plan)["What it costs"][1] == (
        "paid to clients of a budget of 60; 2,000 scalars are sent"
    )
    assert key(unlimited)["What it costs"] == (
        "42",
        "paid to clients; 2,000 scalars are sent",
    )


def test_how_sure_that_is(made: incfed.Plan) -> None:
    """Mean -1, error 0.5 and mean 1: Student's t of 2 with 4 degrees of freedom is 0.942."""
    values = [-1.0 + x for x in (-(1.25**0.5), 1.25**0.5, 1.25**0.5, -(1.25**0.5), 0.0)]
    plan = changed(made, regret=values)
    assert plan.gain.positive == pytest.approx(0.9419417, abs=1e-6)
    seen = sum(x < 0 for x in values)
    assert key(plan)["How sure that is"] == (
        "94 of 100",
        f"chances that sharing is better on average; it was in {seen} of 5 runs",
    )
    log = of_a_log(plan)
    assert log.verdict == "This log cannot tell"
    assert key(log)["How sure that is"][1] == "worlds that this log allows are better with sharing"
    assert answer.worth(log).startswith("This log cannot show whether sharing pays: the difference")
    bad = of_a_log(changed(made, regret=[3.0, 4.0, 3.0, 2.0, 3.0]))
    assert bad.verdict == "Do not share"
    figure, text = key(bad)["How sure that is"]
    assert text == "worlds that this log allows are worse with sharing"
    assert figure == "99 of 100"  # worlds lie apart by 0.707: t is -4.24, with 4 degrees


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "< 1"), (0.004, "< 1"), (0.5, "50"), (0.994, "99"), (0.996, "> 99"), (1.0, "> 99")],
)
def test_no_more_is_said_than_99_of_100(share: float, said: str) -> None:
    assert answer.hundred(share) == said


def test_what_is_paid_in_words(made: incfed.Plan) -> None:
    def said(mechanism: str, paid: float) -> str:
        plan = changed(made, payment=[paid] * 5)
        return advice.pay(replace(plan, setting=replace(plan.setting, mechanism=mechanism)))

    assert said(FREE, 0.0) == "Nobody is paid."
    assert said(ALL, 0.0) == (
        "Shares are paid only where data does not cover the cost; we expect no payments."
    )
    assert said("Truthful", 0.0) == "We expect no payments."
    assert said(ALL, 7.0) == "We expect payments of 7."


def test_a_limit_that_is_broken_is_said_beside_the_answer(made: incfed.Plan) -> None:
    assert advice.warning(made) == ""
    strict = replace(made, goal=replace(made.goal, limits=(Limit("communication", 1.0),)))
    for plan in (changed(strict, communication=[2.0] * 5), replace(strict, within=False)):
        plan = changed(plan, communication=[2.0] * 5)
        said = advice.warning(plan)
        assert "at most 1 scalars" in said
        page = html.render(plan_document(plan, configs=True))
        assert page.index(said) < page.index("What sharing brings")
    lucky = replace(changed(strict, communication=[0.0] * 5), within=False)
    assert advice.warning(lucky).endswith(advice.LUCKY)


def test_the_chart_ends_at_the_figures_of_the_plan(made: incfed.Plan) -> None:
    launch = made.judgement.launch
    assert launch is not None
    assert (launch.metric, launch.steps[0], launch.steps[-1]) == ("regret", 1, 120)
    assert len(launch.steps) == POINTS
    assert launch.shared[-1] == pytest.approx(made.regret.mean)
    assert launch.alone[-1] == pytest.approx(made.judgement.alone["regret"].mean)
    assert launch.gain[-1].mean == pytest.approx(made.gain.mean)
    assert launch.gain[-1].half == pytest.approx(made.gain.half)
    runs = [
        incfed.simulate(made.case.world, made.algorithm(), steps=120, seed=seed)
        for seed in made.held_out
    ]
    middle = launch.steps[50]
    expected = np.mean([run.regret[middle - 1] for run in runs])
    assert launch.shared[50] == pytest.approx(expected)
    data = as_data(made)["launch"]
    assert data["step"] == list(launch.steps)
    assert data["low"][-1] == pytest.approx(made.gain.low)


def test_the_chart_is_on_the_page_and_on_a_terminal(made: incfed.Plan) -> None:
    launch = made.judgement.launch
    assert launch is not None
    block = launch.block()
    assert isinstance(block, doc.Figure)
    [drawing] = block.drawings()
    shown = {str(line.get_label()) for line in drawing.axes[0].lines}
    assert len(drawing.axes[0].lines) == len(shown) == 2
    assert drawing.axes[0].get_yscale() == "linear"
    text = str(made)
    assert text.index("Regret so far   ● with sharing   · without") < text.index("## What to run")
    page = html.render(plan_document(made, configs=True))
    assert page.index("with sharing and without") < page.index("<details")


def test_everything_after_the_answer_opens(made: incfed.Plan) -> None:
    page = html.render(plan_document(made, configs=True))
    assert "<section" not in page
    blocks = plan_document(made, configs=True).blocks
    sections = [one for one in blocks if isinstance(one, doc.Heading) and one.level == 2]
    assert page.count('<details class="section"') == len(sections) == 8
