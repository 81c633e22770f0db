"""Every block in every renderer, and labels that try to be markup."""

from __future__ import annotations

import io
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from incfed.results import html, markdown, terminal
from incfed.results.document import (
    Block,
    Bullets,
    Callout,
    Code,
    Column,
    DefinitionList,
    Document,
    Figure,
    Heading,
    Headline,
    KeyFigure,
    KeyFigures,
    Table,
    TableCell,
    TableRow,
    Text,
    Tile,
    Tiles,
    Verdict,
)
from incfed.results.plots import new_figure
from incfed.support.terminal import Terminal

# What HTML, Markdown, LaTeX or a terminal would take for its own.
EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=y>',
    "a | b & c &amp; d",
    r"50 % of $x_1$ # {y} ~z ^w \input{v}",
    "*bold* _soft_ **b** __s__ `code` ~~gone~~",
    "[link](http://x) ![image](http://x) [a]: http://x",
    "# heading",
    "- item",
    "1. item",
    "> quotation",
    "{{ 7 * 7 }} {% raw %}",
    "[bold]rich[/bold] :smile:",
)
COLUMNS = (Column("Algorithm", "left"), Column("Regret"))


def table(label: str, note: str = "") -> Table:
    cell = TableCell(label, "2.5", " M", below=label, tone="bad", why=label)
    return Table((COLUMNS[0], Column(label)), (TableRow.of(label, cell, emphasis=True),), note)


def blocks(words: str) -> dict[str, Block]:
    """One of each kind, with these words wherever they can be."""

    def drawing() -> object:
        figure = new_figure(3, 2)
        figure.add_subplot().set_title(words, parse_math=False)
        return figure

    return {
        "text": Text(f"{words}\n\n{words}"),
        "note": Text(words, note=True),
        "heading": Heading(words),
        "small heading": Heading(words, level=3),
        "bullets": Bullets((words, words)),
        "headline": Headline(words, "good"),
        "key figures": KeyFigures((KeyFigure(words, words, words),)),
        "callout": Callout(words, "close"),
        "verdict": Verdict("good", words),
        "table": table(words, words),
        "figure": Figure(words, drawing, lambda width: [words]),  # type: ignore[arg-type]
        "definitions": DefinitionList({"": {words: words}, words: {words: words}}),
        "code": Code(words, words, words),
        "tiles": Tiles((Tile("there", words, words, "bad"),)),
    }


KINDS = tuple(blocks(""))


class Page(HTMLParser):
    """Its text, its tags, and the values of attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.tags, self.values = "", set[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.values += [f"{name}={value}" for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def printed(*some: Block, width: int = 200, **more: str) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, color_system=None)
    terminal.render(console, Document("", some, **more))
    return file.getvalue()


def as_markdown_reads(text: str) -> tuple[str, set[str]]:
    """What a reader sees of Markdown, and the kinds of markup in it."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    seen, kinds = [], set()
    for token in parser.parse(text):
        kinds.add(token.type)
        if token.type in ("fence", "code_block"):
            seen.append(token.content)
        for child in token.children or ():
            kinds.add(child.type)
            seen.append("\n" if child.type == "softbreak" else child.content)
        seen.append("\n")
    return "".join(seen), kinds


@pytest.mark.parametrize("kind", KINDS)
def test_every_block_is_in_every_format(kind: str) -> None:
    block = blocks("quokka")[kind]
    assert "quokka" in Page(html.render(Document("", [block]))).text
    assert "quokka" in printed(block)
    assert "quokka" in as_markdown_reads(markdown.render(Document("", [block])))[0]
    tex = markdown.render_latex(Document("", [block]))
    assert "quokka" in tex
    if kind != "table":  # words are comments: the file can be read in anywhere
        assert all(line.startswith("% ") for line in tex.splitlines())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("evil", EVIL)
def test_html_escapes_everything(kind: str, evil: str) -> None:
    plain = Page(html.render(Document("t", [blocks("x")[kind]], "f")))
    text = html.render(Document(evil, [blocks(evil)[kind]], evil))
    page = Page(text)
    assert page.tags == plain.tags
    assert " ".join(evil.split()) in page.text
    assert not [value for value in page.values if re.match(r"on|src=|href=(?!#)", value)]
    assert evil in unescape(text)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "figure"])
@pytest.mark.parametrize("evil", EVIL)
def test_markdown_escapes_everything(kind: str, evil: str) -> None:
    plain = as_markdown_reads(markdown.render(Document("t", [blocks("x")[kind]], "f")))
    read, kinds = as_markdown_reads(markdown.render(Document(evil, [blocks(evil)[kind]], evil)))
    assert kinds == plain[1]
    # Title and footer, and the block as often as a harmless word would be there.
    assert read.count(evil) == 2 + plain[0].count("x")


def test_dollars_are_escaped_for_those_who_take_them_for_maths() -> None:
    assert markdown.escape("$x$") == r"\$x\$"
    assert markdown.escape("D_c of a_b, [b]all & more") == "D_c of a_b, [b]all & more"  # readable


def test_latex_escapes_everything() -> None:
    tex = markdown.render_latex(Document("", [table(r"a_b & 5 % of $x # {y} ~z ^w \v <|>")]))
    said = (
        r"a\_b \& 5 \% of \$x \# \{y\} \textasciitilde{}z \textasciicircum{}w "
        r"\textbackslash{}v \textless{}\textbar{}\textgreater{}"
    )
    assert tex == (
        "\\begin{tabular}{lr}\n\\toprule\n"
        f"Algorithm & {said} \\\\\n\\midrule\n"
        f"\\textbf{{{said}}} & \\textbf{{{said} $\\pm$ 2.5 M}} ({said}) \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    )
    assert markdown.escape_latex("D_c, β, N² d_model") == r"$D_c$, $\beta$, $N^2$ d\_model"
    for words in EVIL:
        for block in blocks(words).values():
            lines = markdown.render_latex(Document(words, [block], words)).splitlines()
            assert not [line for line in lines if "script" in line and line[0] not in "%A\\"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("evil", [*EVIL, "\x1b[31mred\x1b[0m\x07gone"])
def test_a_terminal_prints_text_as_it_is(kind: str, evil: str) -> None:
    text = printed(blocks(evil)[kind])
    clean = "".join(one for one in evil if one.isprintable())
    assert clean in text
    assert not [one for one in text if not one.isprintable() and one != "\n"]


def test_lines_without_a_terminal_are_markdown() -> None:
    out = Terminal()
    file = io.StringIO()
    out.out = Console(file=file, width=20)
    terminal.show(out, Document("Title", [Heading("[b]Part[/b]"), table("a")]))
    assert file.getvalue() == (
        "# Title\n\n## [b]Part[/b]\n\n| Algorithm | a |\n|---|---:|\n"
        "| **a** | **a ± 2.5 M** (a) ✗ |\n"
    )


def test_a_narrow_terminal_drops_what_can_be_missed() -> None:
    columns = (Column("Name", "left"), Column("One"), Column("Two", drop=1), Column("Six", drop=9))
    made = Table(columns, (TableRow.of("a" * 60, "1" * 9, "2" * 9, "6" * 9),))
    for width, kept in ((80, "One Two Six"), (62, "One Two"), (46, "One"), (26, "One")):
        text = printed(made, width=width)
        head = text.strip().splitlines()[0].split()
        assert head == ["Name", *kept.split()]
        assert max(map(len, text.splitlines())) <= width
        assert text.count("a") == 60 + 1  # folded, and in "Name"


def test_words_are_not_broken_in_a_table_with_room_for_them() -> None:
    made = Table(
        (Column("Mechanism", "left"), *(Column(f"{n}" * 9) for n in range(1, 5))),
        (TableRow.of("PaymentEfficient with a budget", *("x" * 9,) * 4),),
    )
    assert "PaymentEfficient" in printed(made, width=70)


def test_verdicts_are_one_list() -> None:
    some = [Verdict("good", "a"), Verdict("close", "b"), Verdict("bad", "c")]
    assert markdown.render(Document("", some)) == "- ✓ a\n- ≈ b\n- ✗ c\n"
    assert [line.strip() for line in printed(*some).splitlines()] == ["✓ a", "≈ b", "✗ c"]


def test_code_in_fences_that_it_does_not_close() -> None:
    made = markdown.render(Document("", [Code("```\nx\n```", "See", "`a`")]))
    assert made == "See `` `a` ``\n\n````\n```\nx\n```\n````\n"


def test_groups_of_rows_are_ruled_off() -> None:
    rows = (
        TableRow.of("a", "1", group=True),
        TableRow.of("", "2"),
        TableRow.of("b", "3", group=True),
    )
    tex = markdown.render_latex(Document("", [Table(COLUMNS, rows)]))
    assert tex.count("midrule") == 2
    page = Page(html.render(Document("", [Table(COLUMNS, rows)])))
    assert [value.split() for value in page.values].count(["class=", "group"]) == 2


def test_sections_and_links() -> None:
    some: list[Block] = [Text("Intro"), Heading("One"), Text("1"), Heading("Two", anchor="two")]
    page = html.render(Document("Title", some))
    assert '<section id="section-1"><h2>One</h2>' in page
    assert '<a href="#two">Two</a>' in page
    assert page.startswith("<!doctype html>")
    tiles = Tiles((Tile("two", "Second", "here"),))
    assert "<nav>" not in html.render(Document("Title", [tiles, *some]))


def test_all_of_a_key_figure_is_shown() -> None:
    block = KeyFigures((KeyFigure("Gain", "+5", "a day"), KeyFigure("Cost", "2", "in all")))
    page = html.render(Document("", [block]))
    assert "<small>Gain</small> <b>+5</b> a day" in page
    assert markdown.render(Document("", [block])) == "- Gain: **+5** a day\n- Cost: **2** in all\n"
    assert [line.split("•")[1].strip() for line in printed(block).splitlines()] == [
        "Gain: +5 a day",
        "Cost: 2 in all",
    ]
    assert html.render_fragment(Document("", [block])).count("<b>") == 2


def test_folded_sections_open_on_a_page_and_are_headings_elsewhere() -> None:
    some: list[Block] = [Headline("Yes"), Heading("One", folded=True), Text("1"), Heading("Two")]
    page = html.render(Document("Title", some))
    assert '<details class="section" id="section-1"><summary><h2>One</h2></summary>' in page
    assert '<section id="section-2"><h2>Two</h2>' in page
    assert "<nav>" not in page  # the list of sections is one of links
    assert markdown.render(Document("", some)) == "**Yes**\n\n## One\n\n1\n\n## Two\n"
    assert printed(*some).split() == ["Yes", "One", "1", "Two"]


def test_a_page_without_a_drawing_has_no_figure() -> None:
    assert "<figure" not in html.render(Document("", [Figure("caption")]))
