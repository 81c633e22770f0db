"""What a plan says of settings that it does not advise: what the search chose if held-out runs
decided otherwise, the runner-up, what using up a limit would bring, which setting the advice tied
with, and which is about as good for less."""

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

USES = {"payment": ("pay", "paid"), "communication": ("send", "sent")}


def unused(plan: Plan) -> list[str]:
    """What of the limits on money and traffic is left, and why."""
    found = []
    for limit in plan.goal.limits:
        left = limit.value - plan.judgement.chosen[limit.metric].mean
        if limit.metric not in RESOURCES or limit.metric == plan.goal.aim:
            continue
        if plan.within and left > SPARE * limit.value:
            whole = human(limit.value)
            said = (
                f"{human(left)} of the {whole} that may be {USES[limit.metric][1]} are not needed."
            )
            if left == limit.value and limit.metric == "payment":
                said = f"None of the budget of {whole} is needed."
            found.append(f"{said} {_why_unused(plan, limit.metric)}")
    return found


def _why_unused(plan: Plan, metric: str) -> str:
    use, aim = USES[metric][0], plan.goal.aim
    if metric not in plan.judgement.spending:
        return f"No setting was found that keeps the limits and {use}s more."
    count, other = plan.judgement.spending[metric]
    by = other.worse(plan.judgement.chosen, aim)
    more = "more" if (by.mean > 0) != (aim in GAINS) else "less"
    apart = f"{replace(by, mean=abs(by.mean))} {more} than the advice"
    figures = f"{UNITS[aim].format(other[aim])} for {UNITS[metric].format(other[metric])}"
    best = f"the best of {counted(count, 'setting')} {use}ing more within the limits"
    if by.high < 0:
        return (
            f"In the held-out runs it helps to {use} more: {best} has {figures}, {apart} "
            f"({other.label})."
        )
    outcome = f"brings no {'more' if aim in GAINS else 'less'} {aim}"
    sure = "" if by.low > 0 else ", which may be chance"
    return f"To {use} more {outcome}: {best} has {figures}, {apart}{sure} ({other.label})."


def replaced(plan: Plan) -> list[str]:
    """Why the advice is not what the search chose; and whether learning alone did better still."""
    judgement, goal = plan.judgement, plan.goal
    chosen, first, alone = judgement.chosen, judgement.replaced, judgement.alone
    found, more = [], "more" if goal.aim in GAINS else "less"
    if first is not None:
        found.append(
            f"In the held-out runs the advice has {first.worse(chosen, goal.aim)} {more} "
            f"{goal.aim}{_no_more(plan, first)} than what looked best in the search "
            f"({first.label}), so it is advised instead. As these runs decided, they may flatter "
            "it a little."
        )
    behind = goal.aim == goal.performance and chosen.worse(alone, goal.aim).mean > 0
    if behind and not plan.gain.high < 0 and not judgement.broken(goal, alone):
        found.append(
            "Learning alone did better than the advice in these runs, if only within chance, and "
            "costs nothing."
        )
    return found


def _no_more(plan: Plan, other: Judged) -> str:
    """What the advice costs of what is limited, beside another setting."""
    if not plan.goal.limits:
        return ""
    pairs = zip(plan.limits, plan.judgement.limits(plan.goal, other), strict=True)
    if all(own.excess.mean <= theirs.excess.mean for own, theirs in pairs):
        return " for no more of what you limit"
    return " within your limits"


def runner_up(plan: Plan) -> list[tuple[str, Judged]]:
    """The row of the best other setting; none if no other was tried."""
    other = plan.judgement.runner_up
    if other is None:
        return []
    broken = plan.judgement.broken(plan.goal, other)
    outside = f"; outside: {'; '.join(broken)}" if broken else ""
    return [(f"runner-up: {other.label}{outside}", other)]


def tie_words(plan: Plan) -> list[str]:
    """Which setting the advice tied with, and what that would cost."""
    aim, chosen, leader = plan.goal.aim, plan.judgement.chosen, plan.judgement.leader
    if not plan.judgement.tied:
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
    tell, with much less traffic and no more money, or with much less money."""
    judgement, goal, aim = plan.judgement, plan.goal, plan.goal.aim
    chosen, last = judgement.chosen, judgement.runner_up
    if aim != goal.performance:  # as cheap is not as good
        return []
    usual = chosen.means()
    known = (*judgement.references, *judgement.frontier, *([] if last is None else [last]))
    means = {one.label: (one, one.means()) for one in known if _fits(plan, one)}
    found = []
    for metric, word in (("communication", "traffic"), ("payment", "money")):
        tied = [
            (each[metric], one)
            for one, each in means.values()
            if each[metric] < LESS * usual[metric]
            and (metric == "payment" or each["payment"] <= usual["payment"])
            and one.worse(chosen, aim).low <= 0
        ]
        if tied:
            least, other = min(tied, key=lambda x: (x[0], loss(aim, x[1][aim].mean)))
            share = least / usual[metric]
            part = f"{share:.0%} of the {word}" if share else f"no {word}"
            found.append(f"About as good for {part}: {other.label}, with {_figures(plan, other)}.")
    return found
