"""A plan as a document: the same blocks for plan.html, the terminal and `str(plan)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..experiments.outputs import footer
from ..results import document as doc
from ..results.plots import can_plot
from ..support.inputs import counted
from . import advice, figures
from .evidence import Interval

if TYPE_CHECKING:
    from .judging import Judged
    from .planner import Plan

CONFIG, FEDERATION = "run.toml", "federation.toml"  # to go on with


def plan_document(plan: Plan, *, configs: bool = False) -> doc.Document:
    """With `configs`, the page: it has a title, and shows the files that are saved beside it."""
    blocks: list[doc.Block] = [*_header(plan), *_expectations(plan), *_frontier(plan)]
    blocks += _sensitivity(plan)
    if configs:
        blocks += _configs(plan)
    blocks.append(doc.Heading("What the figures rest on"))
    blocks += map(doc.Text, (*advice.basis(plan), *plan.case.notes))
    title = f"Plan for {Path(plan.case.name).stem}"
    return doc.Document(title, blocks, footer()) if configs else doc.Document("", blocks)


def _header(plan: Plan) -> Iterator[doc.Block]:
    case = plan.case
    yield doc.Callout(plan.advice, "plain" if plan.within else "bad")
    yield doc.Text(
        f"{counted(case.world.count, 'client')}, {counted(case.world.dim, 'feature')}, "
        f"{counted(case.steps, 'step')}; sharing costs {case.costs}. Asked for: {plan.goal}."
    )
    yield from (doc.Verdict(advice.tone(one), advice.limit_words(one)) for one in plan.limits)
    if ways := advice.relax(plan):
        yield doc.Heading("What to relax", level=3)
        yield doc.Bullets(tuple(ways))
    yield from map(doc.Text, (advice.explain(plan.setting), *advice.thrift(plan)))


def _expectations(plan: Plan) -> Iterator[doc.Block]:
    metrics = [*advice.shown_metrics(plan), "rounds"]
    judged = {"The advice": plan.judgement.chosen}
    judged |= {one.label: one for one in plan.judgement.references}
    rows = [
        _row(label, one, metrics, emphasis=one is plan.judgement.chosen)
        for label, one in judged.items()
    ]
    yield doc.Heading("What to expect")
    note = f"Held-out means over {counted(len(plan.held_out), 'seed')} with 95 % intervals."
    yield doc.Table((doc.Column("", "left"), *_columns(metrics)), tuple(rows), note)


def _frontier(plan: Plan) -> Iterator[doc.Block]:
    metrics = ["payment", plan.goal.bought]
    yield doc.Heading(f"What money buys: {plan.goal.bought}")
    yield doc.Figure(
        figures.caption(plan),
        draw=(lambda: figures.frontier(plan)) if can_plot() else None,
        sketch=lambda width: figures.sketch(plan, width),
    )
    rows = [
        _row(advice.point_label(plan, one), one, metrics, emphasis=one.setting == plan.setting)
        for one in plan.frontier
    ]
    yield doc.Table((doc.Column("Setting", "left"), *_columns(metrics)), tuple(rows))
    yield doc.Bullets(tuple(advice.money_words(plan)))


def _sensitivity(plan: Plan) -> Iterator[doc.Block]:
    metrics = advice.shown_metrics(plan)
    rows = [
        _row(advice.COSTLY[factor], one, metrics, emphasis=factor == 1)
        for factor, one in plan.judgement.sensitivity.items()
    ]
    yield doc.Heading("If costs are off by a factor of 2")
    yield from map(doc.Text, advice.sensitivity_words(plan))
    yield doc.Table((doc.Column("Cost of sharing", "left"), *_columns(metrics)), tuple(rows))


def _configs(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading("What to do with it")
    yield doc.Text("The configs are saved beside this page.")
    yield doc.Code(plan.config, "To simulate it:", f"incfed run {CONFIG}")
    if plan.federation is not None:
        yield doc.Code(plan.federation, "To serve it:", f"incfed serve --config {FEDERATION}")


def _columns(metrics: Sequence[str]) -> list[doc.Column]:
    return [doc.Column(name.capitalize(), drop=int(name == "rounds")) for name in metrics]


def _row(label: str, one: Judged, metrics: Sequence[str], *, emphasis: bool) -> doc.TableRow:
    return doc.TableRow.of(label, *(_cell(one[name]) for name in metrics), emphasis=emphasis)


def _cell(one: Interval) -> doc.TableCell:
    mean, _, half = str(one).partition(" ± ")
    return doc.TableCell(mean, half)
