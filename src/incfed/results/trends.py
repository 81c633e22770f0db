"""Plots of a sweep: final figures over the values of one parameter, a line for each setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import axes as style
from .curves import Curve
from .numbers import tick
from .palette import pens_for
from .plots import PANEL, main_metrics, new_figure, panel
from .tables import ComparisonRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Trend = Mapping[float | None, ComparisonRow]
"""Rows by the value of the parameter; None: it has no such parameter, and is the same for all."""

FAR_APART = 20.0  # a log scale, if values differ by at least this factor


def trends(lines: Mapping[str, Trend], parameter: str) -> list[Figure]:
    """Regret (reward, if that is unknown), communication, payment and participation, as panels
    without a legend."""
    values, pens = _values(lines), pens_for(lines)
    figures = []
    for metric in main_metrics(_curves(lines, "regret", values)):
        figures.append(new_figure(*PANEL))
        axes = figures[-1].add_subplot()
        panel(axes, _curves(lines, metric, values), metric, pens)
        _dress_parameter(axes, values, parameter)
    return figures


def trend(lines: Mapping[str, Trend], parameter: str, metric: str) -> Figure:
    """One metric; the lines are labelled at their ends."""
    values, pens = _values(lines), pens_for(lines)
    figure = new_figure(7.6, 4.0)
    axes = figure.add_subplot()
    drawn = panel(axes, _curves(lines, metric, values), metric, pens)
    _dress_parameter(axes, values, parameter)
    style.label_ends(figure, axes, drawn, pens)
    return figure


def _values(lines: Mapping[str, Trend]) -> list[float]:
    """Of the parameter."""
    return sorted({x for trend in lines.values() for x in trend if x is not None})


def _curves(lines: Mapping[str, Trend], metric: str, values: Sequence[float]) -> dict[str, Curve]:
    return {label: _curve(trend, metric, values) for label, trend in lines.items()}


def _curve(trend: Trend, metric: str, values: Sequence[float]) -> Curve:
    level = None in trend
    x = list(values) if level else sorted(value for value in trend if value is not None)
    spreads = [getattr(trend[None if level else value], metric) for value in x]
    return Curve(
        np.array(x, np.float64),
        np.array([one.mean for one in spreads], np.float64),
        np.array([one.sd for one in spreads], np.float64),
        "level" if level else "points",
    )


def _dress_parameter(axes: Axes, values: Sequence[float], parameter: str) -> None:
    """The parameter takes the place of the steps; its values are marked."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = values[0], values[-1]
    if low > 0 and high >= FAR_APART * low:
        axes.set_xscale("log")
        room = (high / low) ** 0.04
        axes.set_xlim(low / room, high * room)
        marks = _marks(values, [math.log(value) for value in values])
    else:
        room = 0.04 * (high - low) or 0.5
        axes.set_xlim(low - room, high + room)
        marks = _marks(values, values)
    axes.xaxis.set_major_locator(FixedLocator(marks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(tick)
    axes.xaxis.label.set_parse_math(False)
    axes.set_xlabel(parameter)


def _marks(values: Sequence[float], places: Sequence[float]) -> list[float]:
    """The values that have room for a number: the last one, and others far enough to its left."""
    close = 0.045 * (places[-1] - places[0])
    kept = [len(values) - 1]
    for n in range(len(values) - 2, -1, -1):
        if places[kept[-1]] - places[n] >= close:
            kept.append(n)
    return [values[n] for n in reversed(kept)]
