"""Documents as Markdown, and their tables as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from . import document as doc
from .document import MARKS

SKETCH_WIDTH = 76

# What Markdown (also GitHub's, with its maths and strikethrough) would not print as it is: an
# underscore within a word, a lone bracket or an ampersand is safe, and stays readable.
_MARKDOWN = re.compile(
    r"[\\`*<~$|]"
    r"|(?<![^\W_])_|_(?![^\W_])"
    r"|\[(?=[^\]]*\][(\[:])"
    r"|&(?=#?\w+;)"
)
_LINE_START = re.compile(r"^(?:[-+>=](?=\s|$|=)|#+(?=\s|$)|(?<!\d)\d+(?=[.)](?:\s|$)))")

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "–": "--", "β": r"$\beta$",
    "²": "$^2$", "±": r"$\pm$", "≈": r"$\approx$", "∞": r"$\infty$", "·": r"$\cdot$",
    "✓": r"$\surd$", "✗": r"$\times$",
}  # fmt: skip
# A letter with a subscript or a square is set as one formula: D_c, N².
_TEX = re.compile(r"\b[A-Z]_[a-z]\b|\b[A-Za-z]²|[" + re.escape("".join(_LATEX)) + "]")


def render(document: doc.Document) -> str:
    """The whole document as Markdown."""
    parts: list[str] = [f"# {escape(document.title)}"] if document.title else []
    before: doc.Block | None = None
    for block in document.blocks:
        text = _block(block)
        if text and isinstance(block, doc.Verdict) and isinstance(before, doc.Verdict):
            parts[-1] += f"\n{text}"  # one list
        elif text:
            parts.append(text)
        before = block
    parts += map(_paragraph, doc.Text(document.footer).paragraphs())
    return "\n\n".join(parts) + "\n"


def render_table(table: doc.Table) -> str:
    lines = [_line([escape(one.title) for one in table.columns])]
    lines.append("|" + "".join("---|" if c.align == "left" else "---:|" for c in table.columns))
    lines += [_line([_cell(cell, row.emphasis) for cell in row.cells]) for row in table.rows]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """A line of text that Markdown prints as it is."""
    return _MARKDOWN.sub(lambda match: f"\\{match[0]}", " ".join(text.split()))


def render_latex(document: doc.Document) -> str:
    """The tables, for the booktabs package. All other text becomes comments, so that the file can
    be included with \\input."""
    lines: list[str] = _comments(f"# {escape(document.title)}" if document.title else "")
    for block in document.blocks:
        lines += _latex_table(block) if isinstance(block, doc.Table) else _comments(_block(block))
    return "\n".join([*lines, *_comments(escape(document.footer))]) + "\n"


def escape_latex(text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        found = match[0]
        if len(found) > 1:
            return f"${found}$".replace("²", "^2")
        return _LATEX[found]

    return _TEX.sub(replaced, " ".join(text.split()))


def _block(block: doc.Block) -> str:
    match block:
        case doc.Text():
            return "\n\n".join(map(_paragraph, block.paragraphs()))
        case doc.Heading():
            return f"{'#' * block.level} {escape(block.text)}"
        case doc.Bullets():
            return "\n".join(f"- {_paragraph(item)}" for item in block.items)
        case doc.Headline():
            return f"**{escape(block.text)}**"
        case doc.KeyFigures():
            return "\n".join(
                f"- {_paragraph(one.title)}: **{escape(one.figure)}** {escape(one.text)}"
                for one in block.figures
            )
        case doc.Callout():
            return _paragraph(block.text)
        case doc.Verdict():
            return f"- {MARKS[block.tone]} {escape(block.text)}"
        case doc.Table():
            note = f"\n\n{_paragraph(block.note)}" if block.note else ""
            return render_table(block).rstrip("\n") + note
        case doc.Figure():
            if block.sketch is None:
                return f"*{escape(block.caption)}*" if block.caption else ""
            return _fenced("\n".join(block.sketch(SKETCH_WIDTH)))
        case doc.DefinitionList():
            return "\n\n".join(_group(name, group) for name, group in block.groups.items())
        case doc.Code():
            command = f" {_inline_code(block.command)}" if block.command else ""
            head = f"{_paragraph(block.caption)}{command}".strip()
            return f"{head}\n\n{_fenced(block.text)}" if head else _fenced(block.text)
        case doc.Tiles():
            return "\n".join(
                f"- {_paragraph(f'{tile.title}: {tile.text} {MARKS[tile.tone]}'.rstrip())}"
                for tile in block.tiles
            )


def _paragraph(text: str) -> str:
    """As `escape`; the beginning is not taken for a list, a quotation or a heading either."""
    return _LINE_START.sub(
        lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", escape(text)
    )


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(cell: doc.TableCell, emphasis: bool) -> str:
    text = escape(str(cell))
    if emphasis and text:
        text = f"**{text}**"
    below = f" ({escape(cell.below)})" if cell.below else ""
    return f"{text}{below} {MARKS[cell.tone]}".rstrip()


def _group(name: str, group: Mapping[str, str]) -> str:
    lines = [f"- {_paragraph(key)}: {escape(value)}" for key, value in group.items()]
    return "\n".join([*([f"**{escape(name)}**\n"] if name else []), *lines])


def _fence(text: str, least: int) -> str:
    """Longer than any in the text."""
    return "`" * max([least, *(1 + len(one) for one in re.findall("`+", text))])


def _fenced(text: str) -> str:
    fence = _fence(text, 3)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _inline_code(text: str) -> str:
    fence = _fence(text, 1)
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


def _comments(text: str) -> list[str]:
    return [f"% {line}" for line in text.splitlines() if line.strip()]


def _latex_table(table: doc.Table) -> Iterator[str]:
    yield rf"\begin{{tabular}}{{{''.join(column.align[0] for column in table.columns)}}}"
    yield r"\toprule"
    yield " & ".join(escape_latex(column.title) for column in table.columns) + r" \\"
    ruled = any(row.group for row in table.rows)
    for n, row in enumerate(table.rows):
        if row.group or (n == 0 and not ruled):
            yield r"\midrule"
        yield " & ".join(_latex_cells(row)) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield from _comments(escape(table.note))


def _latex_cells(row: doc.TableRow) -> Iterator[str]:
    for cell in row.cells:
        text = escape_latex(str(cell))
        if text and row.emphasis:
            text = rf"\textbf{{{text}}}"
        yield text + (f" ({escape_latex(cell.below)})" if cell.below else "")
