"""From results to lines: mean and spread over seeds, at no more points than a screen shows. Steps
that a replay skipped do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import InputError
from ..types import Floats, Ints
from .records import Result
from .replays import bootstrapped

POINTS = 300
DOTS = 200  # single rounds that are shown of an algorithm; of more, every second, third, ...


@dataclass(frozen=True)
class Curve:
    """One line of a plot: `mean` at `x` (steps from 1, or values of a parameter), and `sd` over
    seeds (NaN for one seed)."""

    x: Ints | Floats
    mean: Floats
    sd: Floats
    form: Literal["curve", "points", "level"] = "curve"  # points are marked, a level is thin
    dots: tuple[Floats, Floats] | None = None  # what the mean is of: x and y

    @property
    def empty(self) -> bool:
        return not np.isfinite(self.mean).any()

    @property
    def sizes(self) -> list[float]:
        """How large it is, for the choice of a scale: a curve at its highest, points one by one."""
        known = self.mean[np.isfinite(self.mean)]
        if self.form == "points" or not known.size:
            return [float(value) for value in known]
        return [float(known.min() if known.min() < 0 else known.max())]


def curve(results: Sequence[Result], metric: str) -> Curve:
    """Mean and sample standard deviation of `metric` over seeds; the shortest run sets the end."""
    if not all(result.regret.size for result in results):
        raise InputError("runs: a result without steps; allowed is at least one step")
    steps = max(1, min(int(result.matched[-1]) for result in results))
    grid = np.unique(np.linspace(0, steps - 1, min(POINTS, steps)).round().astype(np.int64))
    if metric == "participation":
        return _participation(results, grid, steps)
    values = np.array([getattr(result, metric)[_places(result, grid)] for result in results])
    return Curve(grid + 1, *_line(results, values, np.ones_like(values)))


def _places(result: Result, grid: Ints) -> Ints:
    """Where these of its matched steps are; without skipped steps it is the grid itself."""
    return np.searchsorted(result.matched, grid + 1).clip(max=result.matched.size - 1)


def _line(results: Sequence[Result], values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Mean and spread over seeds; of a log its own line, and the spread of bootstrapped logs."""
    again = np.array([bootstrapped(result.settings) for result in results])
    own = again if again.all() else ~again
    mean, sd = mean_and_sd(values[own], weights[own])
    return mean, mean_and_sd(values[again], weights[again])[1] if again.any() else sd


def mean_and_sd(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Over the first axis; with equal weights the plain mean and the sample standard deviation."""
    known = (weights > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = weights / weights.sum(axis=0)
        mean = (share * values).sum(axis=0)
        variance = (share * (values - mean) ** 2).sum(axis=0) * known / (known - 1)
    return mean, np.where(known > 1, np.sqrt(variance), np.nan)


def _participation(results: Sequence[Result], grid: Ints, steps: int) -> Curve:
    """Share of pending clients that joined: the rounds one by one, and the mean of all rounds so
    far, which ends at the figure of the tables. NaN before the first round."""
    at: list[Floats] = []
    shares: list[Floats] = []
    means = []
    for result in results:
        share = result.rounds.participation
        place = result.matched[result.rounds.step] - 1
        use = np.isfinite(share) & (place < steps)
        step, share = place[use], share[use]
        so_far = np.searchsorted(step, grid, side="right")
        total = np.concatenate([[0.0], np.cumsum(share)])[so_far]
        means.append(np.where(so_far > 0, total / np.maximum(so_far, 1), np.nan))
        if not at or not bootstrapped(result.settings):  # dots of the log itself will do
            at.append(step)
            shares.append(share)
    values = np.array(means)
    known = np.isfinite(values)
    mean, sd = _line(results, np.where(known, values, 0.0), known.astype(np.float64))
    x, y = np.concatenate(at).astype(np.float64) + 1, np.concatenate(shares)
    order = np.argsort(x, kind="stable")[:: max(1, -(-x.size // DOTS))]
    return Curve(grid + 1, mean, sd, dots=(x[order], y[order]))
