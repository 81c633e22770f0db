"""Which settings get more seeds, which one is chosen, and which others the plan mentions.

Racing: every setting gets a few seeds, and more only while it may still be the best. After each
rung, a setting is given up if, on the same seeds,
- it exceeds a limit by more than half of it, while another setting keeps all limits; or
- another setting costs no more, is no further outside the limits, and has a better aim by more than
  two standard errors.

Of the settings with all seeds, the best one leads; in `ties` it meets its rivals again.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..results.intervals import Interval, student
from .evidence import Evidence
from .goals import Goal, loss
from .space import Setting

RUNGS = (2, 6, 16)  # how many seeds a setting has had after each
FAR = 0.5  # a setting that exceeds a limit by this share of it is given up
SURE = 2.0  # so is one that is worse by this many standard errors
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
    known = [setting for setting in evidence.settings if evidence.count(setting) >= n]
    scores = {setting: score(evidence, setting, goal, n) for setting in known}
    chance = SURE * noise(evidence, known, goal.aim, n) * math.sqrt(2 / n)
    within = any(scored.violation == 0 for scored in scores.values())
    return [
        setting
        for setting in settings
        if not (within and scores[setting].worst > FAR)
        and not any(_beats(other, scores[setting], chance) for other in scores.values())
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
    excesses = map(Interval.of, found)
    return max(map(upper, excesses), default=-math.inf)


def choose(evidence: Evidence, settings: Sequence[Setting], goal: Goal) -> Setting:
    """The best of those that keep the limits safely; if none does, the safest of those that keep
    them; if none keeps them at all, the one that is least outside."""
    return ranked(evidence, settings, goal)[0]


def ranked(evidence: Evidence, settings: Sequence[Setting], goal: Goal) -> list[Setting]:
    """The one to `choose` first, then the one to choose without it, ..."""

    def rank(setting: Setting) -> tuple[float, ...]:
        outside = evidence.violation(setting, goal)
        risk = max(0.0, upper_excess(evidence, setting, goal))
        return outside, risk, *goal.order(evidence.means(setting))

    return sorted(settings, key=rank)


def promising(evidence: Evidence, goal: Goal, seeds: int, count: int) -> list[Setting]:
    """The best `count` of the settings that have had this many seeds, by what is known so far."""

    def rank(setting: Setting) -> tuple[float, ...]:
        return evidence.violation(setting, goal), *goal.order(evidence.means(setting))

    known = [setting for setting in evidence.settings if evidence.count(setting) >= seeds]
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


def front(
    evidence: Evidence, goal: Goal, settings: Sequence[Setting], seeds: int,
    resource: str = "payment",
) -> list[Setting]:  # fmt: skip
    """The frontier of what money (or traffic) buys, the cheapest first, on the first `seeds`.
    Limits on its own two axes do not count: it shows what breaking them would bring."""
    rest = goal.without(resource, goal.bought)
    outside = {setting: evidence.violation(setting, rest, seeds) for setting in settings}
    least, points = min(outside.values()), {}
    for setting in settings:
        if outside[setting] <= least:
            means = evidence.means(setting, seeds)
            points[setting] = means[resource], loss(goal.bought, means[goal.bought])
    return pareto(points)


def thin(settings: Sequence[Setting], payments: Sequence[float], count: int) -> list[Setting]:
    """At most `count` of them: the cheapest, the dearest, and others spread evenly over the orders
    of magnitude of payment (or traffic). Both arguments are sorted by it."""
    kept = list(range(len(settings)))
    top = max(payments, default=0.0)
    place = [math.log1p(1000 * payment / top) if top else 0.0 for payment in payments]
    while len(kept) > max(count, 2):
        gaps = {k: place[kept[k + 1]] - place[kept[k - 1]] for k in range(1, len(kept) - 1)}
        del kept[min(gaps, key=gaps.__getitem__)]
    return [settings[k] for k in kept]


@dataclass(frozen=True)
class CostlierSettings:
    """Settings that use more of a limited resource than the advice, and keep all limits."""

    count: int
    best: Setting  # of them, by the aim


def spending(
    evidence: Evidence, settings: Sequence[Setting], goal: Goal, chosen: Setting
) -> dict[str, CostlierSettings]:
    """By limited resource: what using more of it, by a tenth of what is left or more, would bring.
    Left out is what the advice uses up, and what nobody was found to use."""
    found: dict[str, CostlierSettings] = {}
    for limit in goal.limits:
        used, metric = evidence.means(chosen)[limit.metric], limit.metric
        if metric not in RESOURCES or metric == goal.aim or used > (1 - SPARE) * limit.value:
            continue
        more = [
            setting
            for setting in settings
            if evidence.means(setting)[metric] > used + SPARE * (limit.value - used)
            and evidence.violation(setting, goal) == 0
        ]
        if more:
            best = min(more, key=lambda setting: goal.order(evidence.means(setting)))
            found[metric] = CostlierSettings(len(more), best)
    return found


def easiest(evidence: Evidence, goal: Goal, settings: Sequence[Setting]) -> dict[str, Setting]:
    """For each limit, the setting that keeps all others and comes closest to it, if any does."""
    found: dict[str, Setting] = {}
    for limit in goal.limits:
        rest = goal.without(limit.metric)
        fitting = [setting for setting in settings if evidence.violation(setting, rest) == 0]
        if fitting:
            found[limit.metric] = min(fitting, key=lambda setting: evidence.excess(setting, limit))
    return found
