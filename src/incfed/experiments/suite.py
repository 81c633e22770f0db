"""A suite: runs that belong together, the folder they are kept in, and the report on them.

`incfed run`, `demo`, `sweep` and `reproduce` each run one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ..errors import InputError
from ..support.inputs import counted
from ..support.terminal import Terminal
from .cell_runner import CellRunner
from .cells import Cell, named
from .checkpoint import NAME, CellsFile, Checkpoint
from .engine import Executor, Outcome, run_cells


@dataclass(frozen=True, kw_only=True)
class Suite(ABC):
    """Some runs, described; what kind of suite it is decides how they are kept and reported."""

    name: str  # of the config, for messages
    cells: list[Cell]
    output: Path
    runner: CellRunner | None = field(default=None, compare=False, repr=False)  # has a world loaded

    mark: ClassVar[str] = NAME  # a file in the output folder that every start writes
    cautious: ClassVar[bool] = False  # use finished runs only with --resume
    hint: ClassVar[str] = "Next: open the report in a browser; change the config and run it again."

    @abstractmethod
    def describe(self) -> str:
        """How many runs of what are run, in a sentence."""

    @abstractmethod
    def report(self, terminal: Terminal, outcome: Outcome) -> Mapping[str, Path]:
        """Print the results and write the report; by name, the files that were written."""

    def checkpoint(self) -> Checkpoint:
        return CellsFile(self.output / NAME)

    def found(self, fresh: bool = False) -> str:
        """The fate of the runs in the output folder, for a dry run."""
        if not (self.output / self.mark).exists():
            return "a new folder"
        return f"runs already there are {'run again' if fresh else 'kept'}"


def run(
    suite: Suite,
    *,
    executor: Executor | None = None,
    resume: bool = False,
    fresh: bool = False,
    **watch: Any,
) -> Outcome:
    """Run what is not in the output folder yet, and keep it there.

    `watch` are the `progress`, `slow` and `begin` of `run_cells`. `resume` refuses a folder without
    runs to continue. With several processes, a script must call this under
    `if __name__ == "__main__":`.
    """
    checkpoint = suite.checkpoint()
    started = (suite.output / suite.mark).exists()
    if resume and fresh:
        raise InputError("--resume and --fresh: got both, must be one of them")
    if suite.cautious and started and not (resume or fresh):
        checkpoint.check()  # if another version wrote it, neither option helps
        raise InputError(
            f"output: got {str(suite.output)!r}, which has finished runs; add --resume to keep "
            "them and continue, --fresh to repeat them, or choose another folder with --output"
        )
    if resume and not started and not suite.cautious:
        raise InputError(
            f"--resume: {suite.output} has no runs to continue ({suite.mark} is missing); leave "
            "--resume out to start there, or name another folder with --output"
        )
    return run_cells(
        suite.cells,
        checkpoint=checkpoint,
        executor=executor,
        fresh=fresh,
        source=suite.name,
        runner=suite.runner,
        **watch,
    )


def run_and_report(
    terminal: Terminal, suite: Suite, executor: Executor, *, resume: bool, fresh: bool
) -> Outcome:
    """Run a suite under a progress bar, and report on it unless it is interrupted."""

    def begin(total: int, kept: int) -> None:
        place = executor.describe(total)
        more = f"{kept:,} of {counted(total, 'run')} already there" if kept else place
        terminal.note("; ".join(filter(None, [suite.describe(), more])))

    with terminal.progress(len(suite.cells)) as bar:
        outcome = run(
            suite, executor=executor, resume=resume, fresh=fresh,
            progress=bar.update, slow=bar.compiling, begin=begin,
        )  # fmt: skip
    if outcome.interrupted:
        return outcome
    _show_failures(terminal, outcome.failures)
    try:
        if outcome.records:
            terminal.places(suite.report(terminal, outcome))
    except KeyboardInterrupt:
        outcome.interrupted = True
        return outcome
    if outcome.failures:
        terminal.error(f"{outcome.failed} failed; the others are kept")
    else:
        terminal.hint(suite.hint)
    return outcome


def _show_failures(terminal: Terminal, failures: Sequence[tuple[Cell, str]]) -> None:
    """Print each error once, with the cells that it happened to."""
    by_reason: dict[str, list[Cell]] = {}
    for cell, why in failures:
        by_reason.setdefault(why, []).append(cell)
    for why, cells in by_reason.items():
        points = {named(cell.point): None for cell in cells}
        if len(cells) > 1 and len(points) == 1:  # all seeds of one algorithm
            seeds = ", ".join(str(cell.seed) for cell in cells)
            which = ", ".join(filter(None, [*points, f"seeds {seeds}"]))
        else:
            more = f" and {len(cells) - 1:,} more" if len(cells) > 1 else ""
            which = f"{cells[0].name}{more}"
        terminal.error(f"{which}: {why}")
