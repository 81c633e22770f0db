"""Plots of a sweep: final figures over the values of one parameter, a line for each setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import axes as style
from .curves import Curve
from .numbers import tick
from .palette import Pens, pens_for
from .plots import new_figure, visible
from .tables import ComparisonRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Trend = Mapping[float | None, ComparisonRow]
"""Rows by the value of the parameter; None: it has no such parameter, and is the same for all."""

FAR_APART = 20.0  # values so many times apart call for a log scale


def trends(lines: Mapping[str, Trend], parameter: str, *, pens: Pens | None = None) -> Figure:
    """Regret (reward, if that is unknown), communication, payment and participation."""
    chosen = {**pens_for(lines), **(pens or {})}
    rows = [row for trend in lines.values() for row in trend.values()]
    unknown = all(math.isnan(row.regret.mean) for row in rows)
    values = sorted({x for trend in lines.values() for x in trend if x is not None})
    figure = new_figure(10.4, 6.8)
    metrics = ("reward" if unknown else "regret", "communication", "payment", "participation")
    for axes, metric in zip(figure.subplots(2, 2).flat, metrics, strict=True):
        _panel(axes, lines, metric, chosen, values, parameter)
    style.legend(figure, {label: chosen[label] for label in lines})
    return figure


def _panel(
    axes: Axes,
    lines: Mapping[str, Trend],
    metric: str,
    pens: Pens,
    values: Sequence[float],
    parameter: str,
) -> None:
    drawn: dict[str, Curve] = {}
    for label, trend in lines.items():
        line = _curve(trend, metric, values)
        if line.empty:
            continue
        pen, order = visible(pens[label], line, drawn), len(drawn) / 100
        if np.nanmax(line.sd, initial=0.0) > 1e-6 * np.nanmax(np.abs(line.mean)):
            low, high = style.band(line, metric)
            axes.fill_between(
                line.x, low, high, color=pen.colour, alpha=0.14, linewidth=0, zorder=1 + order
            )
        flat = None in trend
        axes.plot(
            line.x,
            line.mean,
            color=pen.colour,
            linestyle=pen.dashes,
            linewidth=1.2 if flat else 1.8,
            marker=None if flat else "o",
            markersize=4.5,
            clip_on=False,
            zorder=3 + order,
        )
        drawn[label] = line
    style.dress(axes, metric, 1, list(drawn.values()))
    _dress_parameter(axes, values, parameter)
    style.note_missing(axes, metric, [label for label in lines if label not in drawn])


def _curve(trend: Trend, metric: str, values: Sequence[float]) -> Curve:
    if None in trend:
        x = list(values)
        rows = [trend[None]] * len(x)
    else:
        x = sorted(value for value in trend if value is not None)
        rows = [trend[value] for value in x]
    spreads = [getattr(row, metric) for row in rows]
    return Curve(
        np.array(x, np.float64),
        np.array([one.mean for one in spreads], np.float64),
        np.array([one.sd for one in spreads], np.float64),
    )


def _dress_parameter(axes: Axes, values: Sequence[float], parameter: str) -> None:
    """The parameter in the place of the steps: marked at its values."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = values[0], values[-1]
    if low > 0 and high >= FAR_APART * low:
        axes.set_xscale("log")
        room = (high / low) ** 0.04
        axes.set_xlim(low / room, high * room)
        close = 0.045 * math.log(high / low)
        marks = _marks(values, [math.log(value) for value in values], close)
    else:
        room = 0.04 * (high - low) or 0.5
        axes.set_xlim(low - room, high + room)
        marks = _marks(values, values, 0.045 * (high - low))
    axes.xaxis.set_major_locator(FixedLocator(marks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    axes.xaxis.label.set_parse_math(False)
    axes.set_xlabel(parameter)


def _marks(values: Sequence[float], places: Sequence[float], close: float) -> list[float]:
    """Values that have room for a number, from the left; the last one always has."""
    kept = [len(values) - 1]
    for n in range(len(values) - 2, -1, -1):
        if places[kept[-1]] - places[n] >= close:
            kept.append(n)
    return [values[n] for n in reversed(kept)]
