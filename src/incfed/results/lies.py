"""Mechanisms side by side: what they cost, what is learned, and what a liar gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from . import axes as style
from .document import Column, Table, TableRow
from .palette import INK, LIGHT
from .plots import PANEL, new_figure
from .records import Result
from .tables import Spread, spread
from .utilities import utilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUNDING = 1e-6  # money: less is none
PANELS = {
    "payment": ("Payment", "paid to clients, {}"),
    "regret": ("Regret", "cumulative, {}"),
    "packed": ("Traffic", "scalars sent if packed, {}"),
    "best": ("Gain of the best liar", "utility above that of honesty"),
}


@dataclass(frozen=True)
class LiesRow:
    """One mechanism over its seeds."""

    label: str
    payment: Spread
    overpaid: Spread  # beyond true costs
    regret: Spread
    packed: Spread
    best: Spread  # what the liar that gains most gains
    pays: Spread  # share of the lies that gain


def lies_row(
    label: str,
    shown: Mapping[int, Result],
    honest: Mapping[int, Result],
    lying: Sequence[tuple[Sequence[int], Mapping[int, Result]]],
) -> LiesRow:
    """From runs by seed: those whose payment, regret and traffic are shown, the honest ones, and
    those with liars, each with the clients that lie in it."""
    best, pays = [], []
    for seed, truth in honest.items():
        gained = [
            _gain(gain)
            for clients, runs in lying
            if seed in runs
            for gain in utilities(runs[seed], truth).gained[list(clients)]
        ]
        if gained:
            best.append(max(gained))
            pays.append(float(np.mean(np.array(gained) > 0.0)))
    finals = [one.summary() for one in shown.values()]
    return LiesRow(
        label,
        *(spread([final["payment"] for final in finals]),
          spread([float(utilities(one).overpaid.sum()) for one in shown.values()]),
          spread([final["regret"] for final in finals]),
          spread([final["packed"] for final in finals])),
        best=spread(best),
        pays=spread(pays, share=True),
    )  # fmt: skip


def _gain(money: float) -> float:
    return 0.0 if abs(money) < ROUNDING else float(money)


def lies_table(rows: Sequence[LiesRow]) -> Table:
    columns = (
        Column("Mechanism", "left"), Column("Payment"), Column("Overpaid", drop=2),
        Column("Regret"), Column("Traffic", drop=3), Column("Best liar gains"),
        Column("Lies that pay", drop=1),
    )  # fmt: skip
    return Table(
        columns,
        tuple(
            TableRow.of(
                row.label, row.payment.cell(), row.overpaid.cell(), row.regret.cell(),
                row.packed.cell(), row.best.cell(), row.pays.cell(),
            )
            for row in rows
        ),
    )  # fmt: skip


def lies_figure(rows: Sequence[LiesRow], who: str = "all honest") -> Figure:
    """A panel for each of payment, regret, traffic and the gain of the best liar. `who`: how
    clients act in the first three."""
    figure = new_figure(11.0, 1.6 + 0.34 * len(rows))
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, name in zip(panels, PANELS, strict=True):
        _bars(axes, rows, name, who)
    _name_rows(panels[0], rows)
    return figure


def lies_panels(rows: Sequence[LiesRow], who: str = "all honest") -> list[Figure]:
    """The same as small figures, which a page puts side by side."""
    figures = []
    for name in PANELS:
        figures.append(new_figure(PANEL[0], 1.1 + 0.28 * len(rows)))
        axes = figures[-1].add_subplot()
        _bars(axes, rows, name, who)
        _name_rows(axes, rows)
    return figures


def _bars(axes: Axes, rows: Sequence[LiesRow], name: str, who: str) -> None:
    title, note = PANELS[name]
    for place, row in enumerate(rows):
        value: Spread = getattr(row, name)
        axes.barh(
            place, value.mean, height=0.62, color=LIGHT[0],
            xerr=value.sd if value.sd >= 0 else None, error_kw={"elinewidth": 1.0, "ecolor": INK},
        )  # fmt: skip
    style.dress_rows(axes, title, note.format(who))


def _name_rows(axes: Axes, rows: Sequence[LiesRow]) -> None:
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.invert_yaxis()
    for text in axes.get_yticklabels():
        text.set_color(INK)
        text.set_parse_math(False)
