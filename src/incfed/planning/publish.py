"""The files of a plan: plan.html, plan.json, run.toml, federation.toml."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..results import html
from ..results.numbers import finite
from ..support.files import write_text
from ..support.toml import check_sealed, write_sealed
from . import advice
from .document import CONFIG, FEDERATION, plan_document
from .judging import Judged

if TYPE_CHECKING:
    from .planner import Plan

PAGE, DATA = "plan.html", "plan.json"


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
