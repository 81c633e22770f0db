"""Plots of one or many runs: the mean over seeds as a line, one standard deviation as a band.

Figures are made with matplotlib's object interface: no pyplot, no window, no global state.
`figure.savefig("regret.svg")` writes one to a file.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.extras import needs
from ..values import Word
from . import axes as style
from .curves import Curve, curve
from .palette import SOLID, Pen, Pens, pens_for
from .tables import Runs, checked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRICS = ("regret", "reward", "communication", "packed", "payment", "participation")
PANEL = (5.2, 3.3)  # inches of a figure that stands beside others on a page
SINGLE = (6.2, 3.9)  # of one that stands alone; both fit a telephone
LABELLED = (7.6, 4.0)  # of one with labels beside it
FORMS: dict[str, dict[str, Any]] = {
    "curve": {"linewidth": 1.8, "solid_capstyle": "round"},
    "points": {"linewidth": 1.8, "marker": "o", "markersize": 4.5},
    "level": {"linewidth": 1.2},
}


def plot(runs: Runs, metric: str, *, pens: Pens | None = None, ax: Axes | None = None) -> Figure:
    """One metric over the steps; the lines are labelled at their ends.

    `metric` is regret, reward, communication, payment or participation. `pens` fixes colours
    where several figures show different sets of algorithms; see `palette.pens_for`. With `ax` it is
    drawn there, and the figure that has it is returned.
    """
    Word(METRICS).of("metric", metric)
    chosen = {**pens_for(checked(runs)), **(pens or {})}
    return labelled(_curves(runs, metric), metric, chosen, ax=ax)


def labelled(
    lines: Mapping[str, Curve],
    metric: str,
    pens: Pens,
    *,
    ax: Axes | None = None,
    size: tuple[float, float] = LABELLED,
    among: Sequence[Curve] = (),
) -> Figure:
    """Lines of one metric, labelled at their ends; `among`: see `axes.dress`."""
    axes = new_figure(*size).add_subplot() if ax is None else ax
    figure = axes.get_figure(root=True)
    assert figure is not None
    drawn = panel(axes, lines, metric, pens, among=among)
    style.label_ends(figure, axes, drawn, pens)
    return figure


def overview(runs: Runs, *, pens: Pens | None = None) -> Figure:
    """Regret, communication, payment and participation side by side, with one legend.

    Without expected rewards there is no regret: reward takes its place.
    """
    chosen = {**pens_for(checked(runs)), **(pens or {})}
    figure = new_figure(10.4, 6.8)
    panels = figure.subplots(2, 2).flat
    for axes, (metric, lines) in zip(panels, main_curves(runs).items(), strict=True):
        panel(axes, lines, metric, chosen)
    style.legend(figure, {label: chosen[label] for label in runs})
    return figure


def overview_panels(runs: Runs, *, pens: Pens | None = None) -> list[Figure]:
    """The same as four small figures without a legend, which a page puts side by side."""
    chosen = {**pens_for(checked(runs)), **(pens or {})}
    figures = []
    for metric, lines in main_curves(runs).items():
        figures.append(new_figure(*PANEL))
        panel(figures[-1].add_subplot(), lines, metric, chosen)
    return figures


def main_curves(runs: Runs) -> dict[str, dict[str, Curve]]:
    """The curves of an overview, by metric; reward if regret is unknown."""
    return {metric: _curves(runs, metric) for metric in main_metrics(_curves(runs, "regret"))}


def main_metrics(regret: Mapping[str, Curve]) -> tuple[str, ...]:
    first = "reward" if all(line.empty for line in regret.values()) else "regret"
    return (first, "communication", "payment", "participation")


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches."""
    with needs("matplotlib", "plotting", "plot"):
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, wspace=0.04, hspace=0.04)
    return _shown_figure()(figsize=(width, height), layout=layout, facecolor="white")


@cache
def _shown_figure() -> type[Figure]:
    """A figure that notebooks show although pyplot does not know it."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            target = io.BytesIO()
            self.savefig(target, format="png", dpi=110)
            return target.getvalue()

    return ShownFigure


def _curves(runs: Runs, metric: str) -> dict[str, Curve]:
    return {label: curve(results, metric) for label, results in runs.items()}


def panel(
    axes: Axes,
    lines: Mapping[str, Curve],
    metric: str,
    pens: Pens,
    *,
    title: str | None = None,
    among: Sequence[Curve] = (),
) -> dict[str, Curve]:
    """Draw the lines of one metric, except unknown ones; returns those that were drawn. `title` and
    `among`: see `axes.dress`."""
    drawn: dict[str, Curve] = {}
    for label, line in lines.items():
        if line.empty:
            continue
        pen = visible(pens[label], line, drawn)
        order = len(drawn) / 100
        if np.nanmax(line.sd, initial=0.0) > 1e-6 * np.nanmax(np.abs(line.mean)):
            low, high = style.band(line, metric)
            # Of a curve every other point will do, the last one included.
            some = slice(None, None, -2 if line.form == "curve" else 1)
            axes.fill_between(
                line.x[some], low[some], high[some],
                color=pen.colour, alpha=0.14, linewidth=0, zorder=1 + order,
            )  # fmt: skip
        if line.dots is not None:
            axes.plot(
                *line.dots, color=pen.colour, linestyle="", marker="o", markersize=3.2, alpha=0.5,
                markeredgewidth=0, zorder=2 + order, clip_on=False,
            )  # fmt: skip
        axes.plot(
            line.x, line.mean, color=pen.colour, linestyle=pen.dashes, zorder=3 + order,
            clip_on=False,  # a line along the axis keeps its full width
            **FORMS[line.form],
        )  # fmt: skip
        drawn[label] = line
    end = max(int(line.x[-1]) for line in lines.values())
    style.dress(axes, metric, end, list(drawn.values()), title, among)
    style.note_missing(axes, metric, [label for label in lines if label not in drawn])
    return drawn


def visible(pen: Pen, line: Curve, drawn: Mapping[str, Curve]) -> Pen:
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
