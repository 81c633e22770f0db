"""Calibration: what a model predicts, beside what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..environments.fitted.fit import Bin
from . import axes as style
from .palette import LIGHT, MUTED
from .plots import new_figure
from .sketches import Dot, chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SURE = 1.96  # standard errors on each side: 95 %
DIAGONAL = 48  # dots of the line in a chart as text


def fitting(bins: Sequence[Bin]) -> int:
    """In how many of the bins what was predicted is within the 95 % interval of what was seen."""
    return sum(abs(one.predicted - one.seen) <= SURE * one.error for one in bins)


def calibration(bins: Sequence[Bin]) -> Figure:
    """What was predicted against what was seen, with 95 % intervals; on the dashed line both are
    the same."""
    figure = new_figure(5.2, 4.4)
    axes = figure.add_subplot()
    bars = [SURE * one.error for one in bins]
    ends = [one.predicted for one in bins]
    ends += [one.seen + sign * bar for one, bar in zip(bins, bars, strict=True) for sign in (-1, 1)]
    low, high = min(ends), max(ends)
    room = 0.06 * (high - low) or 0.1
    low, high = low - room, high + room
    axes.plot([low, high], [low, high], color=MUTED, linewidth=1.0, linestyle=(0.0, (4.0, 3.0)))
    axes.errorbar(
        [one.predicted for one in bins], [one.seen for one in bins], yerr=bars, color=LIGHT[0],
        linestyle="", marker="o", markersize=5.5, linewidth=1.3, zorder=3,
    )  # fmt: skip
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    style.dress_plane(axes, "Reward seen", "mean of a tenth of the events", "reward predicted")
    return figure


def calibration_sketch(bins: Sequence[Bin], width: int) -> list[str]:
    """The same as text."""
    low = min(min(one.predicted, one.seen) for one in bins)
    high = max(max(one.predicted, one.seen) for one in bins)
    line = [low + (high - low) * n / (DIAGONAL - 1) for n in range(DIAGONAL)]
    dots: list[Dot] = [(x, x, "·") for x in line]
    dots += [(one.predicted, one.seen, "●") for one in bins]
    return [*chart(dots, width=width, across="reward predicted"), "● seen   · as predicted"]
