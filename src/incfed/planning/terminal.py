"""What `incfed plan` prints besides the plan: the question, its progress, and what to do next."""

from __future__ import annotations

import shlex
from pathlib import Path

from ..results.numbers import human
from ..support.terminal import Bar, Terminal
from .case import Case
from .goals import GAINS, UNITS, Goal
from .planner import Plan
from .report import CONFIG, FEDERATION, PAGE
from .search import Update


def introduce(terminal: Terminal, case: Case, goal: Goal) -> None:
    """Say what is about to happen."""
    for line in (str(case), *case.notes):
        terminal.note(line)
    terminal.note(f"looking for the {'most' if goal.aim in GAINS else 'least'} {goal.aim}")


def show_progress(bar: Bar, now: Update) -> None:
    """Show how many settings were tried, and the best so far."""
    what = "judging" if now.total and now.done == now.total else "settings"
    part = f", runs under way {now.part:4.0%}" if 0 < now.part < 1 else ""
    best = ""
    if now.best is not None and now.means is not None:
        known = {name: value for name, value in now.means.items() if value == value}
        figures = ", ".join(UNITS[name].format(human(value)) for name, value in known.items())
        best = f"best so far: {now.best}: {figures}"
    bar.update(now.done, now.total or None, what + part, best)


def show_files(terminal: Terminal, plan: Plan, folder: Path) -> None:
    """Say where the plan is, and how to use it."""
    run, serve = folder / CONFIG, folder / FEDERATION
    where = {"page": folder / PAGE, "to simulate": run}
    then = f"To simulate it: incfed run {shlex.quote(str(run))}"
    if plan.federation is not None:
        where["to serve"] = serve
        then += f"\nTo serve it:    incfed serve --config {shlex.quote(str(serve))}"
    terminal.places(where)
    terminal.hint(then)
