"""What a plan chooses, and by which comparison: on the same seeds, within what is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.experiments import read
from incfed.planning import judging, planner, search
from incfed.planning.case import read_case
from incfed.planning.goals import Goal, Limit, loss
from incfed.planning.judging import Judged, Judgement
from incfed.planning.report import as_data
from incfed.planning.search import SearchResult, Update
from incfed.planning.selection import choose, promising, upper_excess
from support.planning import CASE, SMALL, evidence, setting

# What a seed gives to all, and so to paying everyone: far more than settings differ by.
WORLDS = (-40.0, -60.0, -80.0, -100.0)
SHARE = Goal("payment", (Limit("reward", 0.9 * 70.0, share=90.0),), "reward")


def test_a_share_is_compared_seed_by_seed() -> None:
    """The reward is minus the "regret" of a sample: 92 % of paying everyone with every seed."""
    known = evidence([
        [(0.92 * regret, 5.0) for regret in WORLDS],
        [(0.99 * regret, 50.0) for regret in WORLDS],
        [(0.89 * regret, 0.0) for regret in WORLDS],
    ])  # fmt: skip
    known.everyone = [{"reward": -regret} for regret in WORLDS]
    excess = upper_excess(known, setting(0), SHARE)
    assert -0.05 < excess < 0  # safe, though the rewards alone are anything from 37 to 92
    assert choose(known, known.settings, SHARE) == setting(0)
    assert known.violation(setting(2), SHARE) == pytest.approx(0.01 / 0.9)
    # With two seeds it is compared with paying everyone with those two.
    assert known.violation(setting(0), SHARE, 2) == 0


def _judged(factor: float) -> Judged:
    plain = {"payment": 1.0, "communication": 1.0, "regret": 1.0}
    return Judged(f"{factor}", tuple({"reward": -factor * x, **plain} for x in WORLDS))


@pytest.mark.parametrize(("factor", "kept"), [(0.92, True), (0.88, False)])
def test_a_share_is_kept_for_sure_if_it_is_with_every_seed(factor: float, kept: bool) -> None:
    chosen = _judged(factor)
    judgement = Judgement(chosen, (_judged(1.0),), (), {}, chosen, {}, {})
    [found] = judgement.limits(SHARE, chosen)
    assert (found.kept, found.sure) == (kept, True)
    assert found.share is not None
    assert str(found.share) == f"{100 * factor:.0f}"
    [plain] = judgement.limits(Goal("payment", (Limit("reward", 63.0),), "reward"), chosen)
    assert (plain.sure, plain.share) == (False, None)  # a number is not one of the same world


def test_the_cheapest_plan_for_a_share_of_the_reward() -> None:
    """Had the share been a number, no setting were safe: rewards differ by far more than 1 % from
    world to world, and the dearest setting would be the nearest."""
    plan = incfed.plan(CASE, minimize="payment", min_reward="98%", **SMALL)
    assert plan.within
    assert plan.payment.mean == 0
    [kept] = plan.limits
    assert f"seed by seed {kept.share} %" in str(plan)


@pytest.mark.parametrize(
    "search",
    [
        {"mechanisms": ["PaymentFree"], "threshold": [10.0, 20.0]},
        {"mechanisms": ["PayEveryone"], "threshold": [10.0, 20.0]},
        {"mechanisms": ["PaymentEfficient"], "beta": [0.1, 0.2]},
    ],
    ids=["mechanism", "threshold", "beta"],
)
def test_nothing_is_advised_that_was_not_to_be_searched(search: dict[str, Any]) -> None:
    """Paying everyone at the usual D_c would be best in all of these."""
    told: list[Update] = []
    plan = incfed.plan(
        {**CASE, "search": search}, maximize="reward", min_reward="150%", progress=told.append,
        trials=16, held_out=3, jobs=1,
    )  # fmt: skip
    judgement, space = plan.judgement, plan.case.space
    found = [plan.setting, *(one for one, _ in plan.tried)]
    found += [update.best for update in told if update.best is not None]
    found += [one.setting for one in (*plan.frontier, *judgement.easiest.values()) if one.setting]
    assert all(map(space.holds, found))
    assert not space.holds(plan.case.everyone)
    assert judgement.everyone.setting == plan.case.everyone


def test_paying_everyone_may_be_chosen_where_it_is_searched() -> None:
    usual = read_case({**CASE, "search": {}}).everyone
    search = {
        "mechanisms": ["PayEveryone"], "triggers": ["Threshold"], "downloads": ["everyone"],
        "widths": ["paper"], "width_scale": 1.0, "trusts": ["full"],
        "threshold": usual.threshold, "ridge": usual.ridge,
    }  # fmt: skip
    plan = incfed.plan({**CASE, "search": search}, trials=16, held_out=3, jobs=1)
    assert plan.setting == usual
    assert (len(plan.tried), plan.runs) == (1, 16)  # no rival, no play-off


def test_ties_are_broken_by_what_else_matters() -> None:
    """Nothing is paid with the first four: the least regret is best, then the least traffic."""
    goal = Goal("payment", (Limit("regret", 50.0),))
    regrets = [(40.0, 0.0), (30.0, 0.0), (30.0, 0.0), (35.0, 0.0), (10.0, 1.0)]
    known = evidence([[one, one] for one in regrets], sent=[1.0, 9.0, 8.0, 1.0, 1.0])
    best = [setting(n) for n in (2, 1, 3, 0, 4)]
    assert promising(known, goal, 2, 5) == best
    while best:
        assert choose(known, sorted(best, key=known.settings.index), goal) == best.pop(0)


GOALS: dict[str, dict[str, Any]] = {
    "a budget": {"minimize": "regret", "budget": 60},
    "no limit": {"maximize": "reward"},
    "traffic": {"minimize": "regret", "budget": 60, "max_communication": 4000},
    "money": {"minimize": "payment", "max_regret": 20},
    "a share": {"minimize": "payment", "min_reward": "99%"},
    "nothing fits": {"minimize": "payment", "max_regret": 0.1},
}


def _others(plan: incfed.Plan) -> list[Judged]:
    """All settings that the page names beside the advice and that may be advised."""
    made = plan.judgement
    found = [*made.references, *made.frontier, made.leader, *made.easiest.values()]
    found += [one for _, one in made.spending.values()]
    found += [one for one in (made.runner_up, made.replaced) if one is not None]
    return [one for one in found if one.setting is not None and plan.case.space.holds(one.setting)]


def _check_that_nothing_better_fits(plan: incfed.Plan) -> None:
    made, goal = plan.judgement, plan.goal
    resources = [x.metric for x in goal.limits if x.metric in ("payment", "communication")]
    mine = made.chosen.means()
    for one in _others(plan):
        means = one.means()
        if made.violation(goal, one) == 0 and all(means[x] <= mine[x] for x in resources):
            assert loss(goal.aim, means[goal.aim]) >= loss(goal.aim, mine[goal.aim])
        sure = all(check.kept and check.sure for check in made.limits(goal, one))
        if sure and not goal.counts_traffic:  # money within its limit is free, if it buys something
            assert not made.chosen.worse(one, goal.aim).low > 0


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
def test_nothing_better_that_fits_stands_beside_the_advice(goal: dict[str, Any], seed: int) -> None:
    plan = incfed.plan(CASE, trials=16, held_out=4, jobs=1, seed=seed, **goal)
    _check_that_nothing_better_fits(plan)
    made = plan.judgement
    second, above = made.runner_up, {plan.setting, *(one.setting for one in made.references)}
    assert second is not None
    assert second.setting not in above
    rank = {
        one.setting: (made.violation(plan.goal, one), *plan.goal.order(one.means()))
        for one in _others(plan)
        if one.setting not in above
    }
    assert rank[second.setting] == min(rank.values())  # the nearest, if none keeps the limits
    assert list(as_data(plan)["references"]) == [one.label for one in made.references]


@pytest.mark.parametrize("goal", ["a budget", "no limit", "traffic"])
def test_held_out_runs_have_the_last_word(
    goal: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A search that chose the worst of its frontier: the plan is another one, in all its parts."""
    chosen = []

    def judge(case: Any, session: Any, found: SearchResult, *rest: Any) -> Judgement:
        aim, known = found.goal.aim, found.evidence
        fitting = [one for one in found.frontier if known.violation(one, found.goal) == 0]
        worst = max(fitting, key=lambda one: loss(aim, known.means(one)[aim]))
        chosen.append(worst)
        return judging.judge(case, session, replace(found, chosen=worst, leader=worst), *rest)

    monkeypatch.setattr(planner, "judge", judge)
    plan = incfed.plan(CASE, trials=32, held_out=4, jobs=1, output=tmp_path, **GOALS[goal])
    _check_that_nothing_better_fits(plan)
    made = plan.judgement
    assert made.replaced is not None
    assert [made.replaced.setting] == chosen != [plan.setting]
    assert made.replaced.worse(made.chosen, plan.goal.aim).mean > 0
    assert "so it is advised instead." in str(plan)
    assert made.chosen.setting == plan.setting
    assert {one.setting for one in made.sensitivity.values()} == {plan.setting}
    assert made.sensitivity[1.0] is made.chosen
    assert made.sensitivity[2.0].runs != made.sensitivity[0.5].runs
    assert next(iter(read(tmp_path / "run.toml").algorithms.values())) == plan.algorithm()
    assert all(one.setting != plan.setting for _, one in made.spending.values())


def test_what_beats_the_advice() -> None:
    """Money within its limit is free, if that is sure to be kept and the money buys something;
    traffic that is limited is not."""

    def one(*paid: float, better: Sequence[float] = (2.0, 2.1), sent: float = 5.0) -> Judged:
        pairs = zip(paid, better, strict=True)
        return Judged("", [
            {"payment": x, "communication": sent, "regret": 9.0 - y, "reward": y} for x, y in pairs
        ])  # fmt: skip

    chosen = one(10.0, 12.0, better=(0.0, 0.0))
    made = Judgement(chosen, (chosen,), (), {}, chosen, {}, {})
    chance = (9.0, -8.0)
    for aim in ("regret", "reward"):
        budget = Goal(aim, (Limit("payment", 100.0),))
        assert made.beats(budget, one(80.0, 81.0))
        assert not made.beats(budget, one(80.0, 81.0, better=chance))  # buys nothing for sure
        assert made.beats(budget, one(10.0, 12.0, better=chance))  # costs nothing
        assert not made.beats(budget, one(0.0, 0.0, better=(0.0, 0.0)))  # the same
        assert not made.beats(budget, one(60.0, 110.0))  # keeps the limit by its mean only
        assert not made.beats(budget, one(150.0, 150.0))
        assert made.beats(budget, one(80.0, 81.0, sent=8.0))
        both = Goal(aim, (*budget.limits, Limit("communication", 9.0)))
        assert made.beats(both, one(80.0, 81.0))
        assert not made.beats(both, one(80.0, 81.0, sent=8.0))
        assert made.beats(Goal(aim), one(150.0, 150.0, better=chance, sent=8.0))  # nothing asked
        tight = Goal(aim, (Limit("payment", 5.0),))  # the advice does not keep it either
        assert made.beats(tight, one(9.0, 12.0))
        assert not made.beats(tight, one(12.0, 12.0))


@pytest.mark.parametrize(
    ("goal", "how"),
    [
        ({"budget": 60}, "contenders"),
        ({"minimize": "payment"}, "contenders"),
        ({"minimize": "communication", "max_regret": 20}, "rivals"),
        ({"budget": 60, "max_communication": "50%"}, "rivals"),
    ],
)
def test_less_traffic_decides_ties_only_where_it_was_asked_for(
    goal: dict[str, Any], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    met = []
    for name in ("contenders", "rivals"):
        monkeypatch.setattr(search, name, lambda *given, _name=name, **named: met.append(_name))
    incfed.plan(CASE, trials=16, held_out=2, jobs=1, **goal)
    assert met == [how]
