"""What is in a folder: one run, an experiment or a sweep, finished or not."""

from __future__ import annotations

from pathlib import Path

from ..results.document import DefinitionList, Document, Text
from ..results.numbers import human
from ..results.storage import INDEX as RUN
from ..results.storage import load
from ..results.terminal import show
from ..support.inputs import InputError, counted
from ..support.terminal import Terminal
from .checkpoint import NAME as CELLS
from .checkpoint import read_cells
from .outputs import Chapter, matching
from .run_folders import INDEX, collect
from .sweep_report import show_points


def show_folder(terminal: Terminal, folder: Path) -> None:
    """Print a saved run, or the table of an experiment or a sweep."""
    name = folder.resolve().name
    if (folder / RUN).exists():
        result = load(folder)
        facts = result.summary()
        if facts["matched"] == facts["steps"]:  # as everywhere but in logs
            del facts["matched"]
        values = {name: human(value) for name, value in facts.items() if value is not None}
        title = Text(f"{result.name}, seed {result.settings.get('seed')}")
        show(terminal, Document("", (title, DefinitionList({"": values}))))
    elif (folder / INDEX).exists():
        found = collect(folder)
        if found.runs:
            show(terminal, Chapter(name, found.runs, matching(found.runs)).document())
        if found.count < found.total:
            terminal.note(f"{found.count} of {counted(found.total, 'run')} finished")
    elif (folder / CELLS).exists():  # all finished runs, also of an earlier config
        records = sorted(read_cells(folder / CELLS), key=lambda one: one.seed)
        if records:
            show_points(terminal, name, records, folder)
        terminal.note(f"{counted(len(records), 'run')} finished")
    else:
        state = "holds neither" if folder.is_dir() else "is neither"
        raise InputError(
            f"{folder}: {state} a saved run ({RUN}) nor the output of `incfed run` ({INDEX}) "
            f"or `incfed sweep` ({CELLS})"
        )
