"""Figures of settings, seed by seed, and what they say about means."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from ..experiments.cells import Record
from ..results.numbers import human, human_spread
from .goals import METRICS, Figures, Goal, Limit
from .space import Setting

EXTRA = ("rounds", "participation", "matched")
ROUNDING = 1e-12  # relative: a spread below is none


def figures_of(record: Record) -> dict[str, float]:
    """Final figures of a run. Where a log skips steps that did not match, the reward is that of
    all steps if they paid like the matched ones: sums over different steps cannot be compared. (If
    none matched there is nothing to go by, and it is 0.)"""
    found = {name: record.figures[name] for name in (*METRICS, *EXTRA) if name in record.figures}
    steps, matched = record.figures["steps"], record.figures.get("matched", math.nan)
    if matched < steps:
        found["reward"] *= steps / matched if matched else 0.0
    return found


def means_of(runs: Sequence[Figures]) -> dict[str, float]:
    return {name: math.fsum(run[name] for run in runs) / len(runs) for name in METRICS}


@dataclass(frozen=True)
class Interval:
    """A mean over seeds, and how far off it may be: `half` on each side, 95 % (Student's t)."""

    mean: float
    half: float  # NaN for one run
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Interval:
        found = list(values)
        mean = math.fsum(found) / len(found) if found else math.nan
        if len(found) < 2 or not math.isfinite(mean):
            return cls(mean, math.nan, len(found))
        error = statistics.stdev(found) / math.sqrt(len(found))
        return cls(mean, student(0.975, len(found) - 1) * error, len(found))

    @property
    def error(self) -> float:
        """The standard error."""
        return self.half / student(0.975, self.n - 1) if self.n > 1 else math.nan

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half

    def __str__(self) -> str:
        mean, half, unit = human_spread(self.mean, self.half)
        exact = self.half <= ROUNDING * abs(self.mean)
        return human(self.mean) if exact or not half else f"{mean} ± {half}{unit}"


class Evidence:
    """What runs with the search's seeds have shown; settings are compared on the same seeds.
    `everyone` has the runs that limits given as a share refer to, apart from those of settings that
    may be chosen."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = tuple(seeds)
        self.everyone: list[dict[str, float]] = []
        self._runs: dict[Setting, list[dict[str, float]]] = {}

    def add(self, setting: Setting, runs: Iterable[dict[str, float]]) -> None:
        """Of the next seeds."""
        self._runs.setdefault(setting, []).extend(runs)

    def drop(self, setting: Setting) -> None:
        """It could not be run."""
        self._runs.pop(setting, None)

    def count(self, setting: Setting) -> int:
        return len(self._runs.get(setting, ()))

    @property
    def settings(self) -> list[Setting]:
        return list(self._runs)

    @property
    def runs(self) -> int:
        return sum(map(len, self._runs.values()))

    def values(self, setting: Setting, metric: str, n: int | None = None) -> list[float]:
        return [run[metric] for run in self._runs[setting][:n]]

    def means(self, setting: Setting, n: int | None = None) -> dict[str, float]:
        """Of all runs, or those with the first n seeds."""
        return means_of(self._runs[setting][:n])

    def excesses(self, setting: Setting, limit: Limit, n: int | None = None) -> list[float]:
        return limit.excesses(self._runs[setting][:n], self.everyone)

    def excess(self, setting: Setting, limit: Limit, n: int | None = None) -> float:
        return limit.excess(self._runs[setting][:n], self.everyone)

    def violation(self, setting: Setting, goal: Goal, n: int | None = None) -> float:
        return goal.violation(self._runs[setting][:n], self.everyone)


@cache
def student(level: float, freedom: int) -> float:
    """The quantile of Student's t, by bisection."""
    low, high = 0.0, 1e7
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _cumulative(middle, freedom) < level else (low, middle)
    return (low + high) / 2


def _cumulative(t: float, freedom: int) -> float:
    """P(T <= t) for t >= 0 and whole degrees of freedom: a finite sum in the angle."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, term, total = math.cos(angle), 1.0, 0.0
    if freedom % 2:
        term = cosine
        for k in range(1, freedom - 1, 2):
            total += term
            term *= cosine**2 * (k + 1) / (k + 2)
        return 0.5 + (angle + math.sin(angle) * total) / math.pi
    for k in range(0, freedom - 1, 2):
        total += term
        term *= cosine**2 * (k + 1) / (k + 2)
    return 0.5 + math.sin(angle) * total / 2
