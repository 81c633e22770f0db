"""Plots of one or many runs: the mean over seeds as a line, one standard deviation as a band.

Figures are made with matplotlib's object interface: no pyplot, no window, no global state.
`figure.savefig("regret.svg")` writes one to a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..support.extras import needs
from ..support.inputs import choice
from . import axes as style
from .curves import Curve, curve
from .palette import SOLID, Pen, Pens, pens_for
from .tables import Runs, checked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRICS = ("regret", "reward", "communication", "packed", "payment", "participation")


def plot(runs: Runs, metric: str, *, pens: Pens | None = None) -> Figure:
    """One metric over the steps; the lines are labelled at their ends.

    `metric` is regret, reward, communication, payment or participation. `pens` fixes colours
    where several figures show different sets of algorithms; see `palette.pens_for`.
    """
    choice("metric", metric, METRICS)
    chosen = {**pens_for(checked(runs)), **(pens or {})}
    figure = new_figure(7.6, 4.0)
    axes = figure.add_subplot()
    lines = _panel(axes, runs, metric, chosen)
    style.label_ends(figure, axes, lines, chosen)
    return figure


def overview(runs: Runs, *, pens: Pens | None = None) -> Figure:
    """Regret, communication, payment and participation side by side, with one legend.

    Without expected rewards there is no regret: reward takes its place.
    """
    chosen = {**pens_for(checked(runs)), **(pens or {})}
    unknown = all(curve(results, "regret").empty for results in runs.values())
    figure = new_figure(10.4, 6.8)
    metrics = ("reward" if unknown else "regret", "communication", "payment", "participation")
    for axes, metric in zip(figure.subplots(2, 2).flat, metrics, strict=True):
        _panel(axes, runs, metric, chosen)
    style.legend(figure, {label: chosen[label] for label in runs})
    return figure


def can_plot() -> bool:
    """Whether matplotlib is there."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(width: float, height: float) -> Figure:
    """An empty one, in inches."""
    with needs("matplotlib", "plotting", "plot"):
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, wspace=0.04, hspace=0.04)
    return Figure(figsize=(width, height), layout=layout, facecolor="white")


def _panel(axes: Axes, runs: Runs, metric: str, pens: Pens) -> dict[str, Curve]:
    """One metric of some runs; the lines drawn, by label."""
    lines = {label: curve(results, metric) for label, results in runs.items()}
    return panel(axes, lines, metric, pens)


def panel(
    axes: Axes, lines: Mapping[str, Curve], metric: str, pens: Pens, *, title: str | None = None
) -> dict[str, Curve]:
    """Draw these lines of one metric, those that are known; returns them."""
    drawn: dict[str, Curve] = {}
    for label, line in lines.items():
        if line.empty:
            continue
        pen = visible(pens[label], line, drawn)
        order = len(drawn) / 100
        if np.nanmax(line.sd, initial=0.0) > 1e-6 * np.nanmax(np.abs(line.mean)):
            low, high = style.band(line, metric)
            half = slice(None, None, -2)  # every other point will do, the last one included
            axes.fill_between(
                line.x[half],
                low[half],
                high[half],
                color=pen.colour,
                alpha=0.14,
                linewidth=0,
                zorder=1 + order,
            )
        axes.plot(
            line.x,
            line.mean,
            color=pen.colour,
            linestyle=pen.dashes,
            linewidth=1.8,
            solid_capstyle="round",
            clip_on=False,  # a line along the axis keeps its full width
            zorder=3 + order,
        )
        drawn[label] = line
    end = max(int(line.x[-1]) for line in lines.values())
    style.dress(axes, metric, end, list(drawn.values()), title)
    style.note_missing(axes, metric, [label for label in lines if label not in drawn])
    return drawn


def visible(pen: Pen, line: Curve, drawn: dict[str, Curve]) -> Pen:
    """Where a line lies exactly on another, dash it, so that both show."""
    below = sum(_coincide(line, other) for other in drawn.values())
    if not below or pen.dashes != SOLID:
        return pen
    return Pen(pen.colour, (0.0, (6.0 / below, 12.0 - 6.0 / below)))


def _coincide(one: Curve, two: Curve) -> bool:
    if one.x.size != two.x.size:
        return False
    size = max(np.nanmax(np.abs(one.mean)), np.nanmax(np.abs(two.mean)), 1e-300)
    return np.allclose(one.mean, two.mean, rtol=0, atol=0.004 * size, equal_nan=True)
