"""Saved results in a folder: experiments, sweeps, plans and single runs, listed and compared."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Response

from ..errors import InputError
from ..experiments.checkpoint import NAME as CELLS
from ..experiments.checkpoint import read_cells
from ..experiments.points import PointSummary, summarise
from ..experiments.show import PLAN, read_plan
from ..results import interactive
from ..results.collection import INDEX, collect
from ..results.comparison import Comparison
from ..results.numbers import finite, human
from ..results.parallel import parallel
from ..results.records import Result
from ..results.replays import PER, SUMS, bands_note
from ..results.storage import INDEX as RUN
from ..results.storage import load
from ..results.tables import METRICS, ComparisonRow, comparison_table
from ..support.files import write_text
from ..support.inputs import counted
from ..values import Word
from .access import Changer, ConsoleDep, viewer

KINDS = {PLAN: "plan", INDEX: "experiment", CELLS: "sweep", RUN: "run"}  # a plan has cells, too
ALGORITHM = "algorithm"  # the column of a sweep's points with their label
MAPPED = ("regret", "reward", "payment")  # of each algorithm
TAGS = ".incfed-tags.json"
MOST, MOST_FOLDERS = 2000, 50_000  # that are listed, and looked into
saved = APIRouter(prefix="/api/runs", tags=["saved results"], dependencies=[Depends(viewer)])


def get_folder(console: ConsoleDep) -> Path:
    if console.folder is None:
        raise HTTPException(404, "this console shows a federation only, no saved results")
    folder: Path = console.folder
    return folder


Folder = Annotated[Path, Depends(get_folder)]
Ids = Annotated[
    list[str],
    Query(
        alias="id", min_length=1, max_length=20,
        description="A saved folder as the list names it; several are compared with the first.",
    ),
]  # fmt: skip


@dataclass(frozen=True)
class SavedItem:
    id: str  # the folder, relative to that of the console
    kind: str
    changed: float
    tags: list[str]


@dataclass(frozen=True)
class Figures:
    """The mean of each metric over the seeds, its standard deviation, and the paired difference to
    the first row with its 95 % interval; null: unknown."""

    label: str
    seeds: int
    text: dict[str, str]  # as people read them
    mean: dict[str, float | None]
    sd: dict[str, float | None]
    difference: dict[str, tuple[float, float, float] | None]


@dataclass(frozen=True)
class SavedView:
    title: str
    kind: str
    rows: list[Figures]
    metrics: list[str]
    words: list[str]  # what a plan advises, or how much of a sweep is there
    charts: list[str]  # that can be asked for
    note: str  # what the figures are
    lines: str  # what the lines and bands of a chart are
    per: int | None = None  # matched steps of a log that sums are for; null: all steps
    bootstrap: bool = False  # whether `sd` is that of bootstrapped logs


@dataclass(frozen=True)
class NewTags:
    tags: list[str]


@saved.get("")
def runs(folder: Folder) -> list[SavedItem]:
    """All that is saved below the folder, the last one first."""
    tags = _tags(folder)
    found = [
        SavedItem(name, kind, mark.stat().st_mtime, tags.get(name, []))
        for name, kind, mark in _below(folder)
    ]
    return sorted(found, key=lambda item: -item.changed)


@saved.get("/view")
def view(folder: Folder, ids: Ids) -> SavedView:
    """One saved folder, or several compared: the mean of each metric over the seeds, its spread,
    and the paired difference to the first row."""
    if len(ids) == 1 and _kind(folder, ids[0]) == "plan":
        return _plan_view(folder / ids[0])
    if len(ids) == 1 and _kind(folder, ids[0]) == "sweep":
        return _sweep_view(folder / ids[0])
    comparison = Comparison(_runs(folder, ids))
    metrics = [name for name in METRICS if any(_known(row, name) for row in comparison.rows)]
    rows = [_figures(comparison, row, metrics) for row in comparison.rows]
    kind = _kind(folder, ids[0]) if len(ids) == 1 else "comparison"
    curves = [name for name in metrics if name != "rounds"]
    charts = [*curves, *_tradeoff(metrics)]
    lines = bands_note(comparison.runs)
    return SavedView(
        ", ".join(ids), kind, rows, metrics, [], charts, lines=lines, **_scale(comparison.rows)
    )


@saved.get("/chart")
def chart(
    folder: Folder,
    ids: Ids,
    name: Annotated[str, Query(description="One of the `charts` that /api/runs/view names.")],
) -> dict[str, Any]:
    """A chart of one saved folder, or of several, as a Plotly figure: `data` and `layout`."""
    if len(ids) == 1 and _kind(folder, ids[0]) == "plan":
        return _plan_chart(folder / ids[0], name)
    if len(ids) == 1 and _kind(folder, ids[0]) == "sweep":
        return _sweep_chart(folder / ids[0], name)
    found = _runs(folder, ids)
    if name == "tradeoff":
        return interactive.tradeoff(Comparison(found).rows)
    return interactive.curves(found, name)


@saved.get("/table.csv")
def table(folder: Folder, ids: Ids) -> Response:
    """The figures of /api/runs/view as a CSV file, a row for each label. The columns of a log say
    that its sums are per 1,000 matched steps, and that their spread is of bootstrapped logs."""
    shown = view(folder, ids)
    spread = "_bootstrap_sd" if shown.bootstrap else "_sd"
    sums = f"_per_{shown.per}_matched" if shown.per else ""
    names = [name + sums * (name in SUMS) for name in shown.metrics]
    target = io.StringIO()
    out = csv.writer(target)
    out.writerow(["label", "seeds", *(name + end for name in names for end in ("", spread))])
    for row in shown.rows:
        figures = [figure for m in shown.metrics for figure in (row.mean.get(m), row.sd.get(m))]
        out.writerow([row.label, row.seeds, *figures])
    headers = {"Content-Disposition": 'attachment; filename="results.csv"'}
    return Response(target.getvalue(), media_type="text/csv", headers=headers)


@saved.put("/tags")
def tag(
    folder: Folder,
    who: Changer,
    id: Annotated[str, Query(description="A saved folder as the list names it.")],
    new: NewTags,
) -> list[str]:
    """Replace the tags of a saved folder. They are kept beside the results."""
    _kind(folder, id)
    words = sorted({word.strip() for word in new.tags if word.strip()})
    if any(len(word) > 40 for word in words) or len(words) > 20:
        raise InputError("tags: must be at most 20, each of at most 40 characters")
    known = _tags(folder)
    known[id] = words
    kept = {name: each for name, each in known.items() if each}
    write_text(folder / TAGS, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    return words


def _tags(folder: Path) -> dict[str, list[str]]:
    """By id; what cannot be read is no tag."""
    try:
        found = json.loads((folder / TAGS).read_text(encoding="utf-8"))
        return {str(name): [str(word) for word in each] for name, each in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _below(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """Relative name, kind, and the file that marks it. Runs inside an experiment are not listed."""
    count = seen = 0
    stack = [folder]
    while stack and count < MOST and seen < MOST_FOLDERS:
        here = stack.pop()
        seen += 1
        mark = next((here / name for name in KINDS if (here / name).is_file()), None)
        if mark is not None:
            count += 1
            yield here.relative_to(folder).as_posix(), KINDS[mark.name], mark
        inner = here / "earlier" if mark is not None else here
        stack += _folders(inner)


def _folders(place: Path) -> list[Path]:
    """Those in a place, the last first; none if it cannot be read. Links are not followed."""
    try:
        found = [path for path in place.iterdir() if path.is_dir() and not path.is_symlink()]
    except OSError:
        return []
    return sorted((path for path in found if not path.name.startswith(".")), reverse=True)


def _kind(folder: Path, id: str) -> str:
    """Refuses what is not below the folder."""
    place = (folder / id).resolve()
    if not place.is_relative_to(folder.resolve()):
        raise InputError(f"id: got {id!r}, must be a folder below {folder.name}")
    for name, kind in KINDS.items():
        if (place / name).is_file():
            return kind
    raise HTTPException(404, f"{id}: nothing is saved there")


def _runs(folder: Path, ids: Sequence[str]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for id in ids:
        kind, place = _kind(folder, id), folder / id
        if kind not in ("experiment", "run"):
            raise InputError(f"id: {id} is a {kind}: only experiments and runs can be compared")
        each = {"": [load(place)]} if kind == "run" else collect(place).runs
        for label, results in each.items():
            shown = id if not label else label if len(ids) == 1 else f"{id}: {label}"
            found[shown] = list(results)
    return found


def _figures(comparison: Comparison, row: ComparisonRow, metrics: Sequence[str]) -> Figures:
    first = comparison.rows[0].label
    differences: dict[str, tuple[float, float, float] | None] = {}
    for name in metrics:
        differences[name] = None
        if row.label != first and not any(each.repeated for each in comparison.rows):
            difference = comparison.difference(row.label, name)
            if math.isfinite(difference.mean) and math.isfinite(difference.low):
                differences[name] = (difference.mean, difference.low, difference.high)
    return Figures(row.label, row.seeds, *_means(row, metrics), differences)


def _means(
    row: ComparisonRow, metrics: Sequence[str]
) -> tuple[dict[str, str], dict[str, Any], dict[str, Any]]:
    """Text, mean and standard deviation of each metric."""
    spreads = {name: getattr(row, name) for name in metrics}
    return (
        {name: str(spread) for name, spread in spreads.items()},
        {name: finite(spread.mean) for name, spread in spreads.items()},
        {name: finite(spread.sd) for name, spread in spreads.items()},
    )


def _scale(rows: Sequence[ComparisonRow]) -> dict[str, Any]:
    """The note on the figures of these rows, and the scale that they are in."""
    per = PER if any(row.matched for row in rows) else None
    bootstrap = any(row.bootstrap for row in rows)
    return {"note": comparison_table(rows).note, "per": per, "bootstrap": bootstrap}


def _tradeoff(metrics: Sequence[str]) -> list[str]:
    """Nothing to show if no regret is known."""
    return ["tradeoff"] if "regret" in metrics else []


def _known(row: ComparisonRow, metric: str) -> bool:
    return math.isfinite(getattr(row, metric).mean)


# --------------------------------------------------------------------------------------- sweeps


def _points(folder: Path) -> list[PointSummary]:
    found = summarise(sorted(read_cells(folder / CELLS), key=lambda cell: cell.seed))
    if not found:
        raise HTTPException(404, "no run of this sweep is finished yet")
    return sorted(found, key=lambda summary: [_place(value) for value in summary.point.values()])


def _place(value: Any) -> tuple[bool, float, str]:
    """To sort by: numbers first, by size."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return not number, float(value) if number else 0.0, str(value)


def _sweep_view(folder: Path) -> SavedView:
    points = _points(folder)
    metrics = [name for name in METRICS if any(_known(summary.row, name) for summary in points)]
    rows = [
        Figures(summary.row.label, summary.row.seeds, *_means(summary.row, metrics), {})
        for summary in points
    ]
    axes = ", ".join(_axes(points))
    words = [f"{counted(len(points), 'point')}{f' over {axes}' if axes else ''}"]
    charts = [*_maps(points), *_tradeoff(metrics)]
    lines = "Means over the seeds." if any(row.seeds > 1 for row in rows) else "One run each."
    scale = _scale([summary.row for summary in points])
    return SavedView(folder.name, "sweep", rows, metrics, words, charts, lines=lines, **scale)


def _maps(points: Sequence[PointSummary]) -> dict[str, tuple[str, list[PointSummary]]]:
    """Heat maps by name: a metric over the two parameters that differ; of several algorithms, each
    has its own."""
    axes = _axes(points)
    metrics = [name for name in METRICS if any(_known(summary.row, name) for summary in points)]
    if len(axes) == 2:
        return {name: (name, list(points)) for name in metrics}
    found: dict[str, tuple[str, list[PointSummary]]] = {}
    for label in dict.fromkeys(summary.point.get(ALGORITHM) for summary in points):
        own = [summary for summary in points if summary.point.get(ALGORITHM) == label]
        if label is not None and len(_axes(own)) == 2:
            found |= {f"{name}, {label}": (name, own) for name in metrics if name in MAPPED}
    return found


def _axes(points: Sequence[PointSummary]) -> list[str]:
    """The parameters that differ."""
    names = dict.fromkeys(name for summary in points for name in summary.point)
    return [name for name in names if len({str(summary.point.get(name)) for summary in points}) > 1]


def _sweep_chart(folder: Path, name: str) -> dict[str, Any]:
    points = _points(folder)
    if name == "tradeoff":
        return interactive.tradeoff([summary.row for summary in points])
    metric, points = _maps(points)[Word(_maps(points)).of("name", name)]
    axes = _axes(points)
    across, down = (_values(points, axis) for axis in axes)
    cells = {
        (str(summary.point.get(axes[0])), str(summary.point.get(axes[1]))): getattr(
            summary.row, metric
        ).mean
        for summary in points
    }
    values = [[finite(cells.get((str(x), str(y)))) for x in across] for y in down]
    return interactive.heat_map((axes[0], across), (axes[1], down), values, metric)


def _values(points: Sequence[PointSummary], axis: str) -> list[Any]:
    found = list(dict.fromkeys(summary.point.get(axis) for summary in points))
    numbers = all(isinstance(value, int | float) for value in found)
    return sorted(found) if numbers else found


# ---------------------------------------------------------------------------------------- plans


def _plan_view(folder: Path) -> SavedView:
    plan = read_plan(folder)
    metrics = ("regret", "reward", "payment", "communication")
    known = {"The advice": plan["figures"], **plan["references"]}
    known |= {f"Frontier {n}": figures for n, figures in enumerate(plan["frontier"], 1)}
    rows = [
        Figures(
            label,
            len(plan["held_out_seeds"]),
            _words(figures, metrics),
            _of(figures, metrics),
            {},
            {},
        )
        for label, figures in known.items()
    ]
    used = [name for name in metrics if any(row.mean[name] is not None for row in rows)]
    charts = ["search", "frontier"] if plan["tried"] else ["frontier"]
    note = "Held-out means with 95 % intervals."
    return SavedView(folder.name, "plan", rows, used, [plan["advice"]], charts, note, note)


def _of(figures: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, float | None]:
    return {name: (figures.get(name) or {}).get("mean") for name in metrics}


def _words(figures: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, str]:
    known = {name: figures.get(name) or {} for name in metrics}
    return {
        name: f"{human(figure['mean'])} ({human(figure['low'])} to {human(figure['high'])})"
        for name, figure in known.items()
        if figure.get("mean") is not None and figure.get("low") is not None
    }


def _plan_chart(folder: Path, name: str) -> dict[str, Any]:
    plan = read_plan(folder)
    Word(("search", "frontier")).of("name", name)
    if name == "search":
        tried = plan["tried"]
        columns = {
            key: [_scalar(trial[key]) for trial in tried] for key in (tried[0] if tried else ())
        }
        own = [{key: trial.get(key) for key in plan["setting"]} for trial in tried]
        return parallel(columns, own.index(plan["setting"]) if plan["setting"] in own else None)
    bought = plan["bought"]
    points = [point for point in plan["frontier"] if point[bought]["mean"] is not None]
    return interactive.frontier(points, "payment", bought)


def _scalar(value: Any) -> float | str:
    """A value of a setting on an axis; what is unknown or infinite is at its end."""
    if value is None:
        return math.inf
    return value if isinstance(value, int | float | str) else str(value)
