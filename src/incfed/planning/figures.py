"""The frontier, which shows what money buys: as a figure, and as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..results import axes as style
from ..results.axes import TITLES
from ..results.palette import GRID, INK, LIGHT
from ..results.plots import new_figure
from ..results.sketches import chart
from ..support.inputs import counted
from .advice import outside
from .goals import GAINS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .judging import Judged
    from .planner import Plan

LINE, CHOSEN, REFERENCE = LIGHT[0], LIGHT[1], LIGHT[6]
MARKERS = ("D", "s")  # of the references
FAR_APART = 50.0  # a log scale, if payments differ by more than this factor


def caption(plan: Plan) -> str:
    better = "higher" if plan.goal.bought in GAINS else "lower"
    broken = any(outside(plan, one) for one in plan.frontier)
    hollow = " Hollow: outside another limit." if broken else ""
    tied = plan.judgement.tied
    above = " The advice may lie off it: it ties with the best, and is cheaper." if tied else ""
    why = "are too optimistic" if plan.case.share is None else "come from the other part of the log"
    return (
        f"Held-out means with 95 % intervals; {better} is better. Dashed: limits. Pale dots are "
        f"all settings of the search: those figures {why}, and are used nowhere else. The line "
        "is the best that each sum buys; pale circles are no better than a cheaper setting."
        f"{above}{hollow}"
    )


def frontier(plan: Plan) -> Figure:
    metric = plan.goal.bought
    figure = new_figure(6.4, 4.4)
    axes = figure.add_subplot()
    line, chosen, references = plan.frontier, plan.judgement.chosen, _references(plan)
    _scales(axes, plan, [*line, chosen, *references])
    x, y = zip(*((means["payment"], means[metric]) for _, means in plan.tried), strict=True)
    axes.scatter(x, y, s=12, color=GRID, linewidth=0, zorder=1)
    best = plan.judgement.improving(metric)
    x, y = zip(*((one["payment"].mean, one[metric].mean) for one in [*best, best[-1]]), strict=True)
    end = max(one["payment"].mean for one in line)  # the best remains the best for more money
    axes.step([*x[:-1], end], y, where="post", color=LINE, linewidth=1.8, zorder=3)
    for one in line:
        faint = {} if one in best else {"alpha": 0.45}
        _mark(axes, one, metric, LINE, "o", 5.0, hollow=bool(outside(plan, one)), **faint)
    for one, marker in zip(references, MARKERS, strict=False):
        _mark(axes, one, metric, REFERENCE, marker, 5.5)
    _mark(axes, chosen, metric, CHOSEN, "o", 9.0)
    for limit in plan.goal.limits:
        if limit.metric in ("payment", metric):
            draw = axes.axvline if limit.metric == "payment" else axes.axhline
            draw(limit.value, color=CHOSEN, linewidth=1.0, linestyle=(0.0, (4.0, 3.0)), zorder=2)
    others = plan.goal.without("payment", metric).limits
    note = ", ".join([f"over {counted(plan.case.steps, 'step')}", *map(str, others)])
    style.dress_plane(axes, f"{TITLES[metric][0]} for money", note, "paid to clients")
    _legend(figure, [one.label for one in references])
    return figure


def _references(plan: Plan) -> list[Judged]:
    """Everyone paid, and nobody."""
    return [one for one in plan.judgement.references if one.setting is not None]


def _legend(figure: Figure, references: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    keys = [("the advice", CHOSEN, "o", 8.0, 0.0), ("best for the money", LINE, "o", 5.0, 1.8)]
    keys += [
        (one, REFERENCE, mark, 5.5, 0.0) for one, mark in zip(references, MARKERS, strict=True)
    ]
    keys += [("tried in the search", GRID, "o", 4.0, 0.0)]
    figure.legend(
        [
            Line2D([], [], color=colour, marker=marker, markersize=size, linewidth=width)
            for _, colour, marker, size, width in keys
        ],
        [label for label, *_ in keys],
        loc="outside upper left", ncols=style.legend_columns(figure, [label for label, *_ in keys]),
        frameon=False, fontsize=9.5, labelcolor=INK,
        handletextpad=0.5, columnspacing=1.6,
    )  # fmt: skip


def _scales(axes: Axes, plan: Plan, shown: list[Judged]) -> None:
    """Fit the axes to the held-out points; dots of the search outside are cut off."""
    metric = plan.goal.bought
    payments = [one["payment"].mean for one in shown]
    payments += [limit.value for limit in plan.goal.limits if limit.metric == "payment"]
    top, above = max(payments), [x for x in payments if x > 0]
    if above and top > FAR_APART * min(above):
        start = 10.0 ** math.floor(math.log10(min(above)))
        axes.set_xscale("symlog", linthresh=start, linscale=0.4)
        axes.set_xlim(-0.15 * start, 2.5 * top)
        powers = range(math.floor(math.log10(2.5 * top / start)) + 1)
        axes.set_xticks([0.0, *(start * 10.0**k for k in powers)])  # those of matplotlib overlap
    else:
        axes.set_xlim(-0.03 * (top or 1), 1.12 * (top or 1))
    ends = [end for one in shown for end in (one[metric].low, one[metric].high, one[metric].mean)]
    known = [end for end in ends if math.isfinite(end)]
    room = 0.18 * (max(known) - min(known)) or 0.1 * abs(max(known)) or 1.0
    axes.set_ylim(min(known) - room, max(known) + room)


def _mark(
    axes: Axes, one: Judged, metric: str, colour: str, marker: str, size: float, *,
    hollow: bool = False, alpha: float = 1.0,
) -> None:  # fmt: skip
    x, y = one["payment"], one[metric]
    axes.errorbar(
        x.mean, y.mean,
        xerr=None if math.isnan(x.half) else [[min(x.half, x.mean)], [x.half]],
        yerr=None if math.isnan(y.half) else y.half,
        color=colour, marker=marker, markersize=size, linewidth=1.1, zorder=4, alpha=alpha,
        markerfacecolor="none" if hollow else colour,
    )  # fmt: skip


def sketch(plan: Plan, width: int) -> list[str]:
    """The same as text, at most `width` columns wide, and a legend."""
    broken = [one for one in plan.frontier if outside(plan, one)]
    best = [one for one in plan.judgement.improving(plan.goal.bought) if one not in broken]
    rest = [one for one in plan.frontier if one not in (*best, *broken)]
    marks = {"□": _references(plan), "·": rest, "○": broken, "●": best,
             "◆": [plan.judgement.chosen]}  # fmt: skip
    dots = [
        (one["payment"].mean, one[plan.goal.bought].mean, mark)
        for mark, marked in marks.items()
        for one in marked
    ]
    legend = "◆ the advice   ● best for the money   □ everyone, nobody is paid"
    legend += "   · no better than a cheaper one" if rest else ""
    legend += "   ○ outside another limit" if broken else ""
    return [*chart(dots, width=width, across="paid to clients", root=True), legend]
