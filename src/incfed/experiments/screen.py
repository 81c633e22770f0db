"""What people see on a terminal. Tables go to the output, all else beside it, so that
`incfed run config.toml > table.md` gives a plain table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from ..results.numbers import human
from ..results.tables import HEADINGS, METRICS, Row, to_markdown
from ..support.inputs import counted
from .cells import named
from .tidy import (
    Summary,
    headings,
    known_metrics,
    point_cells,
)
from .tidy import to_markdown as points_markdown

if TYPE_CHECKING:
    from .cells import Cell

COMPILING = "compiling the kernels: once, up to a minute; the next start finds them"
MANY = 30  # points of a sweep: more are not for a terminal
NARROW = 104  # columns; below, some figures are left out


class Screen:
    """Two consoles: the output, and the notes beside it."""

    def __init__(self) -> None:
        self.out = Console(highlight=False)
        self.err = Console(highlight=False, stderr=True)

    def table(self, title: str, rows: Sequence[Row], text: str = "") -> None:
        """A comparison, and a sentence on it; plain Markdown if the output is not a terminal."""
        if not self.out.is_terminal:
            words = f"{text}\n\n" if text else ""
            self._line(f"## {title}\n\n{words}{to_markdown(rows)}")
            return
        shown = [name for name in METRICS if any(_known(row, name) for row in rows)]
        if self.out.width < NARROW and "regret" in shown:
            shown = [name for name in shown if name not in ("reward", "rounds")]
        counts = {row.seeds for row in rows}
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        table.add_column("Algorithm", overflow="fold")
        for name in shown:
            table.add_column(name.capitalize(), justify="right", no_wrap=True)
        for row in rows:
            cells = dict(zip(HEADINGS, row.cells(), strict=True))
            label = row.label if len(counts) == 1 else f"{row.label} ({counted(row.seeds, 'seed')})"
            table.add_row(Text(label), *(_cell(cells[name.capitalize()]) for name in shown))
        self.out.print()
        spread = f" mean ± standard deviation over {counted(max(counts), 'seed')}"
        self.out.print(Text.assemble((title, "bold"), (spread if max(counts) > 1 else "", "dim")))
        if text:
            self.out.print(Text(text))
        self.out.print(table)

    def points(self, title: str, summaries: Sequence[Summary], rest: Path) -> None:
        """The points of a sweep, the first ones if there are many: `rest` has them all."""
        if not self.out.is_terminal:
            self._line(f"## {title}\n\n{points_markdown(summaries)}")
            return
        first = summaries[:MANY]
        names = headings(first)
        columns = {name: [point_cells(one.point, [name])[0] for one in first] for name in names}
        figures = {
            name: [str(getattr(one.row, name)) for one in first]
            for name in known_metrics(summaries)
        }
        for name in ("rounds", "reward", "participation", "communication"):  # what does not fit
            if _width(columns) + _width(figures) > self.out.width and len(figures) > 1:
                figures.pop(name, None)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for name in names:
            one = name == "algorithm"
            head = Text(name.capitalize() if one else name)
            table.add_column(head, overflow="fold", no_wrap=not one, min_width=10 if one else None)
        for name in figures:
            table.add_column(name.capitalize(), justify="right", no_wrap=True)
        for n in range(len(first)):
            cells = [Text(column[n]) for column in columns.values()]
            table.add_row(*cells, *(_cell(column[n]) for column in figures.values()))
        seeds = max(len(one.seeds) for one in summaries)
        spread = f" mean ± standard deviation over {counted(seeds, 'seed')}" if seeds > 1 else ""
        self.out.print()
        self.out.print(Text.assemble((title, "bold"), (spread, "dim")))
        self.out.print(table)
        if len(summaries) > MANY:
            more = counted(len(summaries) - MANY, "more point")
            self.out.print(Text(f"{more}: {short(rest)}", "dim"), soft_wrap=True)

    def facts(self, facts: Mapping[str, Any]) -> None:
        """Names and values, one a line."""
        width = max(map(len, facts), default=0)
        for name, value in facts.items():
            figure = isinstance(value, int | float) and not isinstance(value, bool)
            self._line(f"  {name:{width}}  {human(value) if figure else value}")

    def places(self, where: Mapping[str, Path]) -> None:
        """Where things were written: beside the output, so that a redirected table stays one."""
        width = max(map(len, where), default=0)
        lines = [f"  {name:{width}}  {short(path)}" for name, path in where.items()]
        self.note("\n".join(["", *lines]))

    def say(self, text: str) -> None:
        """A line of the output."""
        self._line(text)

    def note(self, text: str) -> None:
        """A line beside the output."""
        self.err.print(Text(text, "dim"), soft_wrap=True)

    def hint(self, text: str) -> None:
        """What to do next, if somebody is there to do it."""
        if self.out.is_terminal:
            self.out.print(Text(f"\n{text}", "dim"), soft_wrap=True)

    def error(self, text: str) -> None:
        self.err.print(Text.assemble(("error: ", "bold red"), text), soft_wrap=True)

    def failures(self, failures: Sequence[tuple[Cell, str]]) -> None:
        """What went wrong, once for all cells that it happened to."""
        same: dict[str, list[Cell]] = {}
        for cell, why in failures:
            same.setdefault(why, []).append(cell)
        for why, cells in same.items():
            points = {named(cell.point): None for cell in cells}
            if len(cells) > 1 and len(points) == 1:  # all seeds of one algorithm
                seeds = ", ".join(str(cell.seed) for cell in cells)
                which = ", ".join(filter(None, [*points, f"seeds {seeds}"]))
            else:
                more = f" and {len(cells) - 1:,} more" if len(cells) > 1 else ""
                which = f"{cells[0].name}{more}"
            self.error(f"{which}: {why}")

    def _line(self, text: str) -> None:
        self.out.print(text, markup=False, emoji=False, soft_wrap=True)

    def busy(self, text: str) -> AbstractContextManager[object]:
        """Something that takes a few seconds; nothing is shown if nobody is watching."""
        return self.err.status(Text(text, "dim")) if self.err.is_terminal else nullcontext()

    @contextmanager
    def progress(self, runs: int) -> Iterator[Bar]:
        """A bar with the time left; nothing if nobody is watching."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(compact=True),
        )
        watched = self.err.is_terminal
        hidden = not watched or runs == 0
        live = Progress(*columns, console=self.err, transient=True, disable=hidden)
        with live:
            yield Bar(live, counted(runs, "run"), self.note if not watched else None)

    @contextmanager
    def loading(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """A bar for bytes so far, and in all if known; nothing if nobody is watching."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(compact=True),
        )
        hidden = not self.err.is_terminal
        with Progress(*columns, console=self.err, transient=True, disable=hidden) as live:
            task = live.add_task(name, total=None)
            yield lambda done, total: live.update(task, completed=done, total=total)


class Bar:
    """Moves as steps are done."""

    def __init__(self, live: Progress, text: str, aloud: Callable[[str], None] | None) -> None:
        self._live = live
        self._text = text
        self._aloud = aloud
        self._task = live.add_task(text, total=None)

    def update(self, done: int, total: int) -> None:
        self._live.update(self._task, completed=done, total=total, description=self._text)

    def compiling(self) -> None:
        if self._aloud:
            self._aloud(COMPILING)
        self._live.update(self._task, description=COMPILING)


def short(path: Path) -> str:
    """As seen from here, if that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)
    return relative if len(relative) < len(str(path)) else str(path)


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    """Of so many columns side by side, with the space between them."""
    return sum(max(map(len, [name, *cells])) + 3 for name, cells in columns.items())


def _known(row: Row, name: str) -> bool:
    value = getattr(row, name).mean
    return bool(value == value)  # not NaN


def _cell(text: str) -> Text:
    """The spread is quieter than the mean."""
    mean, mark, spread = text.partition(" ± ")
    return Text.assemble(mean, (mark + spread, "dim"))
