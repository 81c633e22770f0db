"""The paper's tables and figures beside ours, as documents: a page to look at, and tables to print.

Each figure of a table has our mean and spread, and the published figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..._version import __version__
from ...results import document as doc
from ...support.inputs import counted
from .figures import FIGURES, PaperFigure
from .settings import MOVIELENS, Mode
from .tables import QUANTITIES, TABLES, PaperTable
from .verdicts import FigureVerdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

TITLE = "The paper, run again"
INTRO = """\
Every table and figure of "Incentivized Communication for Federated Bandits", run again and set \
beside what was printed. In each cell: our mean over {seeds} with the standard deviation of single \
runs, below it the published figure and the difference. Green is within {tolerance}, or within \
three standard deviations of single runs; amber is outside, with the reason where it is known.

{reads}"""
MADE = """\
Made by incfed {version}: mean over {seeds} and spread of single runs; the published figure in \
brackets."""
QUICK = "A quick look: one seed, and only the beginning of MovieLens."
OTHER = "MovieLens: another data set than the paper's: {data}. The published figures are ML-20M's."
TOLERANCES = "12 % (regret and payment) or 15 % (communication)"
READS = {  # by whether they are fresh
    False: "Run as published: clients choose with stale reads, that is with the model as it stood "
    "after their own last step. With fresh reads (--fresh-reads) regret is lower.",
    True: "Run as Algorithm 1 says: clients choose with all they have downloaded (fresh reads). "
    "The published figures come from stale reads, and their regret is higher for it; without "
    "--fresh-reads, incfed reproduce shows that they are met when run the same way.",
}
BLOCKS = {"low": "low D_c", "theory": "theoretical D_c"}  # of Tables 5 and 6
FEW = 4  # figures that are named one by one
TONES: Mapping[bool | None, doc.Tone] = {True: "good", False: "bad", None: "plain"}


@dataclass(frozen=True)
class Reproduction:
    """What was found."""

    mode: Mode
    seeds: int
    verdicts: Mapping[str, Sequence[FigureVerdict]] = field(default_factory=dict)  # by table
    drawings: Mapping[str, Drawing] = field(default_factory=dict)  # by figure
    missing: Sequence[str] = ()  # targets that could not be run
    data: str = ""  # about the MovieLens data at hand


def page_document(found: Reproduction) -> doc.Document:
    """All of it, for reproduction.html."""
    seeds, reads = counted(found.seeds, "seed"), READS[found.mode.fresh_reads]
    intro = INTRO.format(seeds=seeds, tolerance=TOLERANCES, reads=reads)
    blocks: list[doc.Block] = [doc.Text(intro)]
    if found.mode.quick:
        blocks.append(doc.Callout(QUICK, "close"))
    if found.missing:
        names = ", ".join(map(_title, found.missing))
        missing = f"Not run: {names}. They need MovieLens: --movielens FOLDER."
        blocks.append(doc.Callout(missing, "close"))
    blocks.append(_overview(found))
    for name, verdicts in found.verdicts.items():
        blocks += [*_heading(TABLES[name], found.data), *_table_blocks(TABLES[name], verdicts)]
    for name, drawing in found.drawings.items():
        caption = FIGURES[name].caption
        figure = doc.Figure.of(drawing, caption, f"{_title(name)}. {caption}")
        blocks += [*_heading(FIGURES[name], found.data), figure]
    return doc.Document(TITLE, blocks, f"Made by incfed {__version__}.")


def tables_document(found: Reproduction, *, differences: bool = True) -> doc.Document:
    """The tables alone, for tables.md; without `differences` for tables.tex, as a paper has them:
    ours and the published figure."""
    seeds = counted(found.seeds, "seed")
    blocks: list[doc.Block] = [
        doc.Text(MADE.format(version=__version__, seeds=seeds)),
        doc.Text(READS[found.mode.fresh_reads]),
    ]
    if found.mode.quick:
        blocks.append(doc.Text(QUICK))
    if found.data:
        blocks.append(doc.Text(OTHER.format(data=found.data)))
    for name, verdicts in found.verdicts.items():
        table = TABLES[name]
        blocks += [*_heading(table), *_table_blocks(table, verdicts, differences=differences)]
    return doc.Document("", blocks)


def result_document(found: Reproduction) -> doc.Document:
    """For a terminal: how many figures are as published, and in one line those that are not."""
    blocks: list[doc.Block] = []
    total, apart = 0, []
    for name, verdicts in found.verdicts.items():
        compared = [v for v in verdicts if v.within is not None]
        outside = [v for v in compared if not v.within]
        if compared:
            count = f"{len(compared) - len(outside)} of {counted(len(compared), 'figure')}"
            tone = TONES[not outside]
            blocks.append(doc.Verdict(tone, f"{name}: {count} as published"))
        elif verdicts:  # else its runs failed, which has been said
            other = f"{found.data}: another data set than the paper's, see the page"
            blocks.append(doc.Verdict("close", f"{name}: {other}"))
        total += len(compared)
        apart += [(TABLES[name], verdict) for verdict in outside]
    if total:
        blocks.append(doc.Text(_outside(total, apart)))
    return doc.Document("", blocks)


def _outside(total: int, apart: Sequence[tuple[PaperTable, FigureVerdict]]) -> str:
    """The figures outside of the tolerance, cell by cell, in one line."""
    if not apart:
        return f"Outside of {TOLERANCES}: none of {counted(total, 'figure')}."
    cells: dict[str, list[str]] = {}
    for table, verdict in apart:
        cell, _, quantity = place(table, verdict).rpartition(", ")
        cells.setdefault(f"{table.name} at {cell}", []).append(f"{quantity} {change(verdict)}")
    named = [f"{cell}: {', '.join(figures)}" for cell, figures in cells.items()]
    if len(named) > FEW:
        named[FEW:] = [f"{counted(len(named) - FEW, 'other cell')}, see the page"]
    return (
        f"Outside of {TOLERANCES}: {len(apart)} of {counted(total, 'figure')} ({'; '.join(named)})."
    )


def place(table: PaperTable, verdict: FigureVerdict) -> str:
    """Where a figure stands, in words."""
    quantity = table.performance if verdict.quantity == "performance" else verdict.quantity
    block = BLOCKS.get(verdict.block, f"D = {verdict.block}")
    return f"{block}, {table.column_title(verdict.column)}, {quantity}"


def published(verdict: FigureVerdict) -> str:
    """With all the digits that were printed."""
    if verdict.published is None:
        return ""
    return f"{verdict.published:,.2f}".removesuffix(".00")


def change(verdict: FigureVerdict) -> str:
    """The difference in per cent: "+3.1 %"; empty where it would mean nothing."""
    if verdict.within is None or math.isnan(verdict.difference):
        return ""
    return f"{100 * verdict.difference:+.1f} %"


def _overview(found: Reproduction) -> doc.Tiles:
    tiles = []
    for name, verdicts in found.verdicts.items():
        compared = [v for v in verdicts if v.within is not None]
        count = sum(bool(v.within) for v in compared)
        text = f"{count} of {len(compared)} within" if compared else "not compared"
        all_within = count == len(compared) if compared else None
        tiles.append(doc.Tile(name, _title(name), text, TONES[all_within]))
    tiles += [doc.Tile(name, _title(name), "drawn") for name in found.drawings]
    return doc.Tiles(tuple(tiles))


def _table_blocks(
    table: PaperTable, verdicts: Sequence[FigureVerdict], *, differences: bool = True
) -> Iterator[doc.Block]:
    columns = [doc.Column(table.column_title(name)) for name in table.columns]
    heads = (doc.Column("", "left"), doc.Column("", "left"), *columns)
    yield doc.Table(heads, tuple(_rows(table, verdicts, differences)))
    notes = [*_reasons(table, verdicts), *(f"Error in print: {note}" for note in table.notes)]
    if notes:
        yield doc.Bullets(tuple(notes))


def _rows(
    table: PaperTable, verdicts: Sequence[FigureVerdict], differences: bool
) -> Iterator[doc.TableRow]:
    """Three lines a block, as in the paper; empty where nothing was printed, or nothing was run."""
    titles = {
        "performance": f"{table.performance.capitalize()} (acc.)",
        "communication": "Commu. cost",
        "payment": "Pay. cost",
    }
    by_place = {(v.block, v.column, v.quantity): v for v in verdicts}
    for block in table.blocks:
        for quantity in QUANTITIES:
            found = [by_place.get((block, column, quantity)) for column in table.columns]
            if any(found):
                first = quantity == QUANTITIES[0]
                label = table.block_title(block) if first else ""
                cells = [doc.TableCell("") if v is None else _cell(v, differences) for v in found]
                yield doc.TableRow.of(label, titles[quantity], *cells, group=first)


def _cell(verdict: FigureVerdict, differences: bool) -> doc.TableCell:
    mean, spread, unit = verdict.ours.parts()
    below = [published(verdict), *([change(verdict)] if differences else [])]
    return doc.TableCell(
        mean,
        spread,
        unit,
        below=" · ".join(filter(None, below)),
        tone=TONES[verdict.within],
        why=verdict.why,
    )


def _reasons(table: PaperTable, verdicts: Sequence[FigureVerdict]) -> list[str]:
    """Why figures are outside: each reason once, with the figures it is about."""
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.why:
            reasons.setdefault(verdict.why, []).append(place(table, verdict))
    return [
        f"{'; '.join(places) if len(places) <= FEW else counted(len(places), 'figure')}: {why}"
        for why, places in reasons.items()
    ]


def _heading(target: PaperTable | PaperFigure, data: str = "") -> Iterator[doc.Block]:
    """The title, and a warning if the MovieLens `data` is not the paper's."""
    yield doc.Heading(f"{_title(target.name)}. {target.title}", anchor=target.name)
    if target.world == MOVIELENS and data:
        yield doc.Callout(OTHER.format(data=data), "close")


def _title(name: str) -> str:
    return name.replace("table", "Table ").replace("figure", "Figure ")
