"""How a plan is reported: as files, and on the terminal."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..experiments.show import PLAN, PLAN_VERSION, read_plan
from ..results import html
from ..results.intervals import Interval
from ..results.numbers import finite, human
from ..results.terminal import show
from ..support.files import write_text
from ..support.toml import check_sealed, write_sealed
from . import advice, alternatives, cross_check, reliability
from .config_files import CONFIG, FEDERATION
from .goals import GAINS, UNITS
from .page import plan_document
from .space import Setting

if TYPE_CHECKING:
    from ..support.terminal import Bar, Terminal
    from .case import Case
    from .goals import Figures, Goal
    from .judging import Judged
    from .leaving import Leaving
    from .planner import Plan
    from .search import Update

PAGE = "plan.html"


def check_free(folder: Path) -> None:
    """Refuse a folder with configs that were edited, or that no plan wrote; and one with a plan of
    another version."""
    for name in (CONFIG, FEDERATION):
        check_sealed(folder / name)
    if (folder / PLAN).exists():
        read_plan(folder)


def publish(plan: Plan, folder: Path) -> Path:
    """Write each file whole or not at all; the path of the page, which is written last."""
    check_free(folder)
    write_sealed(folder / CONFIG, plan.config)
    if plan.federation is None:
        (folder / FEDERATION).unlink(missing_ok=True)  # of an earlier plan
    else:
        write_sealed(folder / FEDERATION, plan.federation)
    data = json.dumps(as_data(plan), indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / PLAN, data + "\n")
    return write_text(folder / PAGE, html.render(plan_document(plan, configs=True)))


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as JSON; unknown figures are null."""
    judgement = plan.judgement
    return {
        "format": PLAN_VERSION,
        "incfed": __version__,
        "verdict": plan.verdict,
        "advice": plan.advice,
        "setting": _setting(plan.setting),
        "if_clients_lie": advice.lie_words(plan),
        "within": plan.within,
        "aim": plan.goal.aim,
        "bought": plan.goal.bought,
        "limits": [
            {"metric": x.limit.metric, "limit": x.limit.value, "kept": x.kept, "sure": x.sure}
            for x in plan.limits
        ],
        "gain": _interval(plan.gain),
        "gain_is_positive": finite(plan.gain.positive),
        "figures": _figures(judgement.chosen),
        "net": None if plan.net is None else _interval(plan.net),
        "shops": [
            {"name": one.name, "gain": _interval(one.gain), "payment": one.payment}
            for one in plan.shops
        ],
        "leaving": _leaving(plan.leaving),
        "cross_check": cross_check.as_data(plan),
        "frontier": [
            {
                **_figures(point),
                "outside": advice.outside(plan, point),
                "improves": point in judgement.improving(plan.goal.bought),
            }
            for point in judgement.frontier
        ],
        "leader": _figures(judgement.leader),
        "unused": alternatives.unused(plan),
        "sensitivity": {f"{k:g}": _figures(v) for k, v in judgement.sensitivity.items()},
        "references": {reference.label: _figures(reference) for reference in judgement.references},
        "runner_up": None if judgement.runner_up is None else _figures(judgement.runner_up),
        "relax": advice.relax(plan),
        "reliability": reliability.as_data(plan),
        "launch": None if judgement.launch is None else judgement.launch.as_data(),
        "settings_tried": len(plan.tried),
        "tried": [_tried(setting, means) for setting, means in plan.tried],
        "runs": plan.runs,
        "search_seeds": list(plan.search_seeds),
        "held_out_seeds": list(plan.held_out),
    }


def _figures(one: Judged) -> dict[str, Any]:
    found: dict[str, Any] = {name: _interval(x) for name, x in one.figures().items()}
    return {"setting": None if one.setting is None else _setting(one.setting), **found}


def _leaving(found: Leaving | None) -> dict[str, Any] | None:
    if found is None:
        return None
    means = {name: one for name, one in vars(found).items() if isinstance(one, Interval)}
    who = {"clients": found.count, "names": list(found.names)}
    return {**who, **{name: _interval(one) for name, one in means.items()}}


def _setting(setting: Setting) -> dict[str, Any]:
    """Trust is null if it is infinite, which JSON does not have."""
    return {**asdict(setting), "trust": None if setting.trust == math.inf else setting.trust}


def _tried(setting: Setting, means: Figures) -> dict[str, Any]:
    """A setting of the search with the search's own means: for figures only."""
    return {**_setting(setting), **{name: finite(float(x)) for name, x in means.items()}}


def introduce(terminal: Terminal, case: Case, goal: Goal) -> None:
    """Say what is about to happen."""
    for line in (str(case), *case.notes):
        terminal.note(line)
    terminal.note(f"looking for the {'most' if goal.aim in GAINS else 'least'} {goal.aim}")


def show_progress(bar: Bar, now: Update) -> None:
    """Show how many settings were tried, and the best so far."""
    what = "judging" if now.total and now.done == now.total else "settings"
    part = f", runs under way {now.part:4.0%}" if 0 < now.part < 1 else ""
    best = ""
    if now.best is not None and now.means is not None:
        known = {name: value for name, value in now.means.items() if value == value}
        figures = ", ".join(UNITS[name].format(human(value)) for name, value in known.items())
        best = f"best so far: {now.best}: {figures}"
    bar.update(now.done, now.total or None, what + part, best)


def show_plan(terminal: Terminal, plan: Plan, folder: Path) -> None:
    """Print the plan, where its files are, and how to use them."""
    show(terminal, plan_document(plan))
    run, serve = folder / CONFIG, folder / FEDERATION
    where = {"page": folder / PAGE, "to simulate": run}
    then = f"To simulate it: incfed run {shlex.quote(str(run))}"
    if plan.federation is not None:
        where["to serve"] = serve
        then += f"\nTo serve it:    incfed serve --config {shlex.quote(str(serve))}"
    terminal.places(where)
    terminal.hint(then)


def _interval(one: Interval) -> dict[str, float | None]:
    return one.ends()
