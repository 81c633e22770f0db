"""What is in a folder: one run, an experiment or a sweep, finished or not."""

from __future__ import annotations

from pathlib import Path

from ..results.document import DefinitionList, Document, Text
from ..results.numbers import human
from ..results.storage import INDEX as RUN
from ..results.storage import load
from ..results.tables import compare
from ..support.inputs import InputError, counted
from .checkpoint import NAME as CELLS
from .checkpoint import read_cells
from .outputs import matching
from .run_folders import INDEX, collect
from .screen import Screen
from .tidy import summarise


def show_folder(screen: Screen, folder: Path) -> None:
    """Print a saved run, or the table of an experiment or a sweep."""
    if (folder / RUN).exists():
        _run(screen, folder)
    elif (folder / INDEX).exists():
        _experiment(screen, folder)
    elif (folder / CELLS).exists():
        _sweep(screen, folder)
    else:
        state = "holds neither" if folder.is_dir() else "is neither"
        raise InputError(
            f"{folder}: {state} a saved run ({RUN}) nor the output of `incfed run` ({INDEX}) "
            f"or `incfed sweep` ({CELLS})"
        )


def _run(screen: Screen, folder: Path) -> None:
    result = load(folder)
    facts = result.summary()
    if facts["matched"] == facts["steps"]:  # as everywhere but in logs
        del facts["matched"]
    values = {name: human(value) for name, value in facts.items() if value is not None}
    name = Text(f"{result.name}, seed {result.settings.get('seed')}")
    screen.show(Document("", (name, DefinitionList({"": values}))))


def _experiment(screen: Screen, folder: Path) -> None:
    found = collect(folder)
    if found.runs:
        screen.table(folder.resolve().name, compare(found.runs), matching(found.runs))
    if found.count < found.total:
        screen.note(f"{found.count} of {counted(found.total, 'run')} finished")


def _sweep(screen: Screen, folder: Path) -> None:
    """All finished runs: also those that an earlier config asked for."""
    records = sorted(read_cells(folder / CELLS), key=lambda one: one.seed)
    if records:
        screen.points(folder.resolve().name, summarise(records), folder / "summary.md")
    screen.note(f"{counted(len(records), 'run')} finished")
