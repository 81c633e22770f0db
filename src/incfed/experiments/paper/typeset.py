"""The tables in the paper's layout, as Markdown and as LaTeX: ours, and the published figure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from ...support.inputs import counted
from .tables import QUANTITIES, Table
from .verdicts import Verdict

NAMES = {"low": "low D_c", "theory": "theoretical D_c"}  # blocks of Tables 5 and 6
FEW = 4  # figures that are named one by one
MARKS = {True: "✓", False: "✗", None: ""}


def titles(table: Table) -> dict[str, str]:
    """The three lines of a block."""
    return {
        "performance": f"{table.performance.capitalize()} (acc.)",
        "communication": "Commu. cost",
        "payment": "Pay. cost",
    }


def lines(
    table: Table, verdicts: Sequence[Verdict], show: Callable[[Verdict], str], missing: str
) -> Iterator[tuple[str, str, list[str]]]:
    """Block, quantity and cells, line by line."""
    by_place = {(v.block, v.column, v.quantity): v for v in verdicts}
    for block in table.blocks:
        for quantity in QUANTITIES:
            found = [by_place.get((block, column, quantity)) for column in table.columns]
            if any(found):
                yield block, quantity, [missing if v is None else show(v) for v in found]


def markdown(table: Table, verdicts: Sequence[Verdict]) -> str:
    heads = ["", "", *map(table.column_title, table.columns)]
    rows = ["| " + " | ".join(heads) + " |", "|---|---" + "|---:" * len(table.columns) + "|"]
    for block, quantity, cells in lines(table, verdicts, _markdown_cell, ""):
        label = table.block_title(block) if quantity == QUANTITIES[0] else ""
        rows.append("| " + " | ".join([label, titles(table)[quantity], *cells]) + " |")
    remarks = "".join(f"- {note}\n" for note in notes(table, verdicts))
    return "\n".join(
        [f"## {_number(table)}. {table.title}", "", *filter(None, [remarks]), *rows, ""]
    )


def notes(table: Table, verdicts: Sequence[Verdict]) -> list[str]:
    return [*explanations(table, verdicts), *(f"Error in print: {note}" for note in table.notes)]


def latex(table: Table, verdicts: Sequence[Verdict]) -> str:
    """For the booktabs package."""
    heads = " & ".join(["", "", *(_tex(table.column_title(c)) for c in table.columns)])
    rows, before = [], None
    for block, quantity, cells in lines(table, verdicts, _latex_cell, r"\textbackslash"):
        if block != before:
            rows.append(r"\midrule")
        label = _tex(table.block_title(block)) if block != before else ""
        rows.append(" & ".join([label, titles(table)[quantity], *cells]) + r" \\")
        before = block
    body = "\n".join(rows)
    remarks = "".join(f"% {note}\n" for note in notes(table, verdicts))
    return (
        f"% {_number(table)}\n{remarks}"
        f"\\begin{{tabular}}{{ll{'r' * len(table.columns)}}}\n\\toprule\n{heads} \\\\\n"
        f"{body}\n\\bottomrule\n\\end{{tabular}}\n"
    )


def explanations(table: Table, verdicts: Sequence[Verdict]) -> list[str]:
    """Why figures are outside: each reason once, with the figures it is about."""
    reasons: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.why:
            reasons.setdefault(verdict.why, []).append(place(table, verdict))
    return [
        f"{'; '.join(places) if len(places) <= FEW else counted(len(places), 'figure')}: {why}"
        for why, places in reasons.items()
    ]


def place(table: Table, verdict: Verdict) -> str:
    """Where a figure stands, in words."""
    quantity = table.performance if verdict.quantity == "performance" else verdict.quantity
    block = NAMES.get(verdict.block, f"D = {verdict.block}")
    return f"{block}, {table.column_title(verdict.column)}, {quantity}"


def published(verdict: Verdict) -> str:
    """With all the digits that were printed."""
    if verdict.published is None:
        return ""
    return f"{verdict.published:,.2f}".removesuffix(".00")


def change(verdict: Verdict) -> str:
    """The difference in per cent: "+3.1 %"; empty where it would mean nothing."""
    if verdict.within is None or math.isnan(verdict.difference):
        return ""
    return f"{100 * verdict.difference:+.1f} %"


def _markdown_cell(verdict: Verdict) -> str:
    text = str(verdict.ours)
    if verdict.published is None:
        return text
    also = ", ".join(filter(None, [published(verdict), change(verdict)]))
    return f"{text} ({also}) {MARKS[verdict.within]}".rstrip()


def _latex_cell(verdict: Verdict) -> str:
    mean, sd, unit = verdict.ours.parts()
    text = (f"{mean} $\\pm$ {sd}" if sd else mean) + unit
    return text if verdict.published is None else f"{text} ({published(verdict)})"


def _number(table: Table) -> str:
    return table.name.replace("table", "Table ")


def _tex(text: str) -> str:
    for plain, code in {
        "β": r"$\beta$", "N²": "$N^2$", "T²": "$T^2$", "D_c": "$D_c$", "sqrt": r"$\surd$",
    }.items():  # fmt: skip
        text = text.replace(plain, code)
    return text
