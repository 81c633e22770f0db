"""Listings: rows of plain values. A table on a terminal, CSV where the output is a file or pipe."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from . import document as doc
from .terminal import show

if TYPE_CHECKING:
    from ..support.terminal import Terminal

Value = str | int | float | Decimal | None


@dataclass(frozen=True)
class Listing:
    """Rows under the names of their columns; None is left blank. On a terminal that is too narrow
    the `spare` columns are left out, the first ones first."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    spare: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, names: Sequence[str], rows: Iterable[Sequence[Value]], spare: Sequence[str] = ()
    ) -> Listing:
        return cls(tuple(names), tuple(map(tuple, rows)), tuple(spare))

    def table(self) -> doc.Table:
        """For people: numbers to the right, in groups of three digits."""
        columns = []
        for n, name in enumerate(self.names):
            known = [row[n] for row in self.rows if row[n] is not None]
            words = not known or any(isinstance(value, str) for value in known)
            drop = len(self.spare) - self.spare.index(name) if name in self.spare else 0
            title = name.replace("_", " ")
            columns.append(doc.Column(title, "left" if words else "right", drop))
        rows = (doc.TableRow.of(*map(_text, row)) for row in self.rows)
        return doc.Table(tuple(columns), tuple(rows))

    def csv(self) -> str:
        """For machines: every column, and values as they are."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows(self.rows)
        return text.getvalue()


def show_listing(terminal: Terminal, listing: Listing) -> None:
    """Print a listing to the output."""
    if terminal.out.is_terminal:
        show(terminal, doc.Document("", (listing.table(),)))
    else:
        terminal.say(listing.csv().rstrip("\n"))


def _text(value: Value) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else f"{value:,}"
