"""What `incfed run`, `sweep` and `reproduce` say on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..results import terminal
from ..results.document import Block, Document, Heading, Text
from ..results.tables import ComparisonRow, comparison_table
from ..support.inputs import counted
from ..support.terminal import Terminal, short
from .cells import named
from .tidy import PointSummary, points_table

if TYPE_CHECKING:
    from .cells import Cell

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
