"""A plan as a document: the same blocks for plan.html, the terminal and `str(plan)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..experiments.outputs import can_plot, footer
from ..results.document import (
    Block,
    Bullets,
    Callout,
    Cell,
    Code,
    Column,
    Document,
    Figure,
    Heading,
    Table,
    TableRow,
    Text,
    Verdict,
)
from ..support.inputs import counted
from . import advice, figures
from .evidence import Interval

if TYPE_CHECKING:
    from .judging import Judged
    from .planner import Plan

CONFIG, FEDERATION = "run.toml", "federation.toml"  # to go on with


def plan_document(plan: Plan, *, configs: bool = False) -> Document:
    """With `configs`, the page: it has a title, and shows the files that are saved beside it."""
    blocks: list[Block] = [*_header(plan), *_expectations(plan), *_frontier(plan)]
    blocks += _sensitivity(plan)
    if configs:
        blocks += _configs(plan)
    blocks.append(Heading("What the figures rest on"))
    blocks += map(Text, (*advice.basis(plan), *plan.case.notes))
    title = f"Plan for {Path(plan.case.name).stem}"
    return Document(title, blocks, footer()) if configs else Document("", blocks)


def _header(plan: Plan) -> Iterator[Block]:
    case = plan.case
    yield Callout(plan.advice, "plain" if plan.within else "bad")
    yield Text(
        f"{counted(case.world.count, 'client')}, {counted(case.world.dim, 'feature')}, "
        f"{counted(case.steps, 'step')}; sharing costs {case.costs}. Asked for: {plan.goal}."
    )
    yield from (Verdict(advice.tone(one), advice.limit_words(one)) for one in plan.limits)
    if ways := advice.relax(plan):
        yield Heading("What to relax", level=3)
        yield Bullets(tuple(ways))
    yield from map(Text, (advice.explain(plan.setting), *advice.thrift(plan)))


def _expectations(plan: Plan) -> Iterator[Block]:
    metrics = [*advice.shown_metrics(plan), "rounds"]
    judged = {"The advice": plan.judgement.chosen}
    judged |= {one.label: one for one in plan.judgement.references}
    rows = [
        _row(label, one, metrics, emphasis=one is plan.judgement.chosen)
        for label, one in judged.items()
    ]
    yield Heading("What to expect")
    note = f"Held-out means over {counted(len(plan.held_out), 'seed')} with 95 % intervals."
    yield Table((Column("", "left"), *_columns(metrics)), tuple(rows), note)


def _frontier(plan: Plan) -> Iterator[Block]:
    metrics = ["payment", plan.goal.bought]
    yield Heading(f"What money buys: {plan.goal.bought}")
    yield Figure(
        figures.caption(plan),
        draw=(lambda: figures.frontier(plan)) if can_plot() else None,
        sketch=lambda width: figures.sketch(plan, width),
    )
    rows = [
        _row(advice.point_label(plan, one), one, metrics, emphasis=one.setting == plan.setting)
        for one in plan.frontier
    ]
    yield Table((Column("Setting", "left"), *_columns(metrics)), tuple(rows))
    yield Bullets(tuple(advice.money_words(plan)))


def _sensitivity(plan: Plan) -> Iterator[Block]:
    metrics = advice.shown_metrics(plan)
    rows = [
        _row(advice.COSTLY[factor], one, metrics, emphasis=factor == 1)
        for factor, one in plan.judgement.sensitivity.items()
    ]
    yield Heading("If costs are off by a factor of 2")
    yield from map(Text, advice.sensitivity_words(plan))
    yield Table((Column("Cost of sharing", "left"), *_columns(metrics)), tuple(rows))


def _configs(plan: Plan) -> Iterator[Block]:
    yield Heading("What to do with it")
    yield Text("The configs are saved beside this page.")
    yield Code(plan.config, "To simulate it:", f"incfed run {CONFIG}")
    if plan.federation is not None:
        yield Code(plan.federation, "To serve it:", f"incfed serve --config {FEDERATION}")


def _columns(metrics: Sequence[str]) -> list[Column]:
    return [Column(name.capitalize(), drop=int(name == "rounds")) for name in metrics]


def _row(label: str, one: Judged, metrics: Sequence[str], *, emphasis: bool) -> TableRow:
    return TableRow.of(label, *(_cell(one[name]) for name in metrics), emphasis=emphasis)


def _cell(one: Interval) -> Cell:
    mean, _, half = str(one).partition(" ± ")
    return Cell(mean, half)
