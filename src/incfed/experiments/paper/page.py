"""reproduction.html: published and ours side by side, for people who would rather look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from ..._version import __version__
from ...results.page import page, paragraphs
from ...results.svg import inline_svg
from ...support.inputs import counted
from .figures import DRAWINGS
from .settings import MOVIELENS, Mode
from .tables import QUANTITIES, TABLES, Table
from .typeset import change, lines, notes, published, titles
from .verdicts import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { --good: #1a7f37; --warn: #9a6700; --good-back: #dafbe1; --warn-back: #fff8c5; }
@media screen and (prefers-color-scheme: dark) {
  :root { --good: #4ac26b; --warn: #d4a72c; --good-back: #12261e; --warn-back: #2b2111; } }
.tally { display: flex; flex-wrap: wrap; gap: 12px; margin: 24px 0 0; padding: 0;
  list-style: none; }
.tally li { border: 1px solid var(--grid); border-radius: 8px; padding: 8px 14px;
  min-width: 110px; }
.tally a { text-decoration: none; color: inherit; }
.tally b { display: block; font-size: 0.8rem; color: var(--muted); font-weight: 600; }
table.paper td, table.paper th { padding-left: 12px; padding-right: 8px; vertical-align: top; }
table.paper td:nth-child(2), table.paper th:nth-child(2) { text-align: left; }
table.paper tr.first td, table.paper tr.first th { border-top: 2px solid var(--grid); }
table.paper small { display: block; color: var(--muted); }
table.paper .block { white-space: normal; max-width: 10em; }
.good { background: var(--good-back); } .warn { background: var(--warn-back); }
.good b { color: var(--good); } .warn b { color: var(--warn); }
.banner { border-left: 4px solid var(--warn); background: var(--warn-back); padding: 8px 14px;
  margin: 14px 0; border-radius: 0 6px 6px 0; max-width: 46em; }
ul.why { padding-left: 20px; font-size: 0.9rem; max-width: 50em; }
"""

INTRO = """\
Every table and figure of "Incentivized Communication for Federated Bandits", run again and set \
beside what was printed. In each cell: our mean over {seeds} with the standard deviation of single \
runs, below it the published figure and the difference. Green is within {tolerance}, or within \
three standard deviations of single runs; amber is outside, with the reason where it is known.

{reads}"""
QUICK = "A quick look: one seed, and only the beginning of MovieLens."
OTHER = "MovieLens: another data set than the paper's: {data}. The published figures are ML-20M's."
TOLERANCES = "12 % (regret and payment) or 15 % (communication)"
READS = {
    True: "Run as published: clients choose with stale reads, that is with the model as it stood "
    "after their own last step. This matches the published figures.",
    False: "Run as Algorithm 1 says: clients choose with all they have downloaded (fresh reads). "
    "The published figures come from stale reads, and their regret is higher for it; "
    "incfed reproduce --as-published shows that they are met when run the same way.",
}


@dataclass(frozen=True)
class Reproduction:
    """What was found."""

    mode: Mode
    seeds: int
    verdicts: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)  # by table
    drawings: Mapping[str, Figure] = field(default_factory=dict)  # by figure
    missing: Sequence[str] = ()  # targets that could not be run
    data: str = ""  # about the MovieLens data at hand


def about(found: Reproduction, kind: str) -> str:
    """The first lines of a file of tables: how they were made."""
    made = [
        f"Made by incfed {__version__}: mean over {_seeds(found)} and spread of single runs; the "
        "published figure in brackets.",
        READS[found.mode.published],
    ]
    if found.mode.quick:
        made.append(QUICK)
    if found.data:
        made.append(OTHER.format(data=found.data))
    return "\n".join(f"% {line}" for line in made) if kind == "tex" else "\n\n".join(made) + "\n"


def _seeds(found: Reproduction) -> str:
    return counted(found.seeds, "seed")


def write_page(found: Reproduction) -> str:
    seeds = _seeds(found)
    reads = READS[found.mode.published]
    text = INTRO.format(seeds=seeds, tolerance=TOLERANCES, reads=reads)
    parts = [f"<header><h1>The paper, run again</h1>{paragraphs(text)}"]
    if found.mode.quick:
        parts.append(_banner(QUICK))
    if found.missing:
        names = ", ".join(map(_title, found.missing))
        parts.append(_banner(f"Not run: {names}. They need MovieLens: --movielens FOLDER."))
    parts += [_tally(found), "</header>"]
    for name, verdicts in found.verdicts.items():
        parts += _table(TABLES[name], verdicts, found.data)
    for n, (name, figure) in enumerate(found.drawings.items()):
        caption = DRAWINGS[name].caption
        drawing = inline_svg(figure, f"p{n}", f"{_title(name)}. {caption}")
        parts.append(
            f'<section id="{name}"><h2>{_title(name)}. {escape(DRAWINGS[name].title)}</h2>'
            f"{_other_data(DRAWINGS[name].world, found.data)}"
            f'<figure><div class="scroll">{drawing}</div>'
            f"<figcaption>{escape(caption)}</figcaption></figure></section>"
        )
    parts.append(f"<footer>{paragraphs(f'Made by incfed {__version__}.')}</footer>")
    return page("The paper, run again", "\n".join(parts), STYLE)


def _tally(found: Reproduction) -> str:
    items = []
    for name, verdicts in found.verdicts.items():
        compared = [v for v in verdicts if v.within is not None]
        count = sum(bool(v.within) for v in compared)
        said = f"{count} of {len(compared)} within" if compared else "not compared"
        kind = "" if not compared else "good" if count == len(compared) else "warn"
        items.append(_item(name, said, kind))
    items += [_item(name, "drawn", "") for name in found.drawings]
    return f'<ul class="tally">{"".join(items)}</ul>'


def _item(name: str, said: str, kind: str) -> str:
    return f'<li class="{kind}"><a href="#{name}"><b>{_title(name)}</b>{said}</a></li>'


def _table(table: Table, verdicts: Sequence[Verdict], data: str) -> Iterable[str]:
    yield f'<section id="{table.name}"><h2>{_title(table.name)}. {escape(table.title)}</h2>'
    yield _other_data(table.world, data)
    heads = "".join(f"<th>{escape(table.column_title(c))}</th>" for c in table.columns)
    yield '<div class="scroll"><table class="paper">'
    yield f"<thead><tr><th></th><th></th>{heads}</tr></thead><tbody>"
    for block, quantity, cells in lines(table, verdicts, _cell, "<td></td>"):
        first = quantity == QUANTITIES[0]
        label = escape(table.block_title(block)) if first else ""
        yield (
            f'<tr{" class=first" if first else ""}><th class="block">{label}</th>'
            f"<td>{titles(table)[quantity]}</td>{''.join(cells)}</tr>"
        )
    yield "</tbody></table></div>"
    if remarks := notes(table, verdicts):
        yield f'<ul class="why">{"".join(f"<li>{escape(note)}</li>" for note in remarks)}</ul>'
    yield "</section>"


def _cell(verdict: Verdict) -> str:
    kind = {True: "good", False: "warn", None: ""}[verdict.within]
    mark = {True: "<b>✓</b> ", False: "<b>✗</b> ", None: ""}[verdict.within]
    mean, sd, unit = verdict.ours.parts()
    ours = f'{mean} <span class="sd">± {sd}</span>{unit}' if sd else mean + unit
    below = ""
    if verdict.published is not None:
        below = f"<small>{' · '.join(filter(None, [published(verdict), change(verdict)]))}</small>"
    return f'<td class="{kind}" title="{escape(verdict.why, quote=True)}">{mark}{ours}{below}</td>'


def _other_data(world: str, data: str) -> str:
    if world != MOVIELENS or not data:
        return ""
    return _banner(OTHER.format(data=data))


def _banner(text: str) -> str:
    return f'<p class="banner">{escape(text)}</p>'


def _title(name: str) -> str:
    return name.replace("table", "Table ").replace("figure", "Figure ")
