"""The page of a plan: the answer, and sections that say more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..experiments.outputs import footer
from ..results import document as doc
from ..results.plots import can_plot
from . import advice, alternatives, answer, cross_check, figures, leaving, reliability, worth
from .config_files import CONFIG, FEDERATION

if TYPE_CHECKING:
    from .judging import Judged
    from .planner import Plan

Section = Callable[["Plan"], Iterable[doc.Block]]  # a heading and what follows, or nothing


def plan_document(plan: Plan, *, configs: bool = False) -> doc.Document:
    """With `configs`, the page: it has a title, and shows the configs that are saved beside it."""
    sections = SECTIONS if configs else [one for one in SECTIONS if one is not _configs]
    blocks = [*_answer(plan), *(_folded(block) for one in sections for block in one(plan))]
    title = f"Plan for {Path(plan.case.name).stem}"
    return doc.Document(title, blocks, footer()) if configs else doc.Document("", blocks)


def _folded(block: doc.Block) -> doc.Block:
    return replace(block, folded=True) if isinstance(block, doc.Heading) else block


def _answer(plan: Plan) -> Iterator[doc.Block]:
    yield answer.headline(plan)
    yield doc.Text(answer.worth(plan))
    if in_money := worth.net_words(plan):
        yield doc.Text(in_money)
    if warning := advice.warning(plan):
        yield doc.Callout(warning, "bad")
    if disagreement := cross_check.disagreement(plan):
        yield doc.Callout(disagreement, "bad")
    yield answer.key_figures(plan)
    if plan.judgement.launch is not None:
        yield plan.judgement.launch.block()


def _what_to_run(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading("What to run")
    yield doc.Text(f"{plan.case}. Asked for: {plan.goal}.")
    yield doc.Callout(advice.what_to_run(plan), "plain" if plan.within else "bad")
    yield from (doc.Verdict(advice.tone(check), advice.limit_words(check)) for check in plan.limits)
    if ways := advice.relax(plan):
        yield doc.Heading("What to relax", level=3)
        yield doc.Bullets(tuple(ways))
    yield doc.Text(advice.explain(plan.setting))
    yield from map(doc.Text, advice.lie_words(plan))


def _expectations(plan: Plan) -> Iterator[doc.Block]:
    rows = [("The advice", plan.judgement.chosen)]
    rows += [(reference.label, reference) for reference in plan.judgement.references]
    rows += alternatives.runner_up(plan)
    yield doc.Heading("What to expect")
    yield _table(plan, "", [*advice.shown_metrics(plan), "rounds"], rows, advice.table_note(plan))
    others = (alternatives.replaced, alternatives.unused, alternatives.tie_words)
    for words in (*others, alternatives.thrift):
        yield from map(doc.Text, words(plan))


def _sensitivity(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading("If costs are off by a factor of 2")
    yield from map(doc.Text, advice.sensitivity_words(plan))
    rows = [
        (advice.COSTLY[factor], judged) for factor, judged in plan.judgement.sensitivity.items()
    ]
    yield _table(plan, "Cost of sharing", advice.shown_metrics(plan), rows)


def _frontier(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading(f"What money buys: {plan.goal.bought}")
    yield doc.Figure(
        figures.caption(plan),
        draw=(lambda: figures.frontier(plan)) if can_plot() else None,
        sketch=lambda width: figures.sketch(plan, width),
    )
    rows = [(advice.point_label(plan, point), point) for point in plan.frontier]
    yield _table(plan, "Setting", ["payment", plan.goal.bought], rows)
    yield doc.Bullets(tuple(advice.money_words(plan)))


def _configs(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading("How to use it")
    yield doc.Text("The configs are saved beside this page.")
    yield doc.Code(plan.config, "To simulate it:", f"incfed run {CONFIG}")
    if plan.federation is not None:
        yield doc.Code(plan.federation, "To serve it:", f"incfed serve --config {FEDERATION}")


def _basis(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading("Where the figures come from")
    yield from map(doc.Text, (*advice.basis(plan), *plan.case.notes))


SECTIONS: tuple[Section, ...] = (  # in the order of the page
    _what_to_run,
    _expectations,
    _sensitivity,
    _frontier,
    worth.blocks,
    leaving.blocks,
    reliability.blocks,
    cross_check.blocks,
    _configs,
    _basis,
)


def _table(
    plan: Plan,
    title: str,
    metrics: Sequence[str],
    rows: Iterable[tuple[str, Judged]],
    note: str = "",
) -> doc.Table:
    """A row for each label, with the advice in bold."""
    columns = [doc.Column(title, "left")]
    columns += [doc.Column(name.capitalize(), drop=int(name == "rounds")) for name in metrics]
    lines = []
    for label, judged in rows:
        texts = (str(judged[name]).partition(" ± ") for name in metrics)
        cells = [doc.TableCell(mean, half) for mean, _, half in texts]
        lines.append(doc.TableRow.of(label, *cells, emphasis=judged is plan.judgement.chosen))
    return doc.Table(tuple(columns), tuple(lines), note)
