"""What a plan says of settings that it does not advise: what using up a limit would bring, which
setting the advice tied with, which did better in held-out runs, and which is about as good for
less."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..results.numbers import human
from ..support.inputs import counted
from .goals import GAINS, UNITS, loss
from .judging import Judged
from .selection import RESOURCES, SPARE
from .ties import LESS

if TYPE_CHECKING:
    from .planner import Plan

USES = {"payment": "paid", "communication": "sent"}
RESOURCE_WORDS = {"payment": "payment", "communication": "traffic"}


def unused(plan: Plan) -> list[str]:
    """What of the limits on money and traffic is left, and why."""
    found = []
    for limit in plan.goal.limits:
        left = limit.value - plan.judgement.chosen[limit.metric].mean
        if limit.metric not in RESOURCES or limit.metric == plan.goal.aim:
            continue
        if plan.within and left > SPARE * limit.value:
            whole = human(limit.value)
            said = f"{human(left)} of the {whole} that may be {USES[limit.metric]} are not needed."
            if left == limit.value and limit.metric == "payment":
                said = f"None of the budget of {whole} is needed."
            found.append(f"{said} {_why_unused(plan, limit.metric)}")
    return found


def _why_unused(plan: Plan, metric: str) -> str:
    what, aim = RESOURCE_WORDS[metric], plan.goal.aim
    if metric not in plan.judgement.spending:
        return f"No setting was found that keeps the limits and uses more {what}."
    count, other = plan.judgement.spending[metric]
    by = other.worse(plan.judgement.chosen, aim)
    more = "more" if (by.mean > 0) != (aim in GAINS) else "less"
    apart = f"{replace(by, mean=abs(by.mean))} {more} than the advice, seed by seed"
    figures = f"{UNITS[aim].format(other[aim])} for {UNITS[metric].format(other[metric])}"
    best = f"the best of {counted(count, 'setting')} with more {what} within the limits"
    if by.high < 0:
        return f"In held-out runs more {what} helps, {best} has {figures}: {apart} ({other.label})."
    outcome = f"bought no {'more' if aim in GAINS else 'less'} {aim}"
    sure = "" if by.low > 0 else ", within chance"
    return f"More {what} {outcome}: {best} has {figures}, {apart}{sure} ({other.label})."


def tie_words(plan: Plan) -> list[str]:
    """Which setting the advice tied with, and what that would cost."""
    aim, chosen, leader = plan.goal.aim, plan.judgement.chosen, plan.judgement.leader
    if leader is chosen:
        return []
    by = chosen.worse(leader, aim)
    apart = "no better than the advice, as far as these runs can tell"
    if by.low > 0:
        apart = f"better than the advice by {by}"
    best = "most" if aim in GAINS else "least"
    return [
        f"The {best} {aim} in the search was that of another setting, which the advice tied with: "
        f"{leader.label}. It has {_figures(plan, leader)}, {apart}."
    ]


def better(plan: Plan) -> list[str]:
    """The best other setting of the plan that keeps the limits, if it has a better aim than the
    advice in the held-out runs for sure. It may be chance: there are many."""
    judgement, aim = plan.judgement, plan.goal.aim
    found = {
        one.label: (judgement.chosen.worse(one, aim), one)
        for one in (*judgement.references, *judgement.frontier)
        if one is not judgement.leader and _fits(plan, one)
    }
    sure = [pair for pair in found.values() if pair[0].low > 0]
    if not sure:
        return []
    by, other = max(sure, key=lambda pair: pair[0].mean)
    more = "more" if aim in GAINS else "less"
    return [
        f"In the held-out runs {other.label} has {by} {more} {aim} than the advice: "
        f"{_figures(plan, other)}. In the search it was no better, sent more, or was not sure to "
        "keep the limits."
    ]


def _figures(plan: Plan, one: Judged) -> str:
    names = dict.fromkeys((plan.goal.aim, *RESOURCES))
    return ", ".join(UNITS[name].format(one[name]) for name in names)


def _fits(plan: Plan, one: Judged) -> bool:
    """Whether it may be advised, and keeps the limits as well as the advice."""
    judgement, goal = plan.judgement, plan.goal
    return (
        one.setting is not None
        and plan.case.space.holds(one.setting)
        and judgement.violation(goal, one) <= judgement.violation(goal, judgement.chosen)
    )


def thrift(plan: Plan) -> list[str]:
    """Settings of the plan that do as well as the advice in the held-out runs, as far as these can
    tell, with much less traffic and no more money, or with much less money. If none does with less
    traffic, what the best of those costs that nearly did."""
    judgement, goal, aim = plan.judgement, plan.goal, plan.goal.aim
    chosen, last = judgement.chosen, judgement.runner_up
    if aim != goal.performance:  # as cheap is not as good
        return []
    usual = chosen.means()
    known = (*judgement.references, *judgement.frontier, *([] if last is None else [last]))
    means = {one.label: (one, one.means()) for one in known if _fits(plan, one)}
    found = []
    for metric in ("communication", "payment"):
        less = [
            (each[metric], one)
            for one, each in means.values()
            if each[metric] < LESS * usual[metric]
            and (metric == "payment" or each["payment"] <= usual["payment"])
        ]
        tied = [pair for pair in less if pair[1].worse(chosen, aim).low <= 0]
        near = [pair for pair in less if metric == "communication" and pair[1] is last]
        if tied or near:
            least, other = min(tied or near, key=lambda x: (x[0], loss(aim, x[1][aim].mean)))
            found.append(_cheaper(plan, other, metric, least / usual[metric], tied=bool(tied)))
    return found


def _cheaper(plan: Plan, other: Judged, metric: str, share: float, *, tied: bool) -> str:
    """A setting that uses only this share of what the advice does, and how it compares."""
    aim, word = plan.goal.aim, {"communication": "traffic", "payment": "money"}[metric]
    worse = "less" if aim in GAINS else "more"
    part = f"{share:.0%} of the {word}" if share else f"no {word}"
    said = f"{other.label}, with {_figures(plan, other)}"
    if not tied:
        by = other.worse(plan.judgement.chosen, aim)
        return f"Not quite as good, for {part}: {said}: {by} {worse} {aim} than the advice."
    met = plan.judgement.play_off.get(other.setting) if other.setting is not None else None
    if met is None or not met.low > 0:
        return f"About as good for {part}: {said}."
    return (
        f"About as good in the held-out runs, for {part}: {said}. It is not advised because it had "
        f"{met} {worse} {aim} than the best in {counted(met.n, 'run')} that decided ties."
    )
