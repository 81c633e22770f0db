"""The configs that a plan writes: run.toml for `incfed run`, federation.toml for `incfed serve`.

The first runs what the plan's figures come from: the held-out seeds, and of a log the part to judge
by. The second is checked by the settings of a federation, which it is for.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..environments.base import World
from ..experiments.config import WORLDS
from ..ledger.settings import Settings
from ..mechanisms.registry import MECHANISMS
from ..results.numbers import human
from ..support.inputs import InputError, counted
from ..support.kinds import Kinds
from ..support.toml import toml, toml_key
from .case import JUDGE

if TYPE_CHECKING:
    from .planner import Plan

WHOLE = "# The part that the plan's figures come from; for all of it, leave out steps, part, turn."
LOOK = 1000  # steps at once; and at all, where there is no end of them
ROOM = 10.0  # times the largest cost, for what a client may ask


def config_text(plan: Plan) -> str:
    case = plan.case
    costs = case.costs.of(plan.held_out[0])
    lines = [
        "# What `incfed plan` advises. incfed run run.toml runs it.",
        *(f"# {line}" for line in textwrap.wrap(plan.advice, 90)),
        "",
        "[run]",
        f"steps = {case.steps}",
        "# Those that the plan's figures come from; nothing was chosen with them.",
        f"seeds = {toml(plan.held_out)}",
        'output = "results"',
        "",
        "[world]",
        *([] if case.share is None else [WHOLE]),
        *(
            f"{toml_key(key)} = {toml(value)}"
            for key, value in _portable(case.scene(JUDGE), WORLDS, case.folder).items()
        ),
        "",
        "[[algorithm]]",
        f"label = {toml(str(plan.setting))}",
    ]
    table = plan.setting.table(case.fixed, costs)
    table["mechanism"] = _portable(table["mechanism"], MECHANISMS, case.folder)
    for key, value in table.items():
        if key == "costs" and case.costs.drawn:
            lines.append(
                f"# drawn from {case.costs}; those of seed {plan.held_out[0]}: put your own here"
            )
        lines.append(f"{key} = {toml(value)}")
    return "\n".join(lines) + "\n"


def federation_text(plan: Plan) -> str | None:
    """None: it cannot be served, because the settings of a federation refuse it."""
    try:
        table = _federation(plan)
    except InputError:
        return None
    world = plan.case.world
    where = "in " if world.length is None else "in the log's "
    where += counted(_looked_at(world), "step")
    said = {
        "dim": "features of an arm",
        "threshold": "D_c",
        "ridge": "lambda",
        "noise": "sigma",
        "exploration": "alpha",
        "budget": _budget(plan)[1],
        "arm_norm": f"a guess: no arm was longer {where}",
        "reward_bound": f"a guess: no reward was larger {where}",
        "cost_limit": "a guess: nobody's cost may be larger",
    }
    return "\n".join([
        "# What `incfed plan` advises, for real clients. Needs incfed[service].",
        "#     incfed client enrol NAME --config federation.toml      once for each client",
        "#     incfed serve --config federation.toml",
        *(f"# {line}" for line in textwrap.wrap(plan.advice, 90)),
        *(f"# {line}" for text in differences(plan) for line in textwrap.wrap(text, 90)),
        "",
        "[federation]",
        *(
            f"{key} = {toml(value)}" + (f"  # {said[key]}" if key in said else "")
            for key, value in table.items()
        ),
        "",
        "[server]",
        'database = "sqlite:///federation.db"  # a guess; or "postgresql://user@host/database"',
        'host = "127.0.0.1"  # a guess: only this machine can reach it',
        "",
    ])  # fmt: skip


def _federation(plan: Plan) -> dict[str, Any]:
    """The [federation] table, or an InputError of the settings that it is for."""
    rules, folder = plan.algorithm(), plan.case.folder
    mechanism = plan.setting.table({}, 0)["mechanism"]
    costs = plan.case.costs.of(plan.held_out[0])
    dearest = max(costs) if isinstance(costs, list) else costs
    longest, largest = plan.sizes
    table = {
        "dim": plan.case.world.dim,
        "mechanism": _portable(mechanism, MECHANISMS, folder),
        "threshold": plan.setting.threshold,
        "ridge": rules.ridge,
        "noise": rules.noise,
        "delta": rules.delta,
        "exploration": rules.exploration,
        "budget": _budget(plan)[0],
        "arm_norm": longest,
        "reward_bound": largest,
        "cost_limit": _up(ROOM * dearest),
    }
    table = {key: value for key, value in table.items() if value is not None}
    Settings.read(table, folder).check()
    return table


def differences(plan: Plan) -> list[str]:
    """What the clients of the plan did and those of a federation never do."""
    fixed, found = plan.case.fixed, []
    if fixed.get("reads", "fresh") != "fresh":
        found.append("The plan is for stale reads. Real clients read fresh: their figures differ.")
    if fixed.get("clocks", "all") != "all":
        found.append("In the plan a round restarts its participants' clocks. Here it restarts all.")
    return found


def _budget(plan: Plan) -> tuple[float | None, str]:
    """The limit on payments, if there is one: what a mean had to keep there no sum exceeds here."""
    for limit in plan.goal.limits:
        if limit.metric == "payment":
            note = f"in all, ever; the plan is for {counted(plan.case.steps, 'step')}"
            paid = plan.payment
            if paid.high > limit.value:
                note += f" and {human(paid.mean)} paid: it may not last, and then nobody is paid"
            exact = limit.share is None  # else a share of a mean, in more digits than it has
            return limit.value if exact else float(f"{limit.value:.6g}"), note
    return None, ""


def sizes(world: World, seed: int) -> tuple[float, float]:
    """The longest arm and the largest reward in all steps of a log, else in some; rounded up."""
    stream, left, largest = world.open(np.random.SeedSequence(seed)), _looked_at(world), 0.0
    while left > 0:
        rewards = np.abs(stream.take(min(left, LOOK)).rewards)
        largest = float(rewards.max(initial=largest, where=~np.isnan(rewards)))
        left -= LOOK
    longest = float(np.sqrt(np.einsum("md,md->m", stream.items, stream.items)).max(initial=0.0))
    return _up(longest), _up(largest)


def _portable(table: Mapping[str, Any], kinds: Kinds, folder: Path) -> dict[str, Any]:
    """A table as it was given, with paths that hold wherever the file is put."""
    kind = str(table.get("kind"))
    found = dict(table)
    for key in kinds.path_keys(kind):
        if isinstance(found.get(key), str):
            found[key] = str((folder / found[key]).absolute())
    where, mark, name = kind.rpartition(":")
    if mark and where.endswith(".py"):
        found["kind"] = f"{(folder / where).absolute()}:{name}"
    return found


def _looked_at(world: World) -> int:
    """How many steps are looked through."""
    return LOOK if world.length is None else world.length


def _up(value: float) -> float:
    """In two digits, not below by more than rounding; 1 if nothing is known."""
    if not value > 0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-9)) * unit:.2g}")
