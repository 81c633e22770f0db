"""The points of a sweep: what was run with some seeds, its figures over them, and their table."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..results.document import Column, Table, TableCell, TableRow
from ..results.replays import per_matched, skips
from ..results.settings import plain
from ..results.tables import ComparisonRow, comparison_table, row
from .cells import Record, named
from .parameters import Names, name_of, value_in_words


@dataclass(frozen=True)
class PointSummary:
    """One point of a sweep over its seeds; `row` has the mean and the spread of each metric."""

    point: Mapping[str, Any]
    seeds: tuple[int, ...]
    row: ComparisonRow


def summarise(records: Sequence[Record]) -> list[PointSummary]:
    """The points by algorithm, then by the values of each parameter: numbers ascend, anything else
    stays in the order in which it was run. Settings that a point does not tell apart (another
    config into the same folder, other data) are not averaged."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for one in records:
        groups.setdefault((repr(one.point), one.setting), []).append(one)
    scale = per_matched if skips(one.figures for one in records) else dict
    found = [
        PointSummary(
            group[0].point,
            tuple(one.seed for one in group),
            row(named(group[0].point) or "all", [scale(one.figures) for one in group]),
        )
        for group in groups.values()
    ]
    ranks = {name: _ranks(found, name) for name in headings(found)}
    return sorted(
        found, key=lambda one: [rank[_key(one.point.get(name))] for name, rank in ranks.items()]
    )


def headings(summaries: Sequence[PointSummary]) -> list[str]:
    """The columns of points, those of all of them."""
    return list(dict.fromkeys(name for one in summaries for name in one.point))


def values_of(summaries: Sequence[PointSummary], name: str) -> dict[str, Any]:
    """The different values of a parameter, by their JSON; null where a point does not have it."""
    return {_key(one.point.get(name)): one.point.get(name) for one in summaries}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def points_table(
    summaries: Sequence[PointSummary],
    names: Names,
    without: Collection[str] = (),
    *,
    seeds: bool = True,
) -> Table:
    """One line a point, one column for each swept parameter except those that are said already.
    Without `seeds`, their number is shown only where it differs."""
    columns = [name for name in headings(summaries) if name not in without]
    table = comparison_table([one.row for one in summaries], seeds=seeds)
    if not columns:
        return table
    heads = [name_of(name, names).heading for name in columns]
    if any(one.row.matched for one in summaries):  # of a log: what the figures are for
        heads[0] = table.columns[0].title
    rows = []
    for one, line in zip(summaries, table.rows, strict=True):
        # Empty where the point does not have a parameter.
        values = [one.point.get(name) for name in columns]
        texts = ["" if value is None else value_in_words(value) for value in values]
        rows.append(TableRow((*map(TableCell, texts), *line.cells[1:])))
    sides = [
        Column(head, "right" if all(map(_numeric, values_of(summaries, name).values())) else "left")
        for name, head in zip(columns, heads, strict=True)
    ]
    sides[0] = Column(heads[0], "left")
    return Table((*sides, *table.columns[1:]), tuple(rows), table.note)


def _numeric(value: Any) -> bool:
    return value is None or is_number(value)


def _ranks(summaries: Sequence[PointSummary], name: str) -> dict[str, int]:
    """The place of each value; that of no value is the last."""
    values = values_of(summaries, name)
    order = sorted(
        values.items(),
        key=lambda pair: (pair[1] is None, float(pair[1]) if is_number(pair[1]) else 0.0),
    )
    return {key: n for n, (key, _) in enumerate(order)}


def _key(value: Any) -> str:
    return json.dumps(plain(value, "value"), sort_keys=True)
