"""The records of a sweep as tables (a row for each run, point of a curve, or point of the sweep),
and the report on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..results import Section
from ..results.document import Block, Document, Heading, Text
from ..results.numbers import finite
from ..results.plots import can_plot
from ..results.records import CURVES
from ..results.settings import plain
from ..results.tables import METRICS
from ..results.terminal import show
from ..support.files import replacing
from ..support.inputs import counted
from ..support.terminal import Terminal, short
from .cells import Record, shown
from .outputs import save_figure, write_summary
from .parameters import Names, in_words
from .points import PointSummary, points_table, summarise
from .sweep_figures import drawings, figure_blocks, groups, layout_of

if TYPE_CHECKING:
    import polars

COUNTS = ("steps", "clients", "rounds", "paid")  # whole numbers
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


def show_points(
    terminal: Terminal,
    title: str,
    records: Sequence[Record],
    folder: Path,
    names: Names = MappingProxyType({}),
) -> None:
    """Print a line for each point; on a terminal only the first ones, if there are many."""
    summaries = summarise(records)
    first = summaries[:MOST_SHOWN] if terminal.out.is_terminal else summaries
    blocks: list[Block] = [Heading(title), points_table(first, names)]
    if len(summaries) > len(first):
        more = counted(len(summaries) - len(first), "more point")
        blocks.append(Text(f"{more}: {short(folder / 'summary.md')}", note=True))
    show(terminal, Document("", blocks))


def publish_sweep(
    folder: Path,
    title: str,
    intro: str,
    records: Sequence[Record],
    names: Names = MappingProxyType({}),
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Write cells.parquet, curves.parquet, the summary and the report; the path of the report.
    `settings`: what all runs have in common."""
    for name, frame in (("cells", cells_frame), ("curves", curves_frame)):
        with replacing(folder / f"{name}.parquet") as fresh:
            frame(records).write_parquet(fresh)
    points = summarise(records)
    if can_plot():
        _draw(folder / "plots", points, names)
    figures = [_figures(one) for one in points]
    table = Document(title, (points_table(points, names),))
    sections = _sections(points, names)
    if settings:
        sections[-1] = replace(sections[-1], settings=settings)
    return write_summary(folder, table, figures, intro, sections)


def _figures(one: PointSummary) -> dict[str, Any]:
    """A point as JSON; what is unknown is null."""
    spreads = {name: getattr(one.row, name) for name in METRICS}
    figures = {name: {"mean": finite(s.mean), "sd": finite(s.sd)} for name, s in spreads.items()}
    return {"point": plain(one.point, "point"), "seeds": list(one.seeds), **figures}


def _sections(summaries: Sequence[PointSummary], names: Names) -> list[Section]:
    """A section for each setting of what is neither on an axis nor a line of its own."""
    layout = layout_of(summaries)
    found = groups(summaries, layout.apart)
    sections = []
    for setting, members in found[:MOST_SECTIONS]:
        some = members[:MOST_ROWS]
        points = counted(len(members), "point")
        text = f"{len(some)} of {points} listed; summary.md has them all."
        figures = figure_blocks(members, layout, names) if can_plot() else ()
        heading = in_words(setting, names) or "All points"
        more = (points_table(some, names, setting, seeds=False), *figures)
        sections.append(Section(heading, text if len(members) > len(some) else "", more=more))
    if len(found) > MOST_SECTIONS:
        more_settings = counted(len(found) - MOST_SECTIONS, "more setting")
        sections.append(Section("And more", f"{more_settings} in summary.md and cells.parquet."))
    return sections


def _draw(folder: Path, summaries: Sequence[PointSummary], names: Names) -> None:
    """Each metric, as PNG and SVG; of each section, if there are many."""
    layout = layout_of(summaries)
    found = groups(summaries, layout.apart)[:MOST_SECTIONS] if layout.across else []
    for number, (_, members) in enumerate(found, 1):
        for name, drawing in drawings(members, layout, names):
            save_figure(drawing, folder / (name if len(found) == 1 else f"{number}-{name}"))


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
