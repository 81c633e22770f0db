"""`incfed show`: runs, experiments, sweeps and plans in folders, finished or not; several side by
side."""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import InputError
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
from ..support.formats import FormatError, check_format
from ..support.inputs import counted
from ..support.terminal import Terminal, short
from .checkpoint import NAME as CELLS
from .checkpoint import read_cells
from .outputs import Chapter, matching
from .run_folders import EARLIER
from .sweep_report import show_points

PAGES = ("report.html", "plan.html", "reproduction.html")
SEARCH = "study-*.log"  # of a plan, from its first start
PLAN = "plan.json"  # the advice of `incfed plan`; its runs are in a file as those of a sweep
PLAN_VERSION = 1  # of the format of that file


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
        records = sorted(read_cells(folder / CELLS), key=lambda record: record.seed)
        if records:
            show_points(terminal, name, records, folder)
        terminal.note(f"{counted(len(records), 'run')} finished")
    else:
        _show_below(terminal, folder)


def as_json(folders: Sequence[Path]) -> str:
    """The final figures of every run, for machines; NaN is null."""
    found = []
    for folder in folders:
        if (folder / CELLS).exists():
            runs = [
                {"label": None, "seed": record.seed, **dict(record.point), **record.figures}
                for record in read_cells(folder / CELLS)
            ]
        else:
            runs = [
                {
                    "label": label or result.name,
                    "seed": result.settings.get("seed"),
                    **({"bootstrap": True} if bootstrapped(result.settings) else {}),
                    **result.summary(),
                }
                for label, results in _runs(folder).items()
                for result in results
            ]
        found.append({"folder": str(folder), "runs": [_plain(run) for run in runs]})
    return json.dumps(found, indent=1, ensure_ascii=False)


def read_plan(folder: Path) -> dict[str, Any]:
    """The plan that `incfed plan` wrote to a folder."""
    file = folder / PLAN
    try:
        plan: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        check_format(file, plan.get("format"), PLAN_VERSION, plan["incfed"])
    except FormatError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{file}: is not what `incfed plan` wrote") from None
    return plan


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
    """Print the advice. The runs behind it are of settings that were tried, and say little."""
    plan = read_plan(folder)
    blocks = [Text(str(line)) for line in (plan["advice"], *plan["unused"])]
    show(terminal, Document("", tuple(blocks)))
    if (folder / "plan.html").exists():
        terminal.places({"page": folder / "plan.html"})


def _kind(folder: Path) -> str:
    """The kind of study that wrote a file of cells."""
    if (folder / PLAN).exists() or any(folder.glob(SEARCH)):
        return "plan"
    return "reproduction" if (folder / "reproduction.html").exists() else "sweep"


def _show_below(terminal: Terminal, folder: Path) -> None:
    """List what `run`, `sweep`, `plan` and `reproduce` have left in the folders below, and what
    `run` has kept of earlier configs; with how many of their runs are finished."""
    found, refused = [], []
    places = ((f"*/{INDEX}", INDEX), (f"*/{EARLIER}/*/{INDEX}", INDEX), (f"*/{CELLS}", CELLS))
    for pattern, mark in places:
        for file in folder.glob(pattern):
            kind = "experiment" if mark == INDEX else _kind(file.parent)
            try:
                count = collect(file.parent).count if mark == INDEX else len(read_cells(file))
            except FormatError as error:
                refused.append(str(error))
            else:
                found.append((file.parent, kind, count))
    if not found and not refused:
        raise _nothing(folder)
    if found:
        found.sort()
        rows = [(short(place), kind, count) for place, kind, count in found]
        show_listing(terminal, Listing.of(("folder", "kind", "finished_runs"), rows))
        terminal.hint(f"Next: incfed show {short(found[0][0])}")
    for sentence in sorted(refused):
        terminal.note(sentence)


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
