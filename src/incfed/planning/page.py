"""plan.html: the advice on one page, for people who decide and people who check."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ..experiments.outputs import can_plot, footer
from ..results.numbers import human
from ..results.page import page, paragraphs
from ..results.svg import inline_svg
from ..support.inputs import counted
from . import money, words
from .evidence import Interval
from .goals import GAINS
from .relaxing import relax
from .words import CONFIG, FEDERATION, TITLES

if TYPE_CHECKING:
    from .judging import Judged
    from .planner import Plan

STYLE = """
:root { --good: #1a7f37; --warn: #9a6700; --warn-back: #fff8c5; --call: #eef6fc; }
@media screen and (prefers-color-scheme: dark) {
  :root { --good: #4ac26b; --warn: #d4a72c; --warn-back: #2b2111; --call: #14283a; } }
.advice { background: var(--call); border-left: 4px solid var(--line-0); padding: 16px 20px;
  border-radius: 0 8px 8px 0; font-size: 1.15rem; margin: 18px 0; max-width: 50em; }
.advice.warn { background: var(--warn-back); border-color: var(--warn); }
.advice p { margin: 0; }
ul.limits { list-style: none; padding: 0; margin: 12px 0; }
ul.limits b { display: inline-block; width: 1.4em; }
.good b { color: var(--good); } .warn b { color: var(--warn); }
tr.chosen th, tr.chosen td { font-weight: 650; }
pre { background: var(--panel); border-radius: 8px; padding: 14px 18px; overflow-x: auto;
  font: 0.85rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
"""


def write_page(plan: Plan) -> str:
    title = f"Plan for {Path(plan.case.name).stem}"
    body = [
        f"<header><h1>{escape(title)}</h1>{paragraphs(_asked(plan))}",
        f'<div class="advice{"" if plan.within else " warn"}">{paragraphs(plan.advice)}</div>',
        _limits(plan),
        *_relax(plan),
        *(paragraphs(text) for text in (words.explain(plan.setting), *words.thrift(plan))),
        "</header>",
        *_expect(plan),
        *_money(plan),
        *_sensitivity(plan),
        *_configs(plan),
        "<section><h2>What the figures rest on</h2>",
        *(paragraphs(text) for text in (*words.basis(plan), *plan.case.notes)),
        "</section>",
        f"<footer>{paragraphs(footer())}</footer>",
    ]
    return page(title, "\n".join(body), STYLE)


def _asked(plan: Plan) -> str:
    case = plan.case
    return (
        f"{counted(case.world.count, 'client')}, {counted(case.world.dim, 'feature')}, "
        f"{counted(case.steps, 'step')}; sharing "
        f"costs {case.costs}. Asked for: {plan.goal}."
    )


def _limits(plan: Plan) -> str:
    items = []
    for kept in plan.limits:
        mark = words.mark(kept)
        kind = "good" if mark == "✓" else "warn"
        items.append(f'<li class="{kind}"><b>{mark}</b>{escape(words.limit_words(kept))}</li>')
    return f'<ul class="limits">{"".join(items)}</ul>' if items else ""


def _relax(plan: Plan) -> Iterable[str]:
    found = relax(plan)
    if found:
        yield "<h3>What to relax</h3><ul>"
        yield from (f"<li>{escape(text)}</li>" for text in found)
        yield "</ul>"


def _expect(plan: Plan) -> Iterable[str]:
    metrics = [*words.shown_metrics(plan), "rounds"]
    rows = [("The advice", plan.judgement.chosen)]
    rows += [(one.label, one) for one in plan.judgement.references]
    yield "<section><h2>What to expect</h2>"
    yield _table(["", *(m.capitalize() for m in metrics)], [
        _row(label, one, metrics, first=n == 0) for n, (label, one) in enumerate(rows)
    ])  # fmt: skip
    note = f"Held-out means over {counted(len(plan.held_out), 'seed')} with 95 % intervals."
    yield f'<p class="note">{note}</p></section>'


def _money(plan: Plan) -> Iterable[str]:
    metric = plan.goal.bought
    yield "<section><h2>What money buys</h2>"
    if can_plot():
        from .figures import caption, frontier

        said = caption(plan)
        yield f'<figure><div class="scroll">{inline_svg(frontier(plan), "frontier", said)}</div>'
        yield f"<figcaption>{escape(said)}</figcaption></figure>"
    rates: list[str] = ["", *(_rate(one, metric) for one in money.steps(plan))]
    heads = [
        "Setting",
        "Payment",
        TITLES[metric],
        f"Each {money.money_unit(plan):,g} more buys, {metric}",
    ]
    rows = []
    for one, rate in zip(plan.frontier, rates, strict=True):
        first = one.setting == plan.setting
        cells = [_cell(one["payment"]), _cell(one[metric]), rate]
        rows.append(_line(words.point_label(plan, one), cells, first))
    yield _table(heads, rows)
    if len(plan.frontier) < 2:
        yield paragraphs(money.NOTHING_MORE)
    yield "</section>"


def _rate(step: money.Step, metric: str) -> str:
    if math.isnan(step.rate):
        return ""
    sign = "+" if (step.rate > 0) == (metric in GAINS) else "-"
    unsure = "" if step.clear else ' <span class="sd">(chance?)</span>'
    return f"{sign}{human(abs(step.rate))}{unsure}"


def _sensitivity(plan: Plan) -> Iterable[str]:
    metrics = words.shown_metrics(plan)
    rows = [
        _row(words.COSTLY[factor], one, metrics, first=factor == 1)
        for factor, one in plan.judgement.sensitivity.items()
    ]
    yield "<section><h2>If costs are off by a factor of 2</h2>"
    yield "".join(paragraphs(text) for text in words.sensitivity_words(plan))
    yield _table(["Cost of sharing", *(m.capitalize() for m in metrics)], rows)
    yield "</section>"


def _configs(plan: Plan) -> Iterable[str]:
    yield "<section><h2>What to do with it</h2>"
    yield "<p>The configs are saved beside this page.</p>"
    yield f"<h3>To simulate it: <code>incfed run {CONFIG}</code></h3>"
    yield f"<pre>{escape(plan.config)}</pre>"
    if plan.federation is not None:
        yield f"<h3>To serve it: <code>incfed serve --config {FEDERATION}</code></h3>"
        yield f"<pre>{escape(plan.federation)}</pre>"
    yield "</section>"


def _row(label: str, one: Judged, metrics: Sequence[str], *, first: bool) -> str:
    return _line(label, [_cell(one[metric]) for metric in metrics], first)


def _line(label: str, cells: Sequence[str], first: bool) -> str:
    kind = ' class="chosen"' if first else ""
    inside = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr{kind}><th scope="row">{escape(label)}</th>{inside}</tr>'


def _cell(one: Interval) -> str:
    mean, mark, half = str(one).partition(" ± ")
    return f'{mean} <span class="sd">± {half}</span>' if mark else mean


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
