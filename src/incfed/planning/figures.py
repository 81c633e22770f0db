"""The frontier, that is what money buys: as a figure, and in letters for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..results import axes as style
from ..results.axes import TITLES
from ..results.numbers import tick
from ..results.palette import GRID, INK, LIGHT
from ..results.plots import new_figure
from ..support.inputs import counted
from .advice import outside
from .goals import GAINS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .judging import Judged
    from .planner import Plan

LINE, CHOSEN, REFERENCE = LIGHT[0], LIGHT[1], LIGHT[6]
MARKERS = ("D", "s")  # of what it is compared with
FAR_APART = 50.0  # payments so many times apart call for a log scale
HEIGHT = 9  # lines of a chart in letters


def caption(plan: Plan) -> str:
    better = "higher" if plan.goal.bought in GAINS else "lower"
    broken = any(outside(plan, one) for one in plan.frontier)
    hollow = " Hollow: outside another limit." if broken else ""
    why = "are too rosy" if plan.case.share is None else "come from the other part of the log"
    return (
        f"Held-out means with 95 % intervals; {better} is better. Dashed: limits. Pale dots are "
        f"settings as the search saw them: such figures {why}, and are stated nowhere else. The "
        "line joins what the search found best for the money; held-out, a dearer point may be no "
        f"better.{hollow}"
    )


def frontier(plan: Plan) -> Figure:
    metric = plan.goal.bought
    figure = new_figure(10.4, 4.6)
    axes = figure.add_subplot()
    line, chosen = plan.frontier, plan.judgement.chosen
    references = [one for one in plan.judgement.references if one.setting is not None]
    shown = [*line, chosen, *references]
    _scales(axes, plan, shown)
    tried = [means for _, means in plan.tried]
    axes.scatter(
        [means["payment"] for means in tried],
        [means[metric] for means in tried],
        s=12, color=GRID, linewidth=0, zorder=1,
    )  # fmt: skip
    axes.plot(
        [one["payment"].mean for one in line],
        [one[metric].mean for one in line],
        color=LINE, linewidth=1.8, zorder=3,
    )  # fmt: skip
    for one in line:
        _mark(axes, one, metric, LINE, "o", 5.0, hollow=bool(outside(plan, one)))
    for one, marker in zip(references, MARKERS, strict=False):
        _mark(axes, one, metric, REFERENCE, marker, 5.5)
    _mark(axes, chosen, metric, CHOSEN, "o", 9.0)
    for limit in plan.goal.limits:
        if limit.metric in ("payment", metric):
            draw = axes.axvline if limit.metric == "payment" else axes.axhline
            draw(limit.value, color=CHOSEN, linewidth=1.0, linestyle=(0.0, (4.0, 3.0)), zorder=2)
    style.dress_plane(axes, f"{TITLES[metric][0]} for money", _note(plan), "paid to clients")
    _legend(figure, [one.label for one in references])
    return figure


def _legend(figure: Figure, references: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    keys = {
        "the advice": Line2D([], [], color=CHOSEN, marker="o", markersize=8, linewidth=0),
        "best for the money": Line2D([], [], color=LINE, marker="o", markersize=5, linewidth=1.8),
        **{
            label: Line2D([], [], color=REFERENCE, marker=marker, markersize=5.5, linewidth=0)
            for label, marker in zip(references, MARKERS, strict=False)
        },
        "tried in the search": Line2D([], [], color=GRID, marker="o", markersize=4, linewidth=0),
    }
    figure.legend(
        list(keys.values()),
        list(keys),
        loc="outside upper left",
        ncols=len(keys),
        frameon=False,
        fontsize=9.5,
        labelcolor=INK,
        handletextpad=0.5,
        columnspacing=1.6,
    )


def _note(plan: Plan) -> str:
    kept = [
        limit for limit in plan.goal.limits if limit.metric not in ("payment", plan.goal.bought)
    ]
    words = [f"over {counted(plan.case.steps, 'step')}", *(str(x) for x in kept)]
    return ", ".join(words)


def _scales(axes: Axes, plan: Plan, shown: list[Judged]) -> None:
    """The frame is that of what was judged; dots outside it are left out."""
    metric = plan.goal.bought
    payments = [one["payment"].mean for one in shown]
    payments += [limit.value for limit in plan.goal.limits if limit.metric == "payment"]
    top, above = max(payments), [x for x in payments if x > 0]
    if above and top > FAR_APART * min(above):
        start = 10.0 ** math.floor(math.log10(min(above)))
        axes.set_xscale("symlog", linthresh=start, linscale=0.4)
        axes.set_xlim(-0.15 * start, 2.5 * top)
    else:
        axes.set_xlim(-0.03 * (top or 1), 1.12 * (top or 1))
    ends = [end for one in shown for end in (one[metric].low, one[metric].high, one[metric].mean)]
    known = [end for end in ends if math.isfinite(end)]
    room = 0.18 * (max(known) - min(known)) or 0.1 * abs(max(known)) or 1.0
    axes.set_ylim(min(known) - room, max(known) + room)


def _mark(
    axes: Axes, one: Judged, metric: str, colour: str, marker: str, size: float, *,
    hollow: bool = False,
) -> None:  # fmt: skip
    x, y = one["payment"], one[metric]
    axes.errorbar(
        x.mean, y.mean,
        xerr=None if math.isnan(x.half) else [[min(x.half, x.mean)], [x.half]],
        yerr=None if math.isnan(y.half) else y.half,
        color=colour, marker=marker, markersize=size, linewidth=1.1, zorder=4,
        markerfacecolor="none" if hollow else colour,
    )  # fmt: skip


def sketch(plan: Plan, width: int) -> list[str]:
    """The same in letters, at most `width` columns wide, and what they mean."""
    metric = plan.goal.bought
    others = [one for one in plan.judgement.references if one.setting is not None]
    inside = [one for one in plan.frontier if not outside(plan, one)]
    broken = [one for one in plan.frontier if outside(plan, one)]
    marks = {"□": others, "○": broken, "●": inside, "◆": [plan.judgement.chosen]}
    dots = [
        Dot(one["payment"].mean, one[metric].mean, mark)
        for mark, marked in marks.items()
        for one in marked
    ]
    legend = "◆ the advice   ● best for the money   □ everyone, nobody is paid"
    legend += "   ○ outside another limit" if broken else ""
    return [*chart(dots, width=width, across="paid to clients"), legend]


class Dot(NamedTuple):
    x: float
    y: float
    mark: str


def chart(dots: Sequence[Dot], *, width: int, across: str) -> list[str]:
    """Lines of text; later dots cover earlier ones. Money is on a scale between even and
    logarithmic, with a place for zero."""
    left, top = min(dot.y for dot in dots), max(dot.y for dot in dots)
    most = max(dot.x for dot in dots)
    labels = [tick(float(f"{value:.4g}")) for value in (top, (top + left) / 2, left)]
    margin = max(map(len, labels))
    inner = max(width - margin - 3, 20)
    rows = [[" "] * inner for _ in range(HEIGHT)]
    for dot in dots:
        column = round(_place(dot.x, most) * (inner - 1))
        share = (dot.y - left) / (top - left) if top > left else 0.5
        rows[round((1 - share) * (HEIGHT - 1))][column] = dot.mark
    said = {0: labels[0], HEIGHT // 2: labels[1], HEIGHT - 1: labels[2]}
    if top == left:
        said = {HEIGHT // 2: labels[1]}
    lines = [f"{said.get(n, ''):>{margin}} │{''.join(row)}".rstrip() for n, row in enumerate(rows)]
    return [*lines, f"{'':{margin}} └{'─' * inner}", _scale(most, inner, margin, across)]


def _place(value: float, most: float) -> float:
    """From 0 to 1: as a root, so that small sums can be told apart."""
    return math.sqrt(value / most) if most > 0 else 0.0


def _scale(most: float, inner: int, margin: int, across: str) -> str:
    line = [" "] * (inner + margin + 2)
    for share in (0.0, 0.25, 0.5, 1.0):
        text = tick(float(f"{most * share**2:.2g}")) if most else "0"
        end = share == 1.0
        at = margin + 2 + round(share * (inner - 1)) - (len(text) - 1 if end else 0)
        line[at : at + len(text)] = text
        if not most:
            break
    return f"{''.join(line).rstrip()}\n{'':{margin + 2}}{across}"
