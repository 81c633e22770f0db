"""`incfed plan` on a terminal: progress with the best so far, then the plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from ..results import terminal as documents
from ..results.numbers import human
from ..support.inputs import counted
from ..support.terminal import COMPILING, Terminal
from .case import Case
from .document import CONFIG, FEDERATION, plan_document
from .goals import GAINS, UNITS, Goal
from .planner import Plan
from .publish import PAGE
from .search import Update


def introduce(terminal: Terminal, case: Case, goal: Goal) -> None:
    """What is about to happen."""
    world = case.world
    terminal.note(
        f"{counted(world.count, 'client')}, {counted(world.dim, 'feature')}, "
        f"{counted(case.steps, 'step')}; sharing costs {case.costs}"
    )
    for line in case.notes:
        terminal.note(line)
    terminal.note(f"looking for the {'most' if goal.aim in GAINS else 'least'} {goal.aim}")


class Live:
    """A bar, and below it the best so far."""

    def __init__(self, live: Progress, terminal: Terminal) -> None:
        self._live, self._terminal = live, terminal
        self._bar = live.add_task("settings", total=None)
        self._best = live.add_task("", total=1, visible=False)

    def update(self, now: Update) -> None:
        what = "judging" if now.total and now.done == now.total else "settings"
        part = f", runs under way {now.part:4.0%}" if 0 < now.part < 1 else ""
        self._live.update(
            self._bar, completed=now.done, total=now.total or None, description=what + part
        )
        if now.best is not None and now.means is not None:
            means = now.means
            figures = ", ".join(
                UNITS[name].format(human(value)) for name, value in means.items() if value == value
            )
            text = f"best so far: {now.best}: {figures}"
            self._live.update(self._best, description=text, visible=True)

    def compiling(self) -> None:
        if not self._terminal.err.is_terminal:
            self._terminal.note(COMPILING)
        self._live.update(self._bar, description=COMPILING)


@contextmanager
def watching(terminal: Terminal) -> Iterator[Live]:
    """Nothing is shown if nobody is watching."""

    class Columns(Progress):
        def get_renderables(self) -> Iterator[Table | Text]:
            bar, best = self.tasks[:2] if len(self.tasks) > 1 else (None, None)
            if bar is not None:
                yield self.make_tasks_table([bar])
            if best is not None and best.visible:
                yield Text(best.description, "dim", overflow="ellipsis", no_wrap=True)

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
    )
    hidden = not terminal.err.is_terminal
    with Columns(*columns, console=terminal.err, transient=True, disable=hidden) as live:
        yield Live(live, terminal)


def show(terminal: Terminal, plan: Plan) -> None:
    """The whole plan; as Markdown if the output is not a terminal."""
    documents.show(terminal, plan_document(plan))


def show_files(terminal: Terminal, plan: Plan, folder: Path) -> None:
    """Where the plan is, and how to go on with it."""
    run, serve = folder / CONFIG, folder / FEDERATION
    where = {"page": folder / PAGE, "to simulate": run}
    then = f"To simulate it: incfed run {shlex.quote(str(run))}"
    if plan.federation is not None:
        where["to serve"] = serve
        then += f"\nTo serve it:    incfed serve --config {shlex.quote(str(serve))}"
    terminal.places(where)
    terminal.hint(then)
