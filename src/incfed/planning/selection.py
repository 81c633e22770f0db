"""Which settings go on, which one is chosen, and which are worth a look.

Racing: every setting gets a few seeds, and more only while it may still be the answer. A setting is
hopeless, after as many seeds as a rung has, if on the same seeds
- it is outside a limit by more than half of it, while another is within all limits; or
- another costs no more, is no further outside the limits, and is better in the aim by more than
  twice what chance explains.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .evidence import Evidence, Interval, student
from .goals import Goal
from .space import Setting

RUNGS = (2, 6, 16)  # seeds in all after each
FAR = 0.5  # of a limit
SURE = 2.0  # standard errors
LESS = 0.8  # of the traffic, before a setting is worth a word
CONFIDENT = 0.9  # that a mean keeps a limit, before a setting counts as within it


@dataclass(frozen=True)
class Score:
    """A setting on some seeds; less is better everywhere."""

    aim: float
    payment: float
    violation: float
    worst: float  # the largest excess over a limit, as a share of it


def score(evidence: Evidence, setting: Setting, goal: Goal, n: int) -> Score:
    means = evidence.means(setting, n)
    return Score(
        aim=goal.loss(goal.aim, means[goal.aim]),
        payment=means["payment"],
        violation=evidence.violation(setting, goal, n),
        worst=max((evidence.excess(setting, limit, n) for limit in goal.limits), default=0.0),
    )


def noise(evidence: Evidence, settings: Sequence[Setting], metric: str, n: int) -> float:
    """How far a run is from the mean of its setting once what its seed does to all of them is
    taken off: the typical size (median), as a standard deviation. Settings whose runs are all the
    same, such as those that pay nothing, have none of it and do not count."""
    table = [evidence.values(setting, metric, n) for setting in settings]
    table = [row for row in table if min(row) < max(row)]
    if len(table) < 2:
        return math.inf
    rows = [statistics.fmean(row) for row in table]
    columns = [
        statistics.median(row[k] - mean for row, mean in zip(table, rows, strict=True))
        for k in range(n)
    ]
    shift = statistics.fmean(columns)
    rest = [
        abs(row[k] - mean - columns[k] + shift)
        for row, mean in zip(table, rows, strict=True)
        for k in range(n)
    ]
    return 1.4826 * statistics.median(rest) * math.sqrt(n / (n - 1))


def survivors(evidence: Evidence, settings: Sequence[Setting], goal: Goal, n: int) -> list[Setting]:
    """Of `settings`, those that are not hopeless after n seeds, compared with all that have been
    run with as many."""
    known = [one for one in evidence.settings if evidence.count(one) >= n]
    scores = {one: score(evidence, one, goal, n) for one in known}
    chance = SURE * noise(evidence, known, goal.aim, n) * math.sqrt(2 / n)
    within = any(one.violation == 0 for one in scores.values())
    return [
        one
        for one in settings
        if not (within and scores[one].worst > FAR)
        and not any(_beats(other, scores[one], chance) for other in scores.values())
    ]


def _beats(one: Score, other: Score, chance: float) -> bool:
    return (
        one.payment <= other.payment
        and one.violation <= other.violation
        and other.aim - one.aim > chance
    )


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
