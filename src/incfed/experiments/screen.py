"""What `incfed run`, `sweep` and `reproduce` say on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..results import terminal
from ..results.document import Block, Document, Heading, Text
from ..results.tables import ComparisonRow, comparison_table
from ..support.inputs import counted, noun
from ..support.terminal import Terminal, short
from .tidy import PointSummary, points_table

if TYPE_CHECKING:
    from .cells import Cell
    from .experiment import Job
    from .runner import Plan

MANY = 30  # points of a sweep: more are not for a terminal


class Screen(Terminal):
    """A terminal that knows experiments."""

    def show(self, document: Document) -> None:
        """Print a document; as Markdown if the output is not a terminal."""
        terminal.show(self, document)

    def table(self, title: str, rows: Sequence[ComparisonRow], text: str = "") -> None:
        """A comparison, and a sentence on it."""
        self.show(Document("", (Heading(title), Text(text), comparison_table(rows))))

    def points(self, title: str, summaries: Sequence[PointSummary], rest: Path) -> None:
        """The points of a sweep. A terminal gets the first ones if there are many, and the file
        that has them all: `rest`."""
        first = summaries[:MANY] if self.out.is_terminal else summaries
        blocks: list[Block] = [Heading(title), points_table(first)]
        if len(summaries) > len(first):
            more = counted(len(summaries) - len(first), "more point")
            blocks.append(Text(f"{more}: {short(rest)}", note=True))
        self.show(Document("", blocks))

    def plan(self, plan: Plan) -> None:
        """What is about to happen."""
        experiment = plan.experiment
        what = (
            f"{counted(plan.total, 'run')} of {counted(experiment.steps, 'step')}: "
            f"{counted(len(experiment.entries), 'algorithm')}, "
            f"{counted(len(experiment.seeds), 'seed')}"
        )
        if plan.done:
            what += f"; {len(plan.done)} of {counted(plan.total, 'run')} already there"
        elif plan.processes > 1:
            what += f"; {plan.processes} processes"
        self.note(what)

    def failures(self, failures: Sequence[tuple[Job, str]]) -> None:
        """What went wrong, once for all seeds of an algorithm that it happened to."""
        same: dict[tuple[str, str], list[str]] = {}
        for job, fault in failures:
            same.setdefault((job.label, fault), []).append(str(job.seed))
        for (label, fault), seeds in same.items():
            which = f"{noun(len(seeds), 'seed')} {', '.join(seeds)}"
            self.error(f"{label}, {which}: {fault}")

    def cell_failures(self, failures: Sequence[tuple[Cell, str]]) -> None:
        """What went wrong, once for all cells that it happened to."""
        same: dict[str, list[Cell]] = {}
        for cell, fault in failures:
            same.setdefault(fault, []).append(cell)
        for fault, cells in same.items():
            more = f" and {len(cells) - 1:,} more" if len(cells) > 1 else ""
            self.error(f"{cells[0].name}{more}: {fault}")
