"""The figures of a sweep: one parameter as lines, two as heat maps, more as lines in sections."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.document import Block, Figure, Heading
from ..results.heat_map import MOST_COLUMNS, MOST_ROWS, Side, heat_map
from ..results.numbers import UNKNOWN
from ..results.palette import pens_for
from ..results.plots import METRICS
from ..results.replays import BANDS
from ..results.trends import trend, trends
from .parameters import Names, in_words, name_of, value_in_words
from .points import PointSummary, headings, is_number, values_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MOST_LINES = 8  # in a plot
Group = tuple[dict[str, Any], list[PointSummary]]


@dataclass(frozen=True)
class SweepLayout:
    """Which parameter goes where. `across` is None if there is nothing to draw; `down` is the other
    parameter of heat maps; those `apart` each have sections of their own."""

    across: str | None = None
    down: str | None = None
    apart: tuple[str, ...] = ()


def layout_of(summaries: Sequence[PointSummary]) -> SweepLayout:
    """Two parameters are a heat map, if there is room for it. Otherwise numbers go across, those
    with the most values first; the others are lines, or sections if those would be too many."""
    found = {name: values_of(summaries, name) for name in headings(summaries)}
    found.pop("algorithm", None)
    counts = {name: len({*values} - {"null"}) for name, values in found.items()}
    varied = sorted((name for name in found if counts[name] > 1), key=lambda name: -counts[name])
    numeric = [name for name in varied if all(map(_fits_axis, found[name].values()))]
    if len(varied) == 2:
        # Words have more room at the side.
        across, down = sorted(varied, key=lambda name: (name not in numeric, -counts[name]))
        if counts[across] > MOST_COLUMNS:
            across, down = down, across
        if counts[across] <= MOST_COLUMNS and counts[down] <= MOST_ROWS:
            return SweepLayout(across, down)
    if not numeric:
        return SweepLayout()
    across = numeric[0]
    apart = [name for name in found if counts[name] > 1 and name != across]
    while apart and _most_lines(summaries, across, apart[:-1]) <= MOST_LINES:
        apart.pop()  # there is room for it as lines
    return SweepLayout(across, None, tuple(apart))


def groups(summaries: Sequence[PointSummary], apart: Sequence[str]) -> list[Group]:
    """The points of each setting of `apart`; one that lacks a parameter is in all of its
    settings, to be compared with."""
    choices = [
        [value for value in values_of(summaries, name).values() if value is not None]
        for name in apart
    ]
    found = []
    for chosen in itertools.product(*choices):
        setting = dict(zip(apart, chosen, strict=True))
        members = [
            summary
            for summary in summaries
            if all(summary.point.get(name) in (None, value) for name, value in setting.items())
        ]
        if members:
            found.append((setting, members))
    return found


def figure_blocks(
    members: Sequence[PointSummary], layout: SweepLayout, names: Names
) -> Iterator[Block]:
    """The figures of a section."""
    if layout.across is None:
        return
    if layout.down is not None:
        yield from _map_blocks(members, layout, names, _main(members))
        return
    lines = _lines(members, layout, names)
    axis = name_of(layout.across, names).axis
    caption = BANDS if _several(members) else "One run each."
    yield Figure(caption, lambda: trends(lines, axis), keys=pens_for(lines))


def first_figures(summaries: Sequence[PointSummary], names: Names) -> Iterator[Block]:
    """The metric to look at first, for a notebook: a curve, or a heat map of each algorithm. Of
    several sections the first one."""
    layout = layout_of(summaries)
    if layout.across is None:
        return
    setting, members = groups(summaries, layout.apart)[0]
    metric = _main(members)[0]
    if setting:
        yield Heading(in_words(setting, names), level=3)
    if layout.down is not None:
        yield from _map_blocks(members, layout, names, (metric,))
        return
    lines, across = _lines(members, layout, names), name_of(layout.across, names)
    caption = f"Final {metric} by {across.title}."
    yield Figure(caption, lambda: trend(lines, across.axis, metric))


def _map_blocks(
    members: Sequence[PointSummary], layout: SweepLayout, names: Names, metrics: Sequence[str]
) -> Iterator[Block]:
    seeds = "Mean over seeds" if _several(members) else "One run each"
    maps = heat_maps(members, layout, names)
    for label, draw in maps.items():
        if len(maps) > 1:
            yield Heading(label, level=3)
        yield Figure(f"{seeds}; the darker, the larger.", partial(_drawn, draw, metrics))


def _several(members: Sequence[PointSummary]) -> bool:
    return any(len(summary.seeds) > 1 for summary in members)


def drawings(
    members: Sequence[PointSummary], layout: SweepLayout, names: Names
) -> Iterator[tuple[str, Drawing]]:
    """Every metric as a figure of its own, by the name of its file."""
    assert layout.across is not None
    known = [m for m in METRICS if any(not math.isnan(_mean(summary, m)) for summary in members)]
    if layout.down is None:
        lines, axis = _lines(members, layout, names), name_of(layout.across, names).axis
        yield from ((metric, trend(lines, axis, metric)) for metric in known)
        return
    maps = heat_maps(members, layout, names)
    for number, draw in enumerate(maps.values(), 1):
        for metric in known:
            yield metric if len(maps) == 1 else f"{number}-{metric}", draw(metric)


def heat_maps(
    members: Sequence[PointSummary], layout: SweepLayout, names: Names
) -> dict[str, Callable[[str], Drawing]]:
    """By algorithm, how to draw a metric. Those that have neither parameter are named beside."""
    assert layout.across is not None
    assert layout.down is not None
    sides = (layout.across, layout.down)
    found: dict[str, list[PointSummary]] = {}
    for summary in members:
        found.setdefault(_rest(summary, sides, names), []).append(summary)
    flat = {
        label: some[0]
        for label, some in found.items()
        if all(some[0].point.get(name) is None for name in sides)
    }
    return {
        label: partial(_map, some, flat, sides, names)
        for label, some in found.items()
        if label not in flat
    }


def _drawn(draw: Callable[[str], Drawing], metrics: Sequence[str]) -> list[Drawing]:
    return [draw(metric) for metric in metrics]


def _map(
    found: Sequence[PointSummary],
    flat: dict[str, PointSummary],
    sides: tuple[str, str],
    names: Names,
    metric: str,
) -> Drawing:
    ordered = [_ascending(found, name) for name in sides]
    cells = np.full((len(ordered[1]), len(ordered[0])), np.nan)
    for summary in found:
        x, y = (
            order.index(summary.point.get(name)) for order, name in zip(ordered, sides, strict=True)
        )
        cells[y, x] = _mean(summary, metric)
    across, down = (
        Side(
            "" if order == [None] else getattr(name_of(name, names), form),
            ["" if value is None else value_in_words(value) for value in order],
        )
        for order, name, form in zip(ordered, sides, ("axis", "title"), strict=True)
    )
    beside = "; ".join(
        f"{label}: {mean}{unit}"
        for label, summary in flat.items()
        for mean, _, unit in [getattr(summary.row, metric).parts()]
        if mean != UNKNOWN
    )
    return heat_map(cells, across, down, metric, beside)


def _ascending(found: Sequence[PointSummary], name: str) -> list[Any]:
    """The points are sorted, but those of one value of the other parameter after another's."""
    values = list(values_of(found, name).values())
    numbers = all(map(is_number, values))
    return sorted(values) if numbers else values


def _main(members: Sequence[PointSummary]) -> tuple[str, ...]:
    first = (
        "reward" if all(math.isnan(summary.row.regret.mean) for summary in members) else "regret"
    )
    return (first, "communication", "payment", "participation")


def _mean(one: PointSummary, metric: str) -> float:
    return float(getattr(one.row, metric).mean)


def _lines(
    members: Sequence[PointSummary], layout: SweepLayout, names: Names
) -> dict[str, dict[float | None, Any]]:
    assert layout.across is not None
    lines: dict[str, dict[float | None, Any]] = {}
    for summary in members:
        label = _rest(summary, [layout.across, *layout.apart], names)
        lines.setdefault(label, {})[summary.point.get(layout.across)] = summary.row
    return lines


def _most_lines(summaries: Sequence[PointSummary], across: str, apart: Sequence[str]) -> int:
    layout = SweepLayout(across, None, tuple(apart))
    return max(len(_lines(some, layout, {})) for _, some in groups(summaries, apart))


def _rest(one: PointSummary, without: Collection[str], names: Names) -> str:
    """The name of a point by its columns that are not in `without`."""
    rest = {name: value for name, value in one.point.items() if name not in without}
    return in_words(rest, names) or "all"


def _fits_axis(value: Any) -> bool:
    """None means that the point does not have the parameter."""
    return value is None or (is_number(value) and math.isfinite(value))
