"""How a plot looks: titles, axes, grid, legend and labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .arrays import FloatArray
from .curves import Curve
from .numbers import tick
from .palette import GRID, INK, MUTED, Pens

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
FAR_APART = 15.0  # a log scale for communication, if final values differ by more than this factor


def dress(
    axes: Axes, metric: str, end: int, lines: Sequence[Curve], title: str | None = None
) -> None:
    """Everything but the lines; `title` takes the place of the metric's own."""
    from matplotlib.ticker import PercentFormatter

    own, note = TITLES[metric]
    _round_numbers(axes.xaxis)
    axes.set_xlim(0, max(end, 1))
    if metric == "participation":
        axes.set_ylim(0, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    elif metric in ("communication", "packed") and (smallest := _far_apart(lines)):
        axes.set_yscale("symlog", linthresh=smallest, linscale=0.5)  # unlike log, it shows zero
        axes.set_ylim(0, 2 * max(line.mean[-1] for line in lines))
        axes.yaxis.set_major_formatter(tick)
        note += ", log scale"
    else:
        _round_numbers(axes.yaxis)
        if not lines or min(np.nanmin(line.mean) for line in lines) >= 0:
            # Where everything is zero (nobody was paid), matplotlib would centre the line.
            zero = all(np.nanmax(line.mean) == 0 for line in lines)
            axes.set_ylim(bottom=0, top=1.0 if zero else None)
    _frame(axes, title or own, note, "step")


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


def band(line: Curve, metric: str) -> tuple[FloatArray, FloatArray]:
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
    inches = max(map(len, pens)) * 0.085 + 0.6
    columns = max(1, min(len(pens), int((figure.get_figwidth() - 0.3) / inches)))
    box = figure.legend(
        keys, [str(n) for n in range(len(pens))], loc="outside upper left", ncols=columns,
        frameon=False, fontsize=9.5, labelcolor=INK, handlelength=1.5, columnspacing=1.8,
    )  # fmt: skip
    # Set late: older matplotlib drops labels that start with "_", and all take "$" for maths.
    for text, label in zip(box.get_texts(), pens, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


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


def _far_apart(lines: Sequence[Curve]) -> float:
    """Where a log scale should begin: a power of ten below the smallest final value above zero; 0
    if no log scale is needed."""
    ends = [float(line.mean[-1]) for line in lines if line.mean[-1] > 0]
    if not ends or max(ends) <= FAR_APART * min(ends):
        return 0.0
    return 10.0 ** math.floor(math.log10(min(ends) / 10))
