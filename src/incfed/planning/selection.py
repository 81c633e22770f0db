"""Which settings get more seeds, which one is chosen, and which others the plan mentions.

Racing: every setting gets a few seeds, and more only while it may still be the best. After each
rung, a setting is given up if, on the same seeds,
- it exceeds a limit by more than half of it, while another setting keeps all limits; or
- another setting costs no more, is no further outside the limits, and has a better aim by more than
  two standard errors.

Of the settings with all seeds, the best one and its rivals get as many other seeds; among those
that are then as good as the best, as far as the runs can tell, the cheapest is chosen.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..results.intervals import Interval, student
from .evidence import Evidence, interval_of
from .goals import Figures, Goal, loss
from .space import Setting

RUNGS = (2, 6, 16)  # how many seeds a setting has had after each
FAR = 0.5  # a setting that exceeds a limit by this share of it is given up
SURE = 2.0  # so is one that is worse by this many standard errors
NEAR = 3.0  # one that is worse by more than this is no rival of the best
TIED = 1.0  # and by no more than this, with other seeds, as good
RIVALS = 16  # that get other seeds, to see whether they are as good as the best
LESS = 0.8  # traffic below this share is much less
RESOURCES = ("payment", "communication")
SPARE = 0.1  # a share of a limit that is worth a word
CONFIDENT = 0.9  # how likely a mean must keep a limit for the setting to count as safe


@dataclass(frozen=True)
class Score:
    """A setting on some seeds; less of everything is better."""

    aim: float
    payment: float
    violation: float
    worst: float  # the largest excess over a limit, as a share of it


def score(evidence: Evidence, setting: Setting, goal: Goal, n: int) -> Score:
    means = evidence.means(setting, n)
    return Score(
        aim=loss(goal.aim, means[goal.aim]),
        payment=means["payment"],
        violation=evidence.violation(setting, goal, n),
        worst=max((evidence.excess(setting, limit, n) for limit in goal.limits), default=0.0),
    )


def noise(evidence: Evidence, settings: Sequence[Setting], metric: str, n: int) -> float:
    """The typical deviation (median, as a standard deviation) of a run from the mean of its
    setting, without what its seed does to all settings. Settings whose runs are all the same, such
    as those that pay nothing, do not count."""
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
    """Those of `settings` that are not given up after n seeds, compared with all settings that have
    been run with as many."""
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
    """The largest excess over a limit, as a share of it, that the runs do not rule out (an upper
    bound that holds nine times out of ten). 0 or less: safe."""

    def upper(one: Interval) -> float:
        return one.mean + (student(CONFIDENT, one.n - 1) * one.error if one.n > 1 else 0.0)

    found = (evidence.excesses(setting, limit) for limit in goal.limits)
    excesses = (interval_of(each, log=evidence.log) for each in found)
    return max(map(upper, excesses), default=-math.inf)


def choose(evidence: Evidence, settings: Sequence[Setting], goal: Goal) -> Setting:
    """The best of those that keep the limits safely; if none does, the safest of those that keep
    them; if none keeps them at all, the one that is least outside."""

    def rank(setting: Setting) -> tuple[float, ...]:
        outside = evidence.violation(setting, goal)
        risk = max(0.0, upper_excess(evidence, setting, goal))
        return outside, risk, *goal.order(evidence.means(setting))

    return min(settings, key=rank)


def promising(evidence: Evidence, goal: Goal, seeds: int, count: int) -> list[Setting]:
    """The best `count` of the settings that have had this many seeds, by what is known so far."""

    def rank(setting: Setting) -> tuple[float, ...]:
        return evidence.violation(setting, goal), *goal.order(evidence.means(setting))

    known = [one for one in evidence.settings if evidence.count(one) >= seeds]
    return sorted(known, key=rank)[:count]


def pareto(points: Mapping[Setting, tuple[float, float]]) -> list[Setting]:
    """Settings that no other equals or beats in both coordinates (less is better), sorted by the
    first; of equal ones, one is kept."""
    kept: list[Setting] = []
    least = math.inf
    for setting, (_, second) in sorted(points.items(), key=lambda item: item[1]):
        if second < least:
            kept.append(setting)
            least = second
    return kept


def front(evidence: Evidence, goal: Goal, settings: Sequence[Setting], seeds: int) -> list[Setting]:
    """The frontier of what money buys, by rising payment, on the first `seeds`. Limits on its own
    two axes do not count: it shows what breaking them would bring."""
    rest = goal.without("payment", goal.bought)
    outside = {one: evidence.violation(one, rest, seeds) for one in settings}
    least, points = min(outside.values()), {}
    for setting in settings:
        if outside[setting] <= least:
            means = evidence.means(setting, seeds)
            points[setting] = means["payment"], loss(goal.bought, means[goal.bought])
    return pareto(points)


def thin(settings: Sequence[Setting], payments: Sequence[float], count: int) -> list[Setting]:
    """At most `count` of them: the cheapest, the dearest, and others spread evenly over the orders
    of magnitude of payment. Both arguments are sorted by payment."""
    kept = list(range(len(settings)))
    top = max(payments, default=0.0)
    place = [math.log1p(1000 * payment / top) if top else 0.0 for payment in payments]
    while len(kept) > max(count, 2):
        gaps = {k: place[kept[k + 1]] - place[kept[k - 1]] for k in range(1, len(kept) - 1)}
        del kept[min(gaps, key=gaps.__getitem__)]
    return [settings[k] for k in kept]


def worse(evidence: Evidence, one: Setting, other: Setting, metric: str) -> Interval:
    """By how much `one` is worse than `other`, seed by seed."""
    values = evidence.values(one, metric), evidence.values(other, metric)
    gaps = [loss(metric, x - y) for x, y in zip(*values, strict=True)]
    return interval_of(gaps, log=evidence.log)


def as_good(
    evidence: Evidence, one: Setting, other: Setting, goal: Goal, errors: float = TIED
) -> bool:
    """Within so many standard errors: `one` is no worse in the aim and in what that is traded for
    (it pays no more), and it keeps the limits as well."""
    if evidence.violation(one, goal) > evidence.violation(other, goal):
        return False
    found = (worse(evidence, one, other, metric) for metric in (goal.aim, goal.partner))
    return all(by.mean <= errors * by.error for by in found)


def rivals(
    evidence: Evidence, settings: Sequence[Setting], goal: Goal, leader: Setting
) -> list[Setting]:
    """Settings that send much less than the leader, or pay less for as much traffic, and may be as
    good: first those that no other beats in traffic, or in money, and in what that buys. The leader
    was picked for looking best, so that others are compared with it generously; runs with other
    seeds must confirm them."""
    best, risk = evidence.means(leader), max(0.0, upper_excess(evidence, leader, goal))

    def cheaper(means: Figures) -> bool:
        sent, usually = means["communication"], best["communication"]
        return sent < LESS * usually or (
            LESS * sent <= usually and means["payment"] < best["payment"]
        )

    near = {
        one: means
        for one in settings
        if cheaper(means := evidence.means(one))
        and upper_excess(evidence, one, goal) <= risk
        and as_good(evidence, one, leader, goal, NEAR)
    }
    found: dict[Setting, None] = {}
    for metric in ("communication", "payment"):
        points = {
            one: (means[metric], loss(goal.bought, means[goal.bought]))
            for one, means in near.items()
        }
        found |= dict.fromkeys(_outermost(points, RIVALS // 2))
    return list(found)


def _outermost(points: Mapping[Setting, tuple[float, float]], count: int) -> list[Setting]:
    """So many settings: those of the frontier, then those of the frontier of the others, ..."""
    found: list[Setting] = []
    while len(found) < min(count, len(points)):
        line = pareto({one: point for one, point in points.items() if one not in found})
        found += thin(line, [points[one][0] for one in line], count - len(found))
    return found[:count]


def cheapest(
    evidence: Evidence, settings: Sequence[Setting], goal: Goal, leader: Setting
) -> Setting:
    """Of those that are as good as the leader, which is one of them: the one with the least
    traffic; of those that send little more than it, the one that pays least."""
    means = {one: evidence.means(one) for one in settings if as_good(evidence, one, leader, goal)}
    least = min(each["communication"] for each in means.values())
    light = [one for one in means if LESS * means[one]["communication"] <= least]
    return min(light, key=lambda one: (means[one]["payment"], means[one]["communication"]))


@dataclass(frozen=True)
class Spending:
    """Settings that use more of a limited resource than the advice, and keep all limits."""

    count: int
    best: Setting  # of them, by the aim


def spending(
    evidence: Evidence, settings: Sequence[Setting], goal: Goal, chosen: Setting
) -> dict[str, Spending]:
    """By limited resource: what using more of it, by a tenth of what is left or more, would bring.
    Left out is what the advice uses up, and what nobody was found to use."""
    found: dict[str, Spending] = {}
    for limit in goal.limits:
        used, metric = evidence.means(chosen)[limit.metric], limit.metric
        if metric not in RESOURCES or metric == goal.aim or used > (1 - SPARE) * limit.value:
            continue
        more = [
            one
            for one in settings
            if evidence.means(one)[metric] > used + SPARE * (limit.value - used)
            and evidence.violation(one, goal) == 0
        ]
        if more:
            best = min(more, key=lambda one: goal.order(evidence.means(one)))
            found[metric] = Spending(len(more), best)
    return found


def easiest(evidence: Evidence, goal: Goal, settings: Sequence[Setting]) -> dict[str, Setting]:
    """For each limit, the setting that keeps all others and comes closest to it, if any does."""
    found: dict[str, Setting] = {}
    for limit in goal.limits:
        rest = goal.without(limit.metric)
        fitting = [one for one in settings if evidence.violation(one, rest) == 0]
        if fitting:
            found[limit.metric] = min(fitting, key=lambda one: evidence.excess(one, limit))
    return found
