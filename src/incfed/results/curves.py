"""From results to lines: mean and spread over seeds, at no more points than a screen shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incfed.inputs import InputError
from incfed.results.arrays import FloatArray, IntArray
from incfed.results.records import Result

POINTS = 300
SMOOTHING = 0.025  # participation: width of the moving average, as a share of all steps


@dataclass(frozen=True)
class Curve:
    """One line of a plot: `mean` at 1-based steps `x`, and `sd` over seeds (NaN for one seed)."""

    x: IntArray
    mean: FloatArray
    sd: FloatArray

    @property
    def empty(self) -> bool:
        return not np.isfinite(self.mean).any()


def curve(results: Sequence[Result], metric: str) -> Curve:
    """Mean and sample standard deviation of `metric` over seeds; the shortest run sets the end."""
    steps = min(result.regret.size for result in results)
    if not steps:
        raise InputError("runs: a result without steps; allowed is at least one step")
    grid = np.unique(np.linspace(0, steps - 1, min(POINTS, steps)).round().astype(np.int64))
    if metric == "participation":
        values = np.array([_participation(result, grid, steps) for result in results])
    else:
        values = np.array([getattr(result, metric)[grid] for result in results])
    known = np.isfinite(values)
    count = known.sum(axis=0)
    if metric != "participation":
        count[count < len(results)] = 0  # a mean over some seeds only would jump
    with np.errstate(invalid="ignore", divide="ignore"):
        filled = np.where(known, values, 0.0)
        mean = filled.sum(axis=0) / count
        squares = np.where(known, values - mean, 0.0) ** 2
        sd = np.sqrt(squares.sum(axis=0) / (count - 1))
    mean[count < 1] = np.nan
    sd[count < 2] = np.nan
    return Curve(grid + 1, mean, sd)


def _participation(result: Result, grid: IntArray, steps: int) -> FloatArray:
    """Share of pending clients that joined, averaged over the rounds around each grid point.

    Single rounds jump between a few clients and all of them; a Gaussian window shows the trend.
    NaN where no round is near. Rounds are first counted per grid cell: many rounds cost no more.
    """
    share = result.rounds.participation
    use = np.isfinite(share) & (result.rounds.step < steps)
    cell = np.searchsorted(grid, result.rounds.step[use]).clip(max=grid.size - 1)
    total = np.bincount(cell, weights=share[use], minlength=grid.size)
    count = np.bincount(cell, minlength=grid.size)
    width = max(SMOOTHING * steps, 1.0)
    distance = (grid[:, None] - grid[None, :]) / width
    weight = np.where(np.abs(distance) <= 3, np.exp(-0.5 * distance**2), 0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray((weight @ total) / (weight @ count), dtype=np.float64)
