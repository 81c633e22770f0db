"""Documents: a report, a plan or a summary is a list of blocks, which `html`, `terminal` and
`markdown` render.

All strings are plain text: each renderer escapes what its format treats as special.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from .palette import Pens

Tone = Literal["plain", "good", "close", "bad"]
MARKS: Mapping[Tone, str] = {"plain": "", "good": "✓", "close": "≈", "bad": "✗"}


@dataclass(frozen=True)
class Text:
    """Paragraphs, separated by empty lines. A note is smaller and paler."""

    text: str
    note: bool = False

    def paragraphs(self) -> list[str]:
        parts = self.text.replace("\r\n", "\n").split("\n\n")
        return [" ".join(part.split()) for part in parts if part.strip()]


@dataclass(frozen=True)
class Heading:
    """Level 2 starts a section of the document, level 3 is a heading within one."""

    text: str
    level: Literal[2, 3] = 2
    anchor: str = ""  # what a tile links to
    folded: bool = False  # on a page, the section opens when it is asked for


@dataclass(frozen=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True)
class Headline:
    """The answer in a few words, in large type."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class KeyFigure:
    """A large figure: what it is of, and a few words on it."""

    title: str
    figure: str
    text: str


@dataclass(frozen=True)
class KeyFigures:
    """Large figures, side by side where there is room."""

    figures: tuple[KeyFigure, ...]


@dataclass(frozen=True)
class Callout:
    """The main sentence; or a warning, if its tone is not plain."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Verdict:
    """Whether something is as it should be."""

    tone: Tone
    text: str


@dataclass(frozen=True)
class TableCell:
    """A cell of a table: "29.7 ± 2.5 M", where the spread is paler than the figure."""

    text: str
    spread: str = ""
    unit: str = ""  # of the figure and its spread
    below: str = ""  # a second, smaller line
    tone: Tone = "plain"
    why: str = ""  # a tooltip
    colour: str = ""  # of its line in a figure

    def __str__(self) -> str:
        return self.text + (f" ± {self.spread}" if self.spread else "") + self.unit


@dataclass(frozen=True)
class Column:
    """On a terminal that is too narrow, columns with the highest `drop` are left out first; those
    with 0 always stay."""

    title: str
    align: Literal["left", "right"] = "right"
    drop: int = 0


@dataclass(frozen=True)
class TableRow:
    cells: tuple[TableCell, ...]
    emphasis: bool = False
    group: bool = False  # it starts a group of rows

    @classmethod
    def of(cls, *cells: str | TableCell, emphasis: bool = False, group: bool = False) -> TableRow:
        made = tuple(TableCell(cell) if isinstance(cell, str) else cell for cell in cells)
        return cls(made, emphasis, group)


@dataclass(frozen=True)
class Table:
    """The first cell of a row names it."""

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """Drawn on demand, as one drawing or as panels that a page puts side by side where there is
    room. `sketch` draws it as text, for a terminal of a width in columns."""

    caption: str
    draw: Callable[[], Drawing | Sequence[Drawing]] | None = None
    sketch: Callable[[int], Sequence[str]] | None = None
    description: str = ""  # for screen readers; the caption by default
    keys: Pens = field(default_factory=dict)  # a legend, where the drawing itself has none

    @classmethod
    def of(cls, drawing: Drawing, caption: str, description: str = "") -> Figure:
        """A figure that is already drawn."""
        return cls(caption, lambda: drawing, description=description)

    def drawings(self) -> Sequence[Drawing]:
        made = () if self.draw is None else self.draw()
        return made if isinstance(made, Sequence) else (made,)


@dataclass(frozen=True)
class DefinitionList:
    """Names and values, by group; a group's name may be empty. On a page they are folded away."""

    groups: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Code:
    """The text of a file, and the command that uses it."""

    text: str
    caption: str = ""
    command: str = ""


@dataclass(frozen=True)
class Tile:
    anchor: str
    title: str
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Tiles:
    """An overview that links to the sections."""

    tiles: tuple[Tile, ...]


Block = (
    Text
    | Heading
    | Bullets
    | Headline
    | KeyFigures
    | Callout
    | Verdict
    | Table
    | Figure
    | DefinitionList
    | Code
    | Tiles
)


@dataclass(frozen=True)
class Document:
    """A title (none, if it is empty), blocks, and a footer."""

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    footer: str = ""
