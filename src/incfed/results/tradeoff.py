"""What is learned for how much traffic: one point for each algorithm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from . import axes as style
from .document import Block, Figure
from .palette import INK, Pens, pens_for
from .plots import SINGLE, new_figure
from .tables import ComparisonRow, Runs, checked, compare

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MARKERS = "osD^v"  # where a colour is used again
LEAST = 3  # points that are worth a figure
CAPTION = (
    "Mean over seeds, with one standard deviation on each side, at the end of the run; towards the "
    "lower left is better."
)


def _communicating(runs: Runs) -> list[ComparisonRow]:
    """The algorithms whose traffic and regret are known, and that talk at all."""
    return [row for row in compare(runs) if row.packed.mean > 0 and row.regret.mean >= 0]


def tradeoff_blocks(runs: Runs, *, pens: Pens | None = None) -> Iterator[Block]:
    """The figure, if there is one."""
    if len(_communicating(runs)) >= LEAST:
        yield Figure(CAPTION, lambda: tradeoff(runs, pens=pens) or ())


def tradeoff(runs: Runs, *, pens: Pens | None = None) -> Drawing | None:
    """Regret against packed traffic; None if fewer than three algorithms have both."""
    chosen = {**pens_for(checked(runs)), **(pens or {})}
    rows = _communicating(runs)
    if len(rows) < LEAST:
        return None
    figure = new_figure(*SINGLE)
    axes = figure.add_subplot()
    used: Counter[str] = Counter()
    marks = []
    for row in rows:
        x, y, colour = row.packed, row.regret, chosen[row.label].colour
        marks.append(
            axes.errorbar(
                x.mean, y.mean,
                xerr=x.sd if x.sd >= 0 else None, yerr=y.sd if y.sd >= 0 else None,
                color=colour, marker=MARKERS[used[colour] % len(MARKERS)], markersize=7,
                linestyle="", elinewidth=1.0, zorder=3,
            )[0]
        )  # fmt: skip
        used[colour] += 1
    style.dress_plane(axes, "Regret and traffic", "both cumulative", "scalars sent, packed")
    axes.margins(0.12)
    box = figure.legend(
        marks, [str(n) for n in range(len(rows))], loc="outside upper left", frameon=False,
        ncols=style.legend_columns(figure, [_label(row) for row in rows]),
        fontsize=9, labelcolor=INK, handletextpad=0.4, labelspacing=0.7,
    )  # fmt: skip
    for text, row in zip(box.get_texts(), rows, strict=True):  # labels may hold "_" and "$"
        text.set_parse_math(False)
        text.set_text(_label(row))
    return figure


def _label(row: ComparisonRow) -> str:
    mean, _, unit = row.payment.parts()
    return f"{row.label}: pays {mean}{unit}" if row.payment.mean else f"{row.label}: pays nothing"
