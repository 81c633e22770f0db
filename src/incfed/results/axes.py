"""How a plot looks: titles, axes, grid, legend and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..types import Floats
from .curves import Curve
from .numbers import tick
from .palette import GRID, INK, MUTED, Pens
from .scales import Broken, Logarithmic, scale_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

TITLES = {
    "regret": ("Regret", "cumulative"),
    "reward": ("Reward", "cumulative"),
    "gain": ("Normalised reward", "times that of a random policy"),
    "communication": ("Communication", "scalars sent, cumulative"),
    "packed": ("Packed communication", "scalars sent if packed, cumulative"),
    "payment": ("Payment", "paid to clients, cumulative"),
    "participation": ("Participation", "share of clients with new data that share it"),
}
ROUND_STEPS = [1, 2, 2.5, 5, 10]
SHARES = ("participation", "gain")  # always on a linear scale


def dress(
    axes: Axes,
    metric: str,
    end: int,
    lines: Sequence[Curve],
    title: str | None = None,
    among: Sequence[Curve] = (),
) -> None:
    """Everything but the lines; `title` takes the place of the metric's own. The scale is that of
    the lines `among` which they are, where panels should look alike."""
    from matplotlib.ticker import PercentFormatter

    own, note = TITLES[metric]
    _round_numbers(axes.xaxis)
    axes.set_xlim(0, max(end, 1))
    if metric == "participation":
        axes.set_ylim(0, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
        if any(line.dots is not None for line in lines):
            note = "of clients with new data; dots: single rounds, line: mean so far"
    else:
        note += _scale(axes, [] if metric in SHARES else (among or lines), lines)
    _frame(axes, title or own, note, "step")


def _scale(axes: Axes, among: Sequence[Curve], lines: Sequence[Curve]) -> str:
    """Set the scale of the amounts, see `scales`; returns what to say about it."""
    scale = scale_for(size for line in among for size in line.sizes)
    if isinstance(scale, Logarithmic):
        axes.set_yscale("symlog", linthresh=scale.start, linscale=0.5)  # unlike log, it shows zero
        axes.set_ylim(0, 2 * max(max(line.sizes) for line in among))
        axes.yaxis.set_major_formatter(tick)
        return ", log scale"
    if isinstance(scale, Broken):
        _broken(axes, scale)
        return "; shaded: compressed"
    _round_numbers(axes.yaxis)
    if not lines or min(np.nanmin(line.mean) for line in lines) >= 0:
        # Where everything is zero (nobody was paid), matplotlib would centre the line.
        zero = all(np.nanmax(line.mean) == 0 for line in lines)
        axes.set_ylim(bottom=0, top=1.0 if zero else None)
    return ""


def _broken(axes: Axes, scale: Broken) -> None:
    """Up to the break an ordinary axis; above it a shaded part with few numbers."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    axes.set_yscale("function", functions=(scale.forward, scale.inverse))
    axes.set_ylim(0, scale.top)
    below = MaxNLocator(4, steps=ROUND_STEPS).tick_values(0, scale.at)
    above = MaxNLocator(2, steps=ROUND_STEPS).tick_values(scale.at, scale.top)
    clear = scale.at + 0.25 * (scale.top - scale.at)  # numbers do not touch those below
    marks = [x for x in below if 0 <= x <= 0.95 * scale.at]
    marks += [x for x in above if clear <= x <= scale.top] or [scale.top]
    axes.yaxis.set_major_locator(FixedLocator(marks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(tick)
    axes.axhspan(scale.at, scale.top, color=GRID, alpha=0.35, linewidth=0, zorder=0)
    axes.axhline(scale.at, color=MUTED, linewidth=0.9, linestyle=(0.0, (2.0, 2.0)), zorder=2)


def dress_bars(axes: Axes, title: str, note: str, groups: Sequence[str]) -> None:
    """As `dress`, for bars in named groups."""
    from matplotlib.ticker import PercentFormatter

    axes.set_ylim(0, 1.08)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.set_xticks(range(len(groups)), groups)
    _frame(axes, title, note)


def dress_rows(axes: Axes, title: str, note: str) -> None:
    """As `dress`, for bars from left to right."""
    _round_numbers(axes.xaxis)
    _frame(axes, title, note)
    axes.grid(False, axis="y")
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)


def dress_cells(axes: Axes, metric: str, note: str, across: str, down: str) -> None:
    """As `dress`, for a grid of cells."""
    title, own = TITLES[metric]
    _frame(axes, title, f"{own}; {note}" if note else own, across)
    axes.set_ylabel(down, fontsize=9, color=MUTED)
    axes.grid(False)
    axes.spines["bottom"].set_visible(False)
    for text in (
        *axes.get_xticklabels(),
        *axes.get_yticklabels(),
        axes.xaxis.label,
        axes.yaxis.label,
    ):
        text.set_parse_math(False)


def dress_plane(axes: Axes, title: str, note: str, across: str) -> None:
    """As `dress`, for points in a plane; `across` is the title of the x axis."""
    _round_numbers(axes.yaxis)
    axes.xaxis.set_major_formatter(tick)
    _frame(axes, title, note, across)


def _round_numbers(axis: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(5, steps=ROUND_STEPS))
    axis.set_major_formatter(tick)


def _frame(axes: Axes, title: str, note: str, across: str = "") -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=22)
    axes.annotate(
        note, xy=(0, 1), xycoords="axes fraction", xytext=(0, 8), textcoords="offset points",
        fontsize=8.5, color=MUTED,
    )  # fmt: skip
    axes.set_xlabel(across, fontsize=9, color=MUTED)
    axes.tick_params(length=0, labelsize=9, labelcolor=MUTED, pad=5)
    axes.set_axisbelow(True)
    axes.grid(True, axis="y", color=GRID, linewidth=0.8)
    axes.set_facecolor("none")
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(MUTED)
        spine.set_linewidth(0.8)
        spine.set_zorder(1)


def band(line: Curve, metric: str) -> tuple[Floats, Floats]:
    """One standard deviation on each side, cut to possible values."""
    low, high = line.mean - line.sd, line.mean + line.sd
    if metric in ("communication", "packed", "payment"):
        low = low.clip(min=0)
    return (low.clip(0, 1), high.clip(0, 1)) if metric == "participation" else (low, high)


def legend(figure: Figure, pens: Pens) -> None:
    """One legend above all panels, in as many columns as fit."""
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=pen.colour, linestyle=pen.dashes, linewidth=2.6)
        for pen in pens.values()
    ]
    columns = legend_columns(figure, list(pens))
    box = figure.legend(
        keys, [str(n) for n in range(len(pens))], loc="outside upper left", ncols=columns,
        frameon=False, fontsize=9.5, labelcolor=INK, handlelength=1.5, columnspacing=1.8,
    )  # fmt: skip
    # Set late: older matplotlib drops labels that start with "_", and all take "$" for maths.
    for text, label in zip(box.get_texts(), pens, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def legend_columns(figure: Figure, labels: Sequence[str]) -> int:
    """How many of them fit side by side."""
    inches = max(map(len, labels)) * 0.085 + 0.6
    return max(1, min(len(labels), int((figure.get_figwidth() - 0.3) / inches)))


def label_ends(figure: Figure, axes: Axes, lines: Mapping[str, Curve], pens: Pens) -> None:
    """Write each name beside the end of its line, moved apart where lines end close together."""
    to_fraction = axes.transData + axes.transAxes.inverted()
    ends = {}
    for label, line in lines.items():
        known = np.flatnonzero(np.isfinite(line.mean))[-1]
        ends[label] = float(to_fraction.transform((line.x[known], line.mean[known]))[1])
    gap = 15 / (72 * figure.get_figheight() * 0.75)  # a line of text, as a share of the height
    order = sorted(ends, key=ends.__getitem__)
    places = _apart([ends[label] for label in order], gap)
    for label, place in zip(order, places, strict=True):
        pointer = {"arrowstyle": "-", "color": pens[label].colour, "linewidth": 1.6}
        axes.annotate(
            label, xy=(1, ends[label]), xytext=(1.05, place),
            xycoords="axes fraction", textcoords="axes fraction",
            fontsize=9, color=INK, va="center", parse_math=False, annotation_clip=False,
            arrowprops={**pointer, "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip


def note_missing(axes: Axes, metric: str, labels: Sequence[str]) -> None:
    """Name the algorithms that have no line, and why."""
    if labels:
        reason = "no rounds" if metric == "participation" else "unknown"
        axes.text(
            0.02, 0.04, f"{reason}: {', '.join(labels)}", transform=axes.transAxes,
            fontsize=8.5, color=MUTED, parse_math=False,
        )  # fmt: skip


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Ascending places, moved as little as needed to lie `gap` apart: close ones form a block
    around their common middle."""

    def end(block: Sequence[float], side: int) -> float:
        return sum(block) / len(block) + side * gap * (len(block) - 1) / 2

    blocks: list[list[float]] = []
    for place in places:
        blocks.append([place])
        while len(blocks) > 1 and end(blocks[-1], -1) < end(blocks[-2], 1) + gap:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [end(block, -1) + n * gap for block in blocks for n in range(len(block))]
