"""Documents as HTML: one file with everything in it, which needs no network and no script; or a
part of a notebook."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

from .document import MARKS, Block, Document, Figure, Heading, Text, Tiles
from .palette import SOLID, Pen
from .svg import Svg, colour, inline_svg, page_colours

if TYPE_CHECKING:
    from jinja2 import Template


@dataclass(frozen=True)
class _Section:
    """A heading of level 2 and what follows it."""

    heading: Heading
    anchor: str
    blocks: list[Block] = field(default_factory=list)


def render(document: Document) -> str:
    """The page. Templates escape every string."""
    header, sections = _sections(document.blocks)
    numbers = count(1)

    def drawn(block: Figure) -> list[Svg]:
        return [inline_svg(one, f"f{next(numbers)}") for one in block.drawings()]

    overview = any(isinstance(block, Tiles) for block in header)
    overview = overview or any(section.heading.folded for section in sections)  # all are in sight
    return _template("page.html").render(
        title=document.title,
        header=header,
        sections=sections,
        contents=len(sections) > 1 and not overview,
        footer=Text(document.footer),
        drawn=drawn,
        light=page_colours(dark=False),
        dark=page_colours(dark=True),
    )


def render_fragment(document: Document) -> str:
    """The document as a part of a notebook; its ids differ from those of other parts."""
    numbers, own = count(1), secrets.token_hex(4)

    def drawn(block: Figure) -> list[Svg]:
        return [inline_svg(one, f"n{own}-{next(numbers)}") for one in block.drawings()]

    return _template("notebook.html").render(
        title=document.title, blocks=document.blocks, drawn=drawn, light=page_colours(dark=False)
    )


def _sections(blocks: Sequence[Block]) -> tuple[list[Block], list[_Section]]:
    header: list[Block] = []
    sections: list[_Section] = []
    for block in blocks:
        if isinstance(block, Heading) and block.level == 2:
            sections.append(_Section(block, block.anchor or f"section-{len(sections) + 1}"))
        else:
            (sections[-1].blocks if sections else header).append(block)
    return header, sections


def _dashes(pen: Pen) -> str:
    """For `stroke-dasharray`; empty for a solid line. matplotlib counts in line widths."""
    return "" if pen.dashes == SOLID else " ".join(f"{2.6 * part:g}" for part in pen.dashes[1])


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("incfed.results"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["colour"] = colour
    environment.filters["dashes"] = _dashes
    environment.globals["MARKS"] = MARKS
    return environment.get_template(name)
