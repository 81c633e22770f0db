"""A plan as a document (for plan.html, the terminal and `str(plan)`), and its folder: plan.html,
plan.json, run.toml and federation.toml."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..experiments.outputs import footer
from ..results import document as doc
from ..results import html
from ..results.numbers import finite
from ..results.plots import can_plot
from ..support.files import write_text
from ..support.inputs import counted
from ..support.toml import check_sealed, write_sealed
from . import advice, figures

if TYPE_CHECKING:
    from .judging import Judged
    from .planner import Plan

PAGE, DATA, CONFIG, FEDERATION = "plan.html", "plan.json", "run.toml", "federation.toml"


def plan_document(plan: Plan, *, configs: bool = False) -> doc.Document:
    """With `configs`, the page: it has a title, and shows the configs that are saved beside it."""
    blocks: list[doc.Block] = [*_header(plan), *_expectations(plan), *_frontier(plan)]
    blocks += _sensitivity(plan)
    if configs:
        blocks += _configs(plan)
    blocks.append(doc.Heading("Where the figures come from"))
    blocks += map(doc.Text, (*advice.basis(plan), *plan.case.notes))
    title = f"Plan for {Path(plan.case.name).stem}"
    return doc.Document(title, blocks, footer()) if configs else doc.Document("", blocks)


def _header(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Callout(plan.advice, "plain" if plan.within else "bad")
    yield doc.Text(f"{plan.case}. Asked for: {plan.goal}.")
    yield from (doc.Verdict(advice.tone(one), advice.limit_words(one)) for one in plan.limits)
    if ways := advice.relax(plan):
        yield doc.Heading("What to relax", level=3)
        yield doc.Bullets(tuple(ways))
    yield from map(doc.Text, (advice.explain(plan.setting), *advice.thrift(plan)))


def _expectations(plan: Plan) -> Iterator[doc.Block]:
    rows = [("The advice", plan.judgement.chosen)]
    rows += [(one.label, one) for one in plan.judgement.references]
    yield doc.Heading("What to expect")
    note = f"Held-out means over {counted(len(plan.held_out), 'seed')} with 95 % intervals."
    yield _table(plan, "", [*advice.shown_metrics(plan), "rounds"], rows, note)


def _frontier(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading(f"What money buys: {plan.goal.bought}")
    yield doc.Figure(
        figures.caption(plan),
        draw=(lambda: figures.frontier(plan)) if can_plot() else None,
        sketch=lambda width: figures.sketch(plan, width),
    )
    rows = [(advice.point_label(plan, one), one) for one in plan.frontier]
    yield _table(plan, "Setting", ["payment", plan.goal.bought], rows)
    yield doc.Bullets(tuple(advice.money_words(plan)))


def _sensitivity(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading("If costs are off by a factor of 2")
    yield from map(doc.Text, advice.sensitivity_words(plan))
    rows = [(advice.COSTLY[factor], one) for factor, one in plan.judgement.sensitivity.items()]
    yield _table(plan, "Cost of sharing", advice.shown_metrics(plan), rows)


def _configs(plan: Plan) -> Iterator[doc.Block]:
    yield doc.Heading("How to use it")
    yield doc.Text("The configs are saved beside this page.")
    yield doc.Code(plan.config, "To simulate it:", f"incfed run {CONFIG}")
    if plan.federation is not None:
        yield doc.Code(plan.federation, "To serve it:", f"incfed serve --config {FEDERATION}")


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
    for label, one in rows:
        texts = (str(one[name]).partition(" ± ") for name in metrics)
        cells = [doc.Cell(mean, half) for mean, _, half in texts]
        lines.append(doc.TableRow.of(label, *cells, emphasis=one is plan.judgement.chosen))
    return doc.Table(tuple(columns), tuple(lines), note)


def check_free(folder: Path) -> None:
    """Refuse a folder with configs that were edited, or that no plan wrote."""
    for name in (CONFIG, FEDERATION):
        check_sealed(folder / name)


def publish(plan: Plan, folder: Path) -> Path:
    """Write each file whole or not at all; the path of the page, which is written last."""
    check_free(folder)
    write_sealed(folder / CONFIG, plan.config)
    if plan.federation is None:
        (folder / FEDERATION).unlink(missing_ok=True)  # of an earlier plan
    else:
        write_sealed(folder / FEDERATION, plan.federation)
    data = json.dumps(as_data(plan), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / DATA, data + "\n")
    return write_text(folder / PAGE, html.render(plan_document(plan, configs=True)))


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as JSON; unknown figures are null."""
    judgement = plan.judgement
    return {
        "incfed": __version__,
        "advice": plan.advice,
        "setting": asdict(plan.setting),
        "within": plan.within,
        "aim": plan.goal.aim,
        "limits": [
            {"metric": x.limit.metric, "limit": x.limit.value, "kept": x.kept, "sure": x.sure}
            for x in plan.limits
        ],
        "figures": _figures(judgement.chosen),
        "frontier": [
            {**_figures(one), "outside": advice.outside(plan, one)} for one in judgement.frontier
        ],
        "thrifty": None if judgement.thrifty is None else _figures(judgement.thrifty),
        "sensitivity": {f"{k:g}": _figures(v) for k, v in judgement.sensitivity.items()},
        "references": {one.label: _figures(one) for one in judgement.references},
        "relax": advice.relax(plan),
        "settings_tried": len(plan.tried),
        "runs": plan.runs,
        "search_seeds": list(plan.search_seeds),
        "held_out_seeds": list(plan.held_out),
    }


def _figures(one: Judged) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: {"mean": finite(x.mean), "low": finite(x.low), "high": finite(x.high)}
        for name, x in one.figures().items()
    }
    return {"setting": None if one.setting is None else asdict(one.setting), **found}
