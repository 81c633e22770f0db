"""The records of a sweep as tables (a row for each run, point of a curve, or point of the sweep),
and the report on them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..results import Section
from ..results.document import Block, Column, Document, Heading, Table, TableCell, TableRow, Text
from ..results.numbers import finite
from ..results.plots import METRICS as PLOTTED
from ..results.plots import can_plot
from ..results.records import CURVES
from ..results.replays import BANDS, per_matched, skips
from ..results.settings import plain
from ..results.tables import METRICS, ComparisonRow, comparison_table, row
from ..results.terminal import show
from ..results.trends import trend, trends
from ..support.files import replacing
from ..support.inputs import counted
from ..support.terminal import Terminal, short
from .cells import Record, named, shown
from .outputs import save_figure, write_summary

if TYPE_CHECKING:
    import polars

COUNTS = ("steps", "clients", "rounds", "paid")  # whole numbers
MOST_LINES = 8  # in a plot
MOST_SECTIONS = 20
MOST_ROWS = 200  # of a table in the report
MOST_SHOWN = 30  # on a terminal


def cells_frame(records: Sequence[Record]) -> polars.DataFrame:
    """One row a run: the columns of its point, its seed, its final figures."""
    import polars

    names = dict.fromkeys(name for one in records for name in one.figures)
    runs = _run_columns(records)
    figures = {
        name: polars.Series([one.figures.get(name) for one in records], dtype=polars.Float64).cast(
            polars.Int64 if name in COUNTS else polars.Float64
        )
        for name in names
        if name not in runs
    }
    return polars.DataFrame({**runs, **figures})


def curves_frame(records: Sequence[Record]) -> polars.DataFrame:
    """One row for each kept step of each run: its point, seed, step (from 1) and metrics."""
    import polars

    curves = {
        name: polars.Series([one.curve[name] for one in records], dtype=polars.List(polars.Float64))
        for name in ("step", *CURVES)
    }
    frame = polars.DataFrame({**_run_columns(records), **curves}).explode(*curves)
    return frame.with_columns(polars.col("step").cast(polars.Int64))


@dataclass(frozen=True)
class PointSummary:
    """One point of a sweep over its seeds; `row` has the mean and the spread of each metric."""

    point: Mapping[str, Any]
    seeds: tuple[int, ...]
    row: ComparisonRow


def summarise(records: Sequence[Record]) -> list[PointSummary]:
    """The points in order of first appearance; settings that a point does not tell apart (another
    config into the same folder, other data) are not averaged."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for one in records:
        groups.setdefault((repr(one.point), one.setting), []).append(one)
    scale = per_matched if skips(one.figures for one in records) else dict
    return [
        PointSummary(
            group[0].point,
            tuple(one.seed for one in group),
            row(named(group[0].point) or "all", [scale(one.figures) for one in group]),
        )
        for group in groups.values()
    ]


def headings(summaries: Sequence[PointSummary]) -> list[str]:
    """The columns of points, those of all of them."""
    return list(dict.fromkeys(name for one in summaries for name in one.point))


def points_table(summaries: Sequence[PointSummary]) -> Table:
    """One line a point, one column for each swept parameter."""
    names, table = headings(summaries), comparison_table([one.row for one in summaries])
    titles = [*map(str.capitalize, names[:1]), *names[1:]]
    if any(one.row.matched for one in summaries):  # of a log
        titles[:1] = [table.columns[0].title]
    columns = [Column(title, "right" if n else "left") for n, title in enumerate(titles)]
    rows = []
    for one, line in zip(summaries, table.rows, strict=True):
        # Empty where the point does not have a parameter.
        point = ["" if one.point.get(name) is None else shown(one.point[name]) for name in names]
        rows.append(TableRow((*map(TableCell, point), *line.cells[1:])))
    return Table((*columns, *table.columns[1:]), tuple(rows), table.note)


def show_points(terminal: Terminal, title: str, records: Sequence[Record], folder: Path) -> None:
    """Print a line for each point; on a terminal only the first ones, if there are many."""
    summaries = summarise(records)
    first = summaries[:MOST_SHOWN] if terminal.out.is_terminal else summaries
    blocks: list[Block] = [Heading(title), points_table(first)]
    if len(summaries) > len(first):
        more = counted(len(summaries) - len(first), "more point")
        blocks.append(Text(f"{more}: {short(folder / 'summary.md')}", note=True))
    show(terminal, Document("", blocks))


def publish_sweep(folder: Path, title: str, intro: str, records: Sequence[Record]) -> Path:
    """Write cells.parquet, curves.parquet, the summary and the report; the path of the report."""
    for name, frame in (("cells", cells_frame), ("curves", curves_frame)):
        with replacing(folder / f"{name}.parquet") as fresh:
            frame(records).write_parquet(fresh)
    points = summarise(records)
    if can_plot():
        _draw(folder / "plots", points)
    figures = [_figures(one) for one in points]
    table = Document(title, (points_table(points),))
    return write_summary(folder, table, figures, intro, _sections(points))


def _figures(one: PointSummary) -> dict[str, Any]:
    """A point as JSON; what is unknown is null."""
    spreads = {name: getattr(one.row, name) for name in METRICS}
    figures = {name: {"mean": finite(s.mean), "sd": finite(s.sd)} for name, s in spreads.items()}
    return {"point": plain(one.point, "point"), "seeds": list(one.seeds), **figures}


def _sections(summaries: Sequence[PointSummary]) -> list[Section]:
    """A section for each setting of what is neither on the x axis nor a line of its own."""
    across, apart = _layout(summaries)
    groups = list(_groups(summaries, apart))
    sections = []
    for setting, members in groups[:MOST_SECTIONS]:
        heading = named(setting) or "All points"
        rows = [replace(one.row, label=_rest(one, setting)) for one in members[:MOST_ROWS]]
        text = ""
        if len(members) > len(rows):
            points = counted(len(members), "point")
            text = f"{len(rows)} of {points} listed; summary.md has them all."
        figures = {}
        if across and can_plot():
            lines = _lines(members, across, apart)
            several = any(len(one.seeds) > 1 for one in members)
            figures[BANDS if several else "One run each."] = trends(lines, across)
        sections.append(Section(heading, text, rows, figures))
    if len(groups) > MOST_SECTIONS:
        more = counted(len(groups) - MOST_SECTIONS, "more setting")
        sections.append(Section("And more", f"{more} in summary.md and cells.parquet."))
    return sections


def _draw(folder: Path, summaries: Sequence[PointSummary]) -> None:
    """Each metric over the parameter across, as PNG and SVG; of each section, if there are many."""
    across, apart = _layout(summaries)
    groups = _groups(summaries, apart)[:MOST_SECTIONS] if across else []
    for number, (_, members) in enumerate(groups, 1):
        assert across is not None
        lines = _lines(members, across, apart)
        for metric in PLOTTED:
            if any(not math.isnan(getattr(one.row, metric).mean) for one in members):
                name = metric if len(groups) == 1 else f"{number}-{metric}"
                save_figure(trend(lines, across, metric), folder / name)


def _layout(summaries: Sequence[PointSummary]) -> tuple[str | None, list[str]]:
    """The parameter across (numbers, the most values), and those that set sections apart."""
    values = {name: _values(summaries, name) for name in headings(summaries) if name != "algorithm"}
    varied = {name: found for name, found in values.items() if len({*found} - {"null"}) > 1}
    numeric = [name for name, found in varied.items() if all(map(_number, found.values()))]
    across = max(numeric, key=lambda name: len(varied[name]), default=None)
    if across is None:
        return None, []
    apart = [name for name in varied if name != across]
    while (
        apart
        and max(len(_lines(some, across, apart[:-1])) for _, some in _groups(summaries, apart[:-1]))
        <= MOST_LINES
    ):
        apart.pop()  # there is room for it as lines
    return across, apart


def _values(summaries: Sequence[PointSummary], name: str) -> dict[str, Any]:
    """The different values of a parameter, by their JSON; null where a point does not have it."""
    values = [one.point.get(name) for one in summaries]
    return {json.dumps(plain(value, "value"), sort_keys=True): value for value in values}


def _groups(
    summaries: Sequence[PointSummary], apart: Sequence[str]
) -> list[tuple[dict[str, Any], list[PointSummary]]]:
    """The points of each setting of `apart`; one that lacks a parameter is in all of its
    settings, to be compared with."""
    choices = [
        [value for value in _values(summaries, name).values() if value is not None]
        for name in apart
    ]
    groups = []
    for chosen in itertools.product(*choices):
        setting = dict(zip(apart, chosen, strict=True))
        members = [
            one
            for one in summaries
            if all(one.point.get(name) in (None, value) for name, value in setting.items())
        ]
        if members:
            groups.append((setting, members))
    return groups


def _lines(
    members: Sequence[PointSummary], across: str, apart: Sequence[str]
) -> dict[str, dict[float | None, Any]]:
    lines: dict[str, dict[float | None, Any]] = {}
    for one in members:
        label = _rest(one, [across, *apart])
        lines.setdefault(label, {})[one.point.get(across)] = one.row
    return lines


def _rest(one: PointSummary, without: Collection[str]) -> str:
    """What names a point where some of its columns are said already."""
    return named({k: v for k, v in one.point.items() if k not in without}) or "all"


def _number(value: Any) -> bool:
    """Can it stand on an axis? None means that the point does not have the parameter."""
    if value is None or isinstance(value, bool):
        return value is None
    return isinstance(value, int | float) and math.isfinite(value)


def _run_columns(records: Sequence[Record]) -> dict[str, polars.Series]:
    """What names a run: its point and its seed."""
    import polars

    columns = {}
    for name in dict.fromkeys(name for one in records for name in one.point):
        values = [one.point.get(name) for one in records]
        types = {type(value) for value in values if value is not None}
        if types <= {int}:
            columns[name] = polars.Series(values, dtype=polars.Int64)
        elif types <= {int, float}:
            columns[name] = polars.Series(values, dtype=polars.Float64, strict=False)
        elif types == {bool}:
            columns[name] = polars.Series(values, dtype=polars.Boolean)
        else:  # words, lists, tables, or a mixture
            texts = [None if value is None else shown(value, limit=None) for value in values]
            columns[name] = polars.Series(texts, dtype=polars.String)
    columns["seed"] = polars.Series([one.seed for one in records], dtype=polars.Int64)
    return columns
