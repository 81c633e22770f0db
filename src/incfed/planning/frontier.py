"""Which settings are worth a look: the best within the limits, and the best for any money."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .evidence import Evidence, Interval, student
from .goals import Goal
from .space import Setting

LESS = 0.8  # of the traffic, before a setting is worth a word
CONFIDENT = 0.9  # that a mean keeps a limit, before a setting counts as within it


def upper_excess(evidence: Evidence, setting: Setting, goal: Goal) -> float:
    """By how much, as a share, the limit that is closest may be broken: a bound that is right nine
    times of ten. 0 or less: safe."""
    worst = -math.inf
    for limit in goal.limits:
        one = Interval.of(evidence.excesses(setting, limit))
        room = student(CONFIDENT, one.n - 1) * one.error if one.n > 1 else 0.0
        worst = max(worst, one.mean + room)
    return worst


def choose(evidence: Evidence, settings: Sequence[Setting], goal: Goal) -> Setting:
    """The best of those that keep the limits safely; if none does, the one that comes closest to
    that; and if none keeps them at all, the one that is least outside."""

    def rank(setting: Setting) -> tuple[float, ...]:
        outside = evidence.violation(setting, goal)
        risk = max(0.0, upper_excess(evidence, setting, goal))
        return outside, risk, *goal.order(evidence.means(setting))

    return min(settings, key=rank)


def promising(evidence: Evidence, goal: Goal, seeds: int, count: int) -> list[Setting]:
    """Of the settings that ran with so many seeds, the first `count` by what is known so far."""

    def rank(setting: Setting) -> tuple[float, ...]:
        return evidence.violation(setting, goal), *goal.order(evidence.means(setting))

    known = [one for one in evidence.settings if evidence.count(one) >= seeds]
    return sorted(known, key=rank)[:count]


def pareto(points: Mapping[Setting, tuple[float, float]]) -> list[Setting]:
    """Settings that no other is at least as good as in both coordinates (less is better), by the
    first of them; of equals the first."""
    kept: list[Setting] = []
    least = math.inf
    for setting, (_, second) in sorted(points.items(), key=lambda item: item[1]):
        if second < least:
            kept.append(setting)
            least = second
    return kept


def front(evidence: Evidence, goal: Goal, settings: Sequence[Setting], seeds: int) -> list[Setting]:
    """The frontier of what money buys, by rising payment, on the first `seeds`. Limits on its own
    two axes are left aside: it shows what breaking them would bring."""
    rest = goal.without("payment", goal.bought)
    outside = {one: evidence.violation(one, rest, seeds) for one in settings}
    fitting = [one for one in settings if outside[one] <= min(outside.values())]
    means = {one: evidence.means(one, seeds) for one in fitting}
    return pareto(
        {
            setting: (one["payment"], goal.loss(goal.bought, one[goal.bought]))
            for setting, one in means.items()
        }
    )


def thin(settings: Sequence[Setting], payments: Sequence[float], count: int) -> list[Setting]:
    """At most `count` of them, by rising payment: the first, the last, and others as evenly spread
    over the orders of magnitude of payment as can be."""
    kept = list(range(len(settings)))
    top = max(payments, default=0.0)
    place = [math.log1p(1000 * payment / top) if top else 0.0 for payment in payments]
    while len(kept) > max(count, 2):
        gaps = {k: place[kept[k + 1]] - place[kept[k - 1]] for k in range(1, len(kept) - 1)}
        del kept[min(gaps, key=gaps.__getitem__)]
    return [settings[k] for k in kept]


def thrifty(
    evidence: Evidence, goal: Goal, settings: Sequence[Setting], chosen: Setting
) -> Setting | None:
    """The one that sends least of those that are as good as `chosen`, by what chance explains (a
    standard error, seed by seed), that cost no more and keep the limits no worse; if it sends much
    less. Searching for the best figure alone would never mention it."""
    if goal.aim != goal.performance:  # as cheap is not as good
        return None
    best = evidence.means(chosen)

    def fits(setting: Setting) -> bool:
        means = evidence.means(setting)
        pairs = zip(
            evidence.values(setting, goal.aim), evidence.values(chosen, goal.aim), strict=True
        )
        worse = Interval.of(
            goal.loss(goal.aim, one) - goal.loss(goal.aim, two) for one, two in pairs
        )
        return (
            means["communication"] < LESS * best["communication"]
            and means["payment"] <= best["payment"]
            and evidence.violation(setting, goal) <= evidence.violation(chosen, goal)
            and worse.mean <= worse.error
        )

    fitting = [one for one in settings if fits(one)]
    return min(fitting, key=lambda one: evidence.means(one)["communication"], default=None)


def easiest(evidence: Evidence, goal: Goal, settings: Sequence[Setting]) -> dict[str, Setting]:
    """For each limit, the setting that keeps all others and comes closest to it, if there is."""
    found: dict[str, Setting] = {}
    for limit in goal.limits:
        rest = goal.without(limit.metric)
        fitting = [one for one in settings if evidence.violation(one, rest) == 0]
        if fitting:
            found[limit.metric] = min(fitting, key=lambda one: evidence.excess(one, limit))
    return found
