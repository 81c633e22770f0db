"""Documents on a terminal, with rich; as Markdown where the output is a file or a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text as RichText

from . import document as doc
from . import markdown
from .document import MARKS

if TYPE_CHECKING:
    from rich.console import Console

    from ..support.terminal import Terminal

STYLES: dict[doc.Tone, str] = {"plain": "", "good": "green", "close": "yellow", "bad": "red"}
NAMES = 30  # width of a column of names; longer ones are folded
MOST_SKETCH = 76


def show(terminal: Terminal, document: doc.Document) -> None:
    """Print a document to the output."""
    if not terminal.out.is_terminal:
        terminal.say(markdown.render(document).rstrip("\n"))
        return
    terminal.out.print()
    render(terminal.out, document)


def render(console: Console, document: doc.Document) -> None:
    if document.title:
        console.print(_text(document.title, "bold"))
    for n, block in enumerate(document.blocks):
        if isinstance(block, doc.Heading) and (n or document.title):
            console.print()
        _block(console, block)
    for words in doc.Text(document.footer).paragraphs():
        console.print(_text(words, "dim"))


def _block(console: Console, block: doc.Block) -> None:
    match block:
        case doc.Text():
            for words in block.paragraphs():
                console.print(_text(words, "dim" if block.note else ""))
        case doc.Heading():
            console.print(_text(block.text, "bold"))
        case doc.Bullets():
            for item in block.items:
                console.print(_hanging("•", "", item))
        case doc.Headline():
            console.print(_text(block.text, f"bold {STYLES[block.tone]}".strip()))
        case doc.KeyFigures():
            for one in block.figures:
                console.print(_hanging("•", "", f"{one.title}: {one.figure} {one.text}"))
        case doc.Callout():
            console.print(_text(block.text, f"bold {STYLES[block.tone]}".strip()))
        case doc.Verdict():
            console.print(_hanging(MARKS[block.tone], STYLES[block.tone], block.text))
        case doc.Table():
            console.print(_table(block, console.width))
            if block.note:
                console.print(_text(block.note, "dim"))
        case doc.Figure():
            if block.sketch is not None:
                for line in block.sketch(min(console.width, MOST_SKETCH)):
                    console.print(_text(line), soft_wrap=True)
        case doc.DefinitionList():
            for name, group in block.groups.items():
                if name:
                    console.print(_text(name, "bold"))
                width = max(map(cell_len, group), default=0)
                for key, value in group.items():
                    console.print(_text(f"  {key:{width}}  {value}"), soft_wrap=True)
        case doc.Code():
            console.print(_text(f"{block.caption} {block.command}".strip(), "bold"))
            console.print(_text(block.text.rstrip()), soft_wrap=True)
        case doc.Tiles():
            for tile in block.tiles:
                words = f"{tile.title}: {tile.text}"
                console.print(_hanging(MARKS[tile.tone], STYLES[tile.tone], words))


def _hanging(mark: str, style: str, text: str) -> RichTable:
    """A mark, and lines that start to the right of it."""
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    grid.add_row(RichText(f"  {mark:1}", style), _text(text))
    return grid


def _table(table: doc.Table, width: int) -> RichTable:
    kept = _fitting(table, width)
    made = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for n in kept:
        column = table.columns[n]
        if column.align == "left":
            others = sum(_width(table, k) + 3 for k in kept if k != n)
            least = min(_longest_word(table, n), max(width - others - 3, 10))
            made.add_column(_text(column.title), overflow="fold", min_width=least)
        else:
            made.add_column(_text(column.title), justify="right", no_wrap=True)
    for row in table.rows:
        made.add_row(*(_cell(row.cells[n]) for n in kept), style="bold" if row.emphasis else None)
    return made


def _fitting(table: doc.Table, width: int) -> list[int]:
    """The columns to show: those that can be missed are left out until the rest fits."""
    kept = list(range(len(table.columns)))
    for n in sorted(kept, key=lambda n: -table.columns[n].drop):
        if table.columns[n].drop and sum(_width(table, k) + 3 for k in kept) - 3 > width:
            kept.remove(n)
    return kept


def _width(table: doc.Table, n: int) -> int:
    texts = [table.columns[n].title, *(_cell(row.cells[n]).plain for row in table.rows)]
    most = max(cell_len(text) for text in texts)
    return min(most, NAMES) if table.columns[n].align == "left" else most


def _longest_word(table: doc.Table, n: int) -> int:
    """Of a column of names: what it needs so that no word is broken, if that is not too much."""
    texts = [table.columns[n].title, *(_cell(row.cells[n]).plain for row in table.rows)]
    return min(max((cell_len(word) for text in texts for word in text.split()), default=0), NAMES)


def _cell(cell: doc.TableCell) -> RichText:
    below = f" ({cell.below})" if cell.below else ""
    mark = f" {MARKS[cell.tone]}" if MARKS[cell.tone] else ""
    spread = f" ± {cell.spread}" if cell.spread else ""
    return RichText.assemble(
        _clean(cell.text), (_clean(spread + cell.unit + below), "dim"), (mark, STYLES[cell.tone])
    )


def _text(text: str, style: str = "") -> RichText:
    return RichText(_clean(text), style)


def _clean(text: str) -> str:
    """Without control characters, which could move the cursor or colour what follows."""
    return "".join(one for one in text if one.isprintable() or one == "\n")
