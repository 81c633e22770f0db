"""`incfed plan` on a terminal: progress with the best so far, then the plan."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich import box
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

from ..experiments.screen import COMPILING, Screen
from ..results.numbers import human
from ..support.inputs import counted
from . import words
from .case import Case
from .chart import Dot, chart
from .goals import GAINS, UNITS, Goal
from .judging import Judged
from .money import money_words
from .planner import Plan
from .publish import PAGE
from .relaxing import relax
from .search import Update

STYLES = {"✓": "green", "≈": "yellow", "✗": "red"}


def introduce(screen: Screen, case: Case, goal: Goal) -> None:
    """What is about to happen."""
    world = case.world
    screen.note(
        f"{counted(world.count, 'client')}, {counted(world.dim, 'feature')}, "
        f"{counted(case.steps, 'step')}; sharing costs {case.costs}"
    )
    for line in case.notes:
        screen.note(line)
    screen.note(f"looking for the {'most' if goal.aim in GAINS else 'least'} {goal.aim}")


class Live:
    """A bar, and below it the best so far."""

    def __init__(self, live: Progress, screen: Screen) -> None:
        self._live, self._screen = live, screen
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
        if not self._screen.err.is_terminal:
            self._screen.note(COMPILING)
        self._live.update(self._bar, description=COMPILING)


@contextmanager
def watching(screen: Screen) -> Iterator[Live]:
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
    hidden = not screen.err.is_terminal
    with Columns(*columns, console=screen.err, transient=True, disable=hidden) as live:
        yield Live(live, screen)


def show(screen: Screen, plan: Plan) -> None:
    """The whole plan, in the words of the page; plain text if the output is not a terminal."""
    out = screen.out
    if not out.is_terminal:
        screen.say(str(plan))
        return
    out.print()
    out.print(Text(plan.advice, "bold" if plan.within else "bold yellow"))
    out.print(Text(f"Asked for: {plan.goal}.", "dim"))
    for kept in plan.limits:
        mark = words.mark(kept)
        out.print(Text.assemble((f"  {mark} ", STYLES[mark]), words.limit_words(kept)))
    for text in relax(plan):
        out.print(Text(f"  → {text}"))
    for text in (words.explain(plan.setting), *words.thrift(plan)):
        out.print(Text(text))
    rows = [("the advice", plan.judgement.chosen)]
    rows += [(one.label, one) for one in plan.judgement.references]
    _table(screen, plan, "", rows)
    _frontier(screen, plan)
    out.print(Text("If costs are off by a factor of 2", "bold"))
    off = [(words.COSTLY[factor], one) for factor, one in plan.judgement.sensitivity.items()]
    _table(screen, plan, "Cost of sharing", off)
    for text in words.sensitivity_words(plan):
        out.print(Text(text))
    out.print()
    for text in words.basis(plan):
        out.print(Text(text, "dim"))


def show_files(screen: Screen, plan: Plan, folder: Path) -> None:
    """Where the plan is, and how to go on with it."""
    run, serve = folder / words.CONFIG, folder / words.FEDERATION
    where = {"page": folder / PAGE, "to simulate": run}
    then = f"To simulate it: incfed run {shlex.quote(str(run))}"
    if plan.federation is not None:
        where["to serve"] = serve
        then += f"\nTo serve it:    incfed serve --config {shlex.quote(str(serve))}"
    screen.places(where)
    screen.hint(then)


def _table(screen: Screen, plan: Plan, head: str, rows: Sequence[tuple[str, Judged]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column(head, overflow="fold")
    metrics = words.shown_metrics(plan)
    for metric in metrics:
        table.add_column(metric.capitalize(), justify="right", no_wrap=True)
    for label, one in rows:
        table.add_row(Text(label), *(_cell(str(one[metric])) for metric in metrics))
    screen.out.print(table)


def _frontier(screen: Screen, plan: Plan) -> None:
    """The chart, its points as a table, and what each further sum buys."""
    out, metric = screen.out, plan.goal.bought
    out.print(Text(f"What money buys: {metric}", "bold"))
    others = [one for one in plan.judgement.references if one.setting is not None]
    inside = [one for one in plan.frontier if not words.outside(plan, one)]
    broken = [one for one in plan.frontier if words.outside(plan, one)]
    marks = {"□": others, "○": broken, "●": inside, "◆": [plan.judgement.chosen]}
    dots = [
        Dot(one["payment"].mean, one[metric].mean, mark)
        for mark, marked in marks.items()
        for one in marked
    ]
    for line in chart(dots, width=min(out.width, 76), across="paid to clients"):
        out.print(Text(line), soft_wrap=True)
    legend = "◆ the advice   ● best for the money   □ everyone, nobody is paid"
    out.print(Text(legend + ("   ○ outside another limit" if broken else ""), "dim"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("Payment", justify="right", no_wrap=True)
    table.add_column(metric.capitalize(), justify="right", no_wrap=True)
    table.add_column("Setting", overflow="fold")
    for one in plan.frontier:
        chosen = " ◆" if one.setting == plan.setting else ""
        label = Text(words.point_label(plan, one) + chosen)
        table.add_row(_cell(str(one["payment"])), _cell(str(one[metric])), label)
    out.print(table)
    for text in money_words(plan):
        out.print(Text(text))
    out.print()


def _cell(text: str) -> Text:
    """The interval is quieter than the mean."""
    mean, mark, half = text.partition(" ± ")
    return Text.assemble(mean, (mark + half, "dim"))
