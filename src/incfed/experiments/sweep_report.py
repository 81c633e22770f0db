"""What is written about a sweep: tidy tables, a summary, and a report to look at."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..results import Section, markdown, write_report
from ..results.document import Document
from ..results.numbers import finite
from ..results.plots import can_plot
from ..results.report import BANDS
from ..results.settings import plain
from ..results.tables import METRICS, Spread
from ..results.trends import trends
from ..support.files import replacing, write_text
from ..support.inputs import counted
from .cells import Record, named
from .outputs import footer
from .tidy import PointSummary, cells_frame, curves_frame, headings, points_table, summarise

MOST_LINES = 8  # in a plot
MOST_SECTIONS = 20
MOST_ROWS = 200  # of a table in the report


def publish_sweep(folder: Path, title: str, intro: str, records: Sequence[Record]) -> Path:
    """Write cells.parquet, curves.parquet, summary.md, summary.json, report.html; the last's path.

    Each file appears whole or not at all.
    """
    for name, frame in (("cells", cells_frame), ("curves", curves_frame)):
        with replacing(folder / f"{name}.parquet") as fresh:
            frame(records).write_parquet(fresh)
    summaries = summarise(records)
    summary = Document(title, (points_table(summaries),))
    write_text(folder / "summary.md", markdown.render(summary))
    points = [_figures(one) for one in summaries]
    write_text(folder / "summary.json", json.dumps(points, indent=1, ensure_ascii=False) + "\n")
    return write_report(folder / "report.html", title, intro, _sections(summaries), footer=footer())


def _figures(one: PointSummary) -> dict[str, Any]:
    """A point as JSON; what is unknown is null."""
    spreads: dict[str, Spread] = {name: getattr(one.row, name) for name in METRICS}
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


def _layout(summaries: Sequence[PointSummary]) -> tuple[str | None, list[str]]:
    """The parameter across (numbers, the most values), and those that set sections apart."""
    values = {
        name: list(dict.fromkeys(_key(one.point.get(name)) for one in summaries))
        for name in headings(summaries)
        if name != "algorithm"
    }
    varied = {name: found for name, found in values.items() if len(set(found) - {"null"}) > 1}
    numeric = [
        name
        for name in varied
        if all(_number(one.point.get(name)) for one in summaries if one.point.get(name) is not None)
    ]
    across = max(numeric, key=lambda name: len(varied[name]), default=None)
    apart = [name for name in varied if name != across]
    if across is None:
        return None, []
    while apart and _most_lines(summaries, across, apart[:-1]) <= MOST_LINES:
        apart.pop()  # there is room for it as lines
    return across, apart


def _most_lines(summaries: Sequence[PointSummary], across: str, apart: Sequence[str]) -> int:
    return max(len(_lines(some, across, apart)) for _, some in _groups(summaries, apart))


def _groups(
    summaries: Sequence[PointSummary], apart: Sequence[str]
) -> list[tuple[dict[str, Any], list[PointSummary]]]:
    """The points of each setting of `apart`; one that lacks a parameter is in all of its
    settings, to be compared with."""
    choices: list[list[Any]] = []
    for name in apart:
        found = {_key(one.point.get(name)): one.point.get(name) for one in summaries}
        choices.append([value for value in found.values() if value is not None])
    groups = []
    for chosen in itertools.product(*choices):
        setting = dict(zip(apart, chosen, strict=True))
        members = [one for one in summaries if _fits(one.point, setting)]
        if members:
            groups.append((setting, members))
    return groups


def _fits(point: Mapping[str, Any], setting: Mapping[str, Any]) -> bool:
    return all(point.get(name) in (None, value) for name, value in setting.items())


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


def _key(value: Any) -> str:
    return json.dumps(plain(value, "value"), sort_keys=True)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
