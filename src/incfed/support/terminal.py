"""A terminal: what was asked for goes to the output, all else beside it, so that
`incfed run config.toml > table.md` gives a plain table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from .inputs import counted

COMPILING = "compiling the kernels: once, up to a minute; the next start finds them"


class Terminal:
    """Two consoles: standard output, and standard error for notes beside it."""

    def __init__(self) -> None:
        self.out = Console(highlight=False)
        self.err = Console(highlight=False, stderr=True)

    def say(self, text: str) -> None:
        """A line of the output."""
        self.out.print(text, markup=False, emoji=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """A line beside the output."""
        self.err.print(Text(text, "dim"), soft_wrap=True)

    def error(self, text: str) -> None:
        self.err.print(Text.assemble(("error: ", "bold red"), text), soft_wrap=True)

    def hint(self, text: str) -> None:
        """What to do next. Shown on a terminal only."""
        if self.out.is_terminal:
            self.out.print(Text(f"\n{text}", "dim"), soft_wrap=True)

    def places(self, where: Mapping[str, Path]) -> None:
        """Where files were written. Beside the output, so that a redirected table stays one."""
        width = max(map(len, where), default=0)
        lines = [f"  {name:{width}}  {short(path)}" for name, path in where.items()]
        self.note("\n".join(["", *lines]))

    def busy(self, text: str) -> AbstractContextManager[object]:
        """A spinner for a few seconds of work. Shown on a terminal only, as all progress is."""
        return self.err.status(Text(text, "dim")) if self.err.is_terminal else nullcontext()

    @contextmanager
    def progress(self, runs: int) -> Iterator[Bar]:
        """A bar with the time left."""
        watched = self.err.is_terminal
        columns = (TaskProgressColumn(), TimeRemainingColumn(compact=True))
        with self._bar(*columns, hidden=not watched or runs == 0) as live:
            yield Bar(live, counted(runs, "run"), self.note if not watched else None)

    @contextmanager
    def loading(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """A bar for bytes so far, and in all if that is known."""
        columns = (DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(compact=True))
        with self._bar(*columns, hidden=not self.err.is_terminal) as live:
            task = live.add_task(name, total=None)
            yield lambda done, total: live.update(task, completed=done, total=total)

    def _bar(self, *columns: ProgressColumn, hidden: bool) -> Progress:
        first = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn())
        return Progress(*first, *columns, console=self.err, transient=True, disable=hidden)


class Bar:
    """Moves as steps are done."""

    def __init__(self, live: Progress, text: str, note: Callable[[str], None] | None) -> None:
        self._live, self._text, self._note = live, text, note
        self._task = live.add_task(text, total=None)

    def update(self, done: int, total: int) -> None:
        self._live.update(self._task, completed=done, total=total, description=self._text)

    def compiling(self) -> None:
        """Say why nothing moves; as a note, if no bar is shown."""
        if self._note:
            self._note(COMPILING)
        self._live.update(self._task, description=COMPILING)


def short(path: Path) -> str:
    """As seen from here, if that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)
    return relative if len(relative) < len(str(path)) else str(path)
