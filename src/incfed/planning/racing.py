"""Racing: every setting gets a few seeds, and more only while it may still be the answer.

A setting is hopeless, after as many seeds as a rung has, if on the same seeds
- it is outside a limit by more than half of it, while another is within all limits; or
- another costs no more, is no further outside the limits, and is better in the aim by more than
  twice what chance explains.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .evidence import Evidence
from .goals import Goal
from .space import Setting

RUNGS = (2, 6, 16)  # seeds in all after each
FAR = 0.5  # of a limit
SURE = 2.0  # standard errors


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
