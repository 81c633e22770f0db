"""Records in a notebook: a small table, and a curve where there is one to see."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..support.inputs import counted
from . import html
from .curves import Curve
from .document import Block, Column, Document, Figure, Table, TableRow
from .numbers import human
from .palette import pens_for
from .plots import can_plot, new_figure, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from .rounds import Rounds

MOST_ROWS = 8


class Shown:
    """Something that a notebook shows as a document."""

    @abstractmethod
    def document(self) -> Document: ...

    def _repr_html_(self) -> str:
        return html.render_fragment(self.document())


def columns_table(columns: Mapping[str, NDArray[Any]], what: str, *, last: bool = False) -> Table:
    """The first rows of these columns, or the last ones; `what` a row is."""
    size = len(next(iter(columns.values())))
    rows = range(max(0, size - MOST_ROWS), size) if last else range(min(size, MOST_ROWS))
    lines = [TableRow.of(*(_shown(column[row]) for column in columns.values())) for row in rows]
    some = f"The {'last' if last else 'first'} {MOST_ROWS} of {counted(size, what)}."
    heads = tuple(Column(name.capitalize().replace("_", " ")) for name in columns)
    return Table(heads, tuple(lines), some if size > MOST_ROWS else "")


def columns_html(title: str, columns: Mapping[str, NDArray[Any]], what: str) -> str:
    """A record of columns as a part of a notebook."""
    return html.render_fragment(Document(title, (columns_table(columns, what),)))


def rounds_document(rounds: Rounds) -> Document:
    """The last rounds, and what was paid over the steps; if nothing was, what was sent."""
    shown = {
        "step": rounds.step,
        "trigger": rounds.trigger,
        "pending": rounds.pending,
        "shared": rounds.shared,
        "payment": rounds.payment,
        "communication": rounds.communication,
        "ratio": rounds.ratio,
    }
    blocks: list[Block] = [columns_table(shown, "round", last=True)]
    if len(rounds) > 1 and can_plot():
        paid = bool(rounds.payment.any())
        caption = f"{'Payments' if paid else 'Traffic'} so far, after each round."
        blocks.append(Figure(caption, lambda: _rounds_figure(rounds, paid)))
    return Document(repr(rounds)[1:-1], tuple(blocks))


def _rounds_figure(rounds: Rounds, paid: bool) -> Drawing:
    label, metric = "rounds", "payment" if paid else "communication"
    values = np.cumsum(getattr(rounds, metric))
    line = Curve(rounds.step + 1, values, np.full(len(values), np.nan))
    figure = new_figure(6.4, 2.6)
    panel(figure.add_subplot(), {label: line}, metric, pens_for([label]))
    return figure


def _shown(value: Any) -> str:
    return human(float(value)) if isinstance(value, np.number) else str(value)
