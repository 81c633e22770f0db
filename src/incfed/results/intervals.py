"""Means over seeds, and figures of a log, with their confidence intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from .numbers import finite, human, human_spread

ROUNDING = 1e-12  # relative: a smaller spread is none


@dataclass(frozen=True)
class Interval:
    """A mean over seeds with its 95 % confidence interval (Student's t): `half` on each side. Of a
    log, its figure with an interval from `n` bootstrapped logs."""

    mean: float
    half: float  # NaN for one run
    n: int
    freedom: int | None = None  # of Student's t, where it is not n - 1

    @classmethod
    def of(cls, values: Iterable[float]) -> Interval:
        found = list(values)
        mean = math.fsum(found) / len(found) if found else math.nan
        if len(found) < 2 or not math.isfinite(mean):
            return cls(mean, math.nan, len(found))
        error = statistics.stdev(found) / math.sqrt(len(found))
        return cls(mean, student(0.975, len(found) - 1) * error, len(found))

    @classmethod
    def bootstrap(cls, figure: float, replicas: Iterable[float], widening: float = 1.0) -> Interval:
        """The figure of a log. How far bootstrapped logs lie apart, times `widening`, is how far
        another log would be away: it does not shrink with their number, as the error of a mean
        does."""
        found = list(replicas)
        if len(found) < 2 or not math.isfinite(figure + math.fsum(found)):
            return cls(figure, math.nan, len(found))
        spread = widening * statistics.stdev(found)
        return cls(figure, student(0.975, len(found) - 1) * spread, len(found))

    @classmethod
    def of_worlds(cls, values: Iterable[float], runs: int) -> Interval:
        """The mean over worlds, each run `runs` times in a row, and how far a single world may be
        away from it. It does not shrink with the number of worlds; what chance does in a run is
        taken out, as far as that can be told (analysis of variance). Worlds that seem no further
        apart than chance explains may still differ: half a standard error is the least."""
        found = list(values)
        worlds = [found[n : n + runs] for n in range(0, len(found) - runs + 1, runs)]
        if runs < 2 or len(worlds) < 2 or not math.isfinite(math.fsum(found)):
            return cls.bootstrap(cls.of(found).mean, found)
        chance = statistics.fmean(map(statistics.variance, worlds)) / runs
        apart = statistics.variance(map(statistics.fmean, worlds))
        least = apart * math.sqrt(2 / (len(worlds) - 1)) / 2
        spread = max(apart - chance, least) + chance / len(worlds)
        half = student(0.975, len(worlds) - 1) * math.sqrt(spread)
        return cls(statistics.fmean(found), half, len(found), len(worlds) - 1)

    @property
    def error(self) -> float:
        """The standard error."""
        return self.half / student(0.975, self._freedom) if self._freedom > 0 else math.nan

    @property
    def positive(self) -> float:
        """How likely it is that the true figure is above 0; 1/2 for a 0 without spread."""
        if math.isnan(self.error):
            return math.nan
        if not self.half:
            return 0.5 + 0.5 * (self.mean > 0) - 0.5 * (self.mean < 0)
        t = self.mean / self.error
        return _cumulative(t, self._freedom) if t >= 0 else 1 - _cumulative(-t, self._freedom)

    @property
    def _freedom(self) -> int:
        return self.n - 1 if self.freedom is None else self.freedom

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half

    def ends(self) -> dict[str, float | None]:
        """For JSON: the mean and both ends; null if unknown."""
        return {"mean": finite(self.mean), "low": finite(self.low), "high": finite(self.high)}

    def __str__(self) -> str:
        mean, half, unit = human_spread(self.mean, self.half)
        exact = self.half <= ROUNDING * abs(self.mean)
        return human(self.mean) if exact or not half else f"{mean} ± {half}{unit}"


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
