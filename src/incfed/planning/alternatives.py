"""What a plan says of settings that it does not advise: what using up a limit would bring, which
setting the advice tied with, and which is about as good for less."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..results.numbers import human
from ..support.inputs import counted
from .goals import GAINS, UNITS
from .judging import Judged
from .selection import LESS, RESOURCES, SPARE

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
            of = f"{human(left)} of the {human(limit.value)} that may be {USES[limit.metric]}"
            found.append(f"Unused: {of}. {_why_unused(plan, limit.metric)}")
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
    figures = [UNITS[name].format(leader[name]) for name in dict.fromkeys((aim, *RESOURCES))]
    best = "most" if aim in GAINS else "least"
    return [
        f"The {best} {aim} in the search was that of another setting, which the advice tied with: "
        f"{leader.label}. It has {', '.join(figures)}, {apart}."
    ]


def thrift(plan: Plan) -> list[str]:
    """Settings of the plan that do about as well with much less traffic and no more money, or with
    much less money, in the held-out runs."""
    judgement, goal, aim = plan.judgement, plan.goal, plan.goal.aim
    chosen = judgement.chosen
    if aim != goal.performance:  # as cheap is not as good
        return []

    def fits(one: Judged) -> bool:
        by = one.worse(chosen, aim)
        return (
            one.setting is not None
            and plan.case.space.holds(one.setting)
            and judgement.violation(goal, one) <= judgement.violation(goal, chosen)
            and by.mean <= by.error
        )

    found = []
    usual, fitting = chosen.means(), filter(fits, (*judgement.references, *judgement.frontier))
    means = {one.label: (one, one.means()) for one in fitting}
    for metric, word in (("communication", "traffic"), ("payment", "money")):
        less = [
            (each[metric], one)
            for one, each in means.values()
            if each[metric] < LESS * usual[metric]
            and (metric == "payment" or each["payment"] <= usual["payment"])
        ]
        if less:
            least, other = min(less, key=lambda pair: pair[0])
            figures = [UNITS[name].format(other[name]) for name in (aim, *RESOURCES)]
            share = f"{least / usual[metric]:.0%} of the {word}" if least else f"no {word}"
            found.append(f"About as good for {share}: {other.label}, with {', '.join(figures)}.")
    return found
