"""How a panel looks: titles, numbers on the axes, light grid, labels for the lines."""

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
FAR_APART = 15.0  # communication: final values so many times apart call for a log scale


def dress(
    axes: Axes, metric: str, end: int, lines: Sequence[Curve], title: str | None = None
) -> None:
    """Everything but the lines; `title` instead of the metric's own."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

    own, note = TITLES[metric]
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=ROUND_STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    axes.set_xlim(0, max(end, 1))
    if metric == "participation":
        axes.set_ylim(0, 1.03)
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    elif metric in ("communication", "packed") and (smallest := _far_apart(lines)):
        axes.set_yscale(
            "symlog", linthresh=smallest, linscale=0.5
        )  # unlike log, it has a place for zero
        axes.set_ylim(0, 2 * max(line.mean[-1] for line in lines))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
        note += ", log scale"
    else:
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND_STEPS))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
        if not lines or min(np.nanmin(line.mean) for line in lines) >= 0:
            axes.set_ylim(bottom=0, top=_top(lines))
    _frame(axes, title or own, note)
    axes.set_xlabel("step", fontsize=9, color=MUTED)


def dress_bars(axes: Axes, title: str, note: str, groups: Sequence[str]) -> None:
    """As `dress`, for bars in named groups."""
    from matplotlib.ticker import PercentFormatter

    axes.set_ylim(0, 1.08)
    axes.yaxis.set_major_formatter(PercentFormatter(xmax=1))
    axes.set_xticks(range(len(groups)), groups)
    _frame(axes, title, note)


def dress_plane(axes: Axes, title: str, note: str, across: str) -> None:
    """As `dress`, for points in a plane: `across` names what goes along the bottom."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(5, steps=ROUND_STEPS))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
    _frame(axes, title, note)
    axes.set_xlabel(across, fontsize=9, color=MUTED)


def _frame(axes: Axes, title: str, note: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=22)
    axes.annotate(
        note,
        xy=(0, 1),
        xycoords="axes fraction",
        xytext=(0, 8),
        textcoords="offset points",
        fontsize=8.5,
        color=MUTED,
    )
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
    """One standard deviation on each side, within what is possible."""
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
        keys,
        [str(n) for n in range(len(pens))],
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        fontsize=9.5,
        labelcolor=INK,
        handlelength=1.5,
        columnspacing=1.8,
    )
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
        axes.annotate(
            label,
            xy=(1, ends[label]),
            xytext=(1.05, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=9,
            color=INK,
            va="center",
            parse_math=False,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": pens[label].colour,
                "linewidth": 1.6,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )


def note_missing(axes: Axes, metric: str, labels: Sequence[str]) -> None:
    """Name the algorithms that have no line, and why."""
    if labels:
        reason = "no rounds" if metric == "participation" else "unknown"
        axes.text(
            0.02,
            0.04,
            f"{reason}: {', '.join(labels)}",
            transform=axes.transAxes,
            fontsize=8.5,
            color=MUTED,
            parse_math=False,
        )


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Ascending places, moved as little as needed to lie `gap` apart: close ones form a block
    around their common middle."""
    blocks: list[list[float]] = []
    for place in places:
        blocks.append([place])
        while len(blocks) > 1 and _low(blocks[-1], gap) < _high(blocks[-2], gap) + gap:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [_low(block, gap) + n * gap for block in blocks for n in range(len(block))]


def _low(block: Sequence[float], gap: float) -> float:
    return sum(block) / len(block) - gap * (len(block) - 1) / 2


def _high(block: Sequence[float], gap: float) -> float:
    return sum(block) / len(block) + gap * (len(block) - 1) / 2


def _far_apart(lines: Sequence[Curve]) -> float:
    """If the largest final value dwarfs the smallest above zero: the power of ten below that."""
    ends = [float(line.mean[-1]) for line in lines if line.mean[-1] > 0]
    if not ends or max(ends) <= FAR_APART * min(ends):
        return 0.0
    return 10.0 ** math.floor(math.log10(min(ends) / 10))


def _top(lines: Sequence[Curve]) -> float | None:
    """Where everything is zero (nobody was paid), matplotlib would centre the line."""
    return 1.0 if all(np.nanmax(line.mean) == 0 for line in lines) else None
