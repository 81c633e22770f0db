"""The final figures of runs, seed by seed, and confidence intervals of their means."""

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
ROUNDING = 1e-12  # relative: a smaller spread is none


def figures_of(record: Record) -> dict[str, float]:
    """The final figures of a run. Where a log skips steps that do not match, the reward is scaled
    up to all steps, as if they paid like the matched ones: sums over different steps cannot be
    compared. (If none matched, it is 0.)"""
    found = {name: record.figures[name] for name in (*METRICS, *EXTRA) if name in record.figures}
    steps, matched = record.figures["steps"], record.figures.get("matched", math.nan)
    if matched < steps:
        found["reward"] *= steps / matched if matched else 0.0
    return found


def means_of(runs: Sequence[Figures]) -> dict[str, float]:
    return {name: math.fsum(run[name] for run in runs) / len(runs) for name in METRICS}


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % confidence interval (Student's t): `half` on each side."""

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
    """The runs of a search, by setting; the runs of each start with the same seeds. `everyone` has
    the runs that limits given as a share refer to, which need not be those of a setting that is
    searched."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = tuple(seeds)
        self.everyone: Sequence[Figures] = ()
        self._runs: dict[Setting, list[Figures]] = {}

    def add(self, setting: Setting, runs: Iterable[Figures]) -> None:
        """Add runs with the next seeds."""
        self._runs.setdefault(setting, []).extend(runs)

    def drop(self, setting: Setting) -> None:
        """Forget a setting that cannot be run."""
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
        """The means of all runs, or of those with the first n seeds."""
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
    cosine, odd, total = math.cos(angle), freedom % 2, 0.0
    term = cosine**odd
    for k in range(odd, freedom - 1, 2):
        total += term
        term *= cosine**2 * (k + 1) / (k + 2)
    total *= math.sin(angle)
    return 0.5 + ((angle + total) / math.pi if odd else total / 2)
