"""From results to lines: mean and spread over seeds, at no more points than a screen shows. Steps
that a replay skipped do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..support.inputs import InputError
from .arrays import FloatArray, IntArray
from .records import Result
from .replays import bootstrapped

POINTS = 300
SMOOTHING = 0.08  # participation: how far the moving average reaches, as a share of all steps


@dataclass(frozen=True)
class Curve:
    """One line of a plot: `mean` at `x` (steps from 1, or values of a parameter), and `sd` over
    seeds (NaN for one seed)."""

    x: IntArray | FloatArray
    mean: FloatArray
    sd: FloatArray
    form: Literal["curve", "points", "level"] = "curve"  # points are marked, a level is thin

    @property
    def empty(self) -> bool:
        return not np.isfinite(self.mean).any()


def curve(results: Sequence[Result], metric: str) -> Curve:
    """Mean and sample standard deviation of `metric` over seeds; the shortest run sets the end."""
    if not all(result.regret.size for result in results):
        raise InputError("runs: a result without steps; allowed is at least one step")
    steps = max(1, min(int(result.matched[-1]) for result in results))
    grid = np.unique(np.linspace(0, steps - 1, min(POINTS, steps)).round().astype(np.int64))
    if metric == "participation":
        pairs = [_participation(result, grid, steps) for result in results]
        values, weights = np.array([pair[0] for pair in pairs]), np.array([p[1] for p in pairs])
    else:
        values = np.array([getattr(result, metric)[_places(result, grid)] for result in results])
        weights = np.ones_like(values)
    again = np.array([bootstrapped(result.settings) for result in results])
    own = again if again.all() else ~again
    mean, sd = mean_and_sd(values[own], weights[own])
    if again.any():  # one log, and how far bootstrapped ones lie apart
        sd = mean_and_sd(values[again], weights[again])[1]
    return Curve(grid + 1, mean, sd)


def _places(result: Result, grid: IntArray) -> IntArray:
    """Where these of its matched steps are; without skipped steps it is the grid itself."""
    return np.searchsorted(result.matched, grid + 1).clip(max=result.matched.size - 1)


def mean_and_sd(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Over the first axis; with equal weights the plain mean and the sample standard deviation."""
    known = (weights > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = weights / weights.sum(axis=0)
        mean = (share * values).sum(axis=0)
        variance = (share * (values - mean) ** 2).sum(axis=0) * known / (known - 1)
    return mean, np.where(known > 1, np.sqrt(variance), np.nan)


def _participation(result: Result, grid: IntArray, steps: int) -> tuple[FloatArray, FloatArray]:
    """Share of pending clients that joined, averaged over the rounds around each grid point, and
    how many rounds that is: a seed with more rounds near a point says more about it.

    Single rounds jump between a few clients and all of them; a smooth window shows the trend.
    Rounds are first counted per grid cell, so that many rounds cost no more than few.
    """
    share = result.rounds.participation
    place = result.matched[result.rounds.step] - 1
    use = np.isfinite(share) & (place < steps)
    cell = np.searchsorted(grid, place[use]).clip(max=grid.size - 1)
    total = np.bincount(cell, weights=share[use], minlength=grid.size)
    count = np.bincount(cell, minlength=grid.size)
    distance = (grid[:, None] - grid[None, :]) / max(SMOOTHING * steps, 1.0)
    window = (1 - np.abs(distance).clip(max=1) ** 3) ** 3  # tricube: ends without a jump
    weight = window @ count.astype(np.float64)
    return (window @ total) / np.where(weight > 0, weight, 1.0), weight
