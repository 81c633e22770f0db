"""What is in folders (runs, experiments, sweeps, plans), finished or not; several side by side."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..results.collection import INDEX, collect
from ..results.comparison import Comparison
from ..results.document import DefinitionList, Document, Text
from ..results.listing import Listing, show_listing
from ..results.numbers import finite, human
from ..results.records import Result
from ..results.replays import bootstrapped
from ..results.storage import INDEX as RUN
from ..results.storage import load
from ..results.terminal import show
from ..support.inputs import InputError, counted
from ..support.terminal import Terminal, short
from .checkpoint import NAME as CELLS
from .checkpoint import read_cells
from .outputs import Chapter, matching
from .run_folders import EARLIER
from .sweep_report import show_points

PAGES = ("report.html", "plan.html", "reproduction.html")
SEARCH = "study-*.log"  # of a plan, from its first start
PLAN = "plan.json"  # what `incfed plan` advised; its runs are in a file as those of a sweep


def show_folders(terminal: Terminal, folders: Sequence[Path]) -> None:
    """Print what is in a folder; of several, their runs in one table."""
    if len(folders) == 1:
        show_folder(terminal, folders[0])
        return
    found = {short(folder): _runs(folder) for folder in folders}
    runs = {
        f"{folder}: {label}" if label else folder: results
        for folder, labels in found.items()
        for label, results in labels.items()
    }
    made = Comparison(runs).document(figure=False)
    each = {folder: [*chain.from_iterable(labels.values())] for folder, labels in found.items()}
    show(terminal, replace(made, blocks=(*_differing(each), *made.blocks)))


def show_folder(terminal: Terminal, folder: Path) -> None:
    """Print a saved run, the table of an experiment or a sweep, or a list of what is below."""
    name = folder.resolve().name
    if (folder / RUN).exists():
        result = load(folder)
        facts = result.summary()
        if facts["matched"] == facts["steps"]:  # as everywhere but in logs
            del facts["matched"]
        values = {name: human(value) for name, value in facts.items() if value is not None}
        drawn = "bootstrapped log" if bootstrapped(result.settings) else "seed"
        title = Text(f"{result.name}, {drawn} {result.settings.get('seed')}")
        show(terminal, Document("", (title, DefinitionList({"": values}))))
    elif (folder / INDEX).exists():
        found = collect(folder)
        if found.runs:
            show(terminal, Chapter(name, found.runs, matching(found.runs)).document())
        if found.count < found.total:
            terminal.note(f"{found.count} of {counted(found.total, 'run')} finished")
    elif (folder / PLAN).exists():
        _show_plan(terminal, folder)
    elif (folder / CELLS).exists() and _kind(folder) == "plan":
        count = counted(len(read_cells(folder / CELLS)), "run")
        terminal.say(
            f"A plan that is not finished: {count} kept. To continue, plan again as before."
        )
    elif (folder / CELLS).exists():  # all finished runs, also of an earlier config
        records = sorted(read_cells(folder / CELLS), key=lambda one: one.seed)
        if records:
            show_points(terminal, name, records, folder)
        terminal.note(f"{counted(len(records), 'run')} finished")
    elif below := _below(folder):
        rows = [(short(one), kind, count) for one, kind, count in below]
        show_listing(terminal, Listing.of(("folder", "kind", "finished_runs"), rows))
        terminal.hint(f"Next: incfed show {short(below[0][0])}")
    else:
        raise _nothing(folder)


def as_json(folders: Sequence[Path]) -> str:
    """The final figures of every run, for machines; NaN is null."""
    found = []
    for folder in folders:
        if (folder / CELLS).exists():
            runs = [
                {"label": None, "seed": one.seed, **dict(one.point), **one.figures}
                for one in read_cells(folder / CELLS)
            ]
        else:
            runs = [
                {
                    "label": label or one.name,
                    "seed": one.settings.get("seed"),
                    **({"bootstrap": True} if bootstrapped(one.settings) else {}),
                    **one.summary(),
                }
                for label, results in _runs(folder).items()
                for one in results
            ]
        found.append({"folder": str(folder), "runs": [_plain(run) for run in runs]})
    return json.dumps(found, indent=1, ensure_ascii=False)


def open_page(terminal: Terminal, folder: Path) -> None:
    """Open the report in a browser."""
    page = next((folder / name for name in PAGES if (folder / name).exists()), None)
    if page is None:
        raise InputError(f"{folder}: has no page to open ({', '.join(PAGES)})")
    terminal.note(f"opening {short(page)}")
    if not webbrowser.open(page.resolve().as_uri()):
        raise InputError(f"--open: found no browser; open {page} yourself")


def _runs(folder: Path) -> dict[str, list[Result]]:
    """The finished runs of an experiment by label; of a single run, without one."""
    if (folder / RUN).exists():
        return {"": [load(folder)]}
    if (folder / INDEX).exists():
        return collect(folder).runs
    if (folder / CELLS).exists():
        raise InputError(
            f"{folder}: holds a {_kind(folder)}, which cannot be compared with other folders; "
            f"alone: incfed show {short(folder)}"
        )
    raise _nothing(folder)


def _differing(folders: Mapping[str, Sequence[Result]]) -> Iterator[Text]:
    """The settings of world and run that folders do not have in common: their figures may differ
    for that reason alone."""
    facts: dict[str, dict[str, str]] = {}  # by setting and folder
    folders = {folder: results for folder, results in folders.items() if results}
    for folder, results in folders.items():
        settings = results[0].settings
        world = {f"world.{name}": value for name, value in settings.get("world", {}).items()}
        for name, value in {"steps": settings.get("steps"), **world}.items():
            whole = isinstance(value, int) and not isinstance(value, bool)
            said = f"{value:,}" if whole else str(value)
            facts.setdefault(name, {})[folder] = said
    for name, found in facts.items():
        if len(found) < len(folders) or len(set(found.values())) > 1:
            each = "; ".join(f"{found.get(folder, 'not set')} in {folder}" for folder in folders)
            yield Text(f"Not the same: {name} is {each}.")


def _show_plan(terminal: Terminal, folder: Path) -> None:
    """What was advised. The runs behind it are of settings that were tried, and say little."""
    try:
        plan = json.loads((folder / PLAN).read_text(encoding="utf-8"))
        blocks = [Text(str(line)) for line in (plan["advice"], *plan.get("unused", ()))]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder / PLAN}: is not what `incfed plan` wrote") from None
    show(terminal, Document("", tuple(blocks)))
    if (folder / "plan.html").exists():
        terminal.places({"page": folder / "plan.html"})


def _kind(folder: Path) -> str:
    """What wrote a file of cells."""
    if (folder / PLAN).exists() or any(folder.glob(SEARCH)):
        return "plan"
    return "reproduction" if (folder / "reproduction.html").exists() else "sweep"


def _below(folder: Path) -> list[tuple[Path, str, int]]:
    """What `run`, `sweep`, `plan` and `reproduce` have left in the folders below, and what `run`
    has kept of earlier configs; with how many of their runs are finished."""
    found = []
    places = ((f"*/{INDEX}", INDEX), (f"*/{EARLIER}/*/{INDEX}", INDEX), (f"*/{CELLS}", CELLS))
    for pattern, mark in places:
        for file in folder.glob(pattern):
            kind = "experiment" if mark == INDEX else _kind(file.parent)
            count = collect(file.parent).count if mark == INDEX else len(read_cells(file))
            found.append((file.parent, kind, count))
    return sorted(found)


def _plain(run: dict[str, Any]) -> dict[str, Any]:
    return {key: finite(value) for key, value in run.items()}


def _nothing(folder: Path) -> InputError:
    if not folder.exists():
        return InputError(f"folder not found: {folder}. To list what there is here: incfed show")
    state = "holds neither" if folder.is_dir() else "is neither"
    return InputError(
        f"{folder}: {state} a saved run ({RUN}) nor the output of `incfed run` ({INDEX}) "
        f"or `incfed sweep` ({CELLS})"
    )
