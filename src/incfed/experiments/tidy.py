"""Records as tables: one row a run, one row a point of a curve, or one row a point of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..results.document import Cell, Column, Table, TableRow
from ..results.records import CURVES
from ..results.tables import ComparisonRow, known_metrics, metric_columns, row, spread_note
from ..support.extras import needs
from .cells import Record, named, shown

if TYPE_CHECKING:
    import polars

COUNTS = ("steps", "clients", "rounds", "paid")  # whole numbers


def cells_frame(records: Sequence[Record]) -> polars.DataFrame:
    """One row a run: the columns of its point, its seed, its final figures."""
    with needs("polars", "a table of cells"):
        import polars
    names = dict.fromkeys(name for one in records for name in one.figures)
    own = _point_columns(records)
    figures = {
        name: polars.Series([one.figures.get(name) for one in records], dtype=polars.Float64).cast(
            polars.Int64 if name in COUNTS else polars.Float64
        )
        for name in names
        if name not in own
    }
    seeds = polars.Series([one.seed for one in records], dtype=polars.Int64)
    return polars.DataFrame({**own, "seed": seeds, **figures})


def curves_frame(records: Sequence[Record]) -> polars.DataFrame:
    """One row for each kept step of each run: its point, seed, step (from 1) and metrics."""
    with needs("polars", "a table of curves"):
        import polars
    lengths = [len(one.curve["step"]) for one in records]
    index = polars.DataFrame({**_point_columns(records), "seed": [one.seed for one in records]})
    rows = [n for n, length in enumerate(lengths) for _ in range(length)]
    steps = [int(x) for one in records for x in one.curve["step"]]
    metrics = {
        name: polars.Series([x for one in records for x in one.curve[name]], dtype=polars.Float64)
        for name in CURVES
    }
    added = polars.DataFrame({"step": polars.Series(steps, dtype=polars.Int64), **metrics})
    return index[rows].hstack(added)


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
    return [
        PointSummary(
            group[0].point,
            tuple(one.seed for one in group),
            row(named(group[0].point) or "all", [one.figures for one in group]),
        )
        for group in groups.values()
    ]


def headings(summaries: Sequence[PointSummary]) -> list[str]:
    """The columns of points, those of all of them."""
    return list(dict.fromkeys(name for one in summaries for name in one.point))


def points_table(summaries: Sequence[PointSummary]) -> Table:
    """One line a point, one column for each swept parameter."""
    names, metrics = headings(summaries), known_metrics(one.row for one in summaries)
    titles = [*map(str.capitalize, names[:1]), *names[1:]]
    columns = [Column(title, "right" if n else "left") for n, title in enumerate(titles)]
    columns += [Column("Seeds", drop=5), *metric_columns(metrics)]
    rows = []
    for one in summaries:
        # Empty where the point does not have a parameter.
        point = ["" if one.point.get(name) is None else shown(one.point[name]) for name in names]
        figures = [getattr(one.row, name).cell() for name in metrics]
        rows.append(TableRow((*map(Cell, [*point, str(len(one.seeds))]), *figures)))
    return Table(tuple(columns), tuple(rows), spread_note({len(one.seeds) for one in summaries}))


def _point_columns(records: Sequence[Record]) -> dict[str, polars.Series]:
    import polars

    names = dict.fromkeys(name for one in records for name in one.point)
    columns = {}
    for name in names:
        values = [one.point.get(name) for one in records]
        there = {type(value) for value in values if value is not None}
        if there <= {int}:
            columns[name] = polars.Series(values, dtype=polars.Int64)
        elif there <= {int, float}:
            columns[name] = polars.Series(
                [None if value is None else float(value) for value in values], dtype=polars.Float64
            )
        elif there == {bool}:
            columns[name] = polars.Series(values, dtype=polars.Boolean)
        else:  # words, lists, tables, or a mixture
            texts = [None if value is None else shown(value, limit=None) for value in values]
            columns[name] = polars.Series(texts, dtype=polars.String)
    return columns
