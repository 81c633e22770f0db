"""The configs that a plan writes: run.toml for `incfed run`, federation.toml for `incfed serve`.

The first repeats the runs that the plan's figures come from: the held-out seeds, and of a log the
part to judge by. The second is written only if it makes valid settings of a federation.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..environments.base import World
from ..errors import InputError
from ..experiments.config import LONGEST_LABEL, WORLDS
from ..ledger.settings import Settings
from ..mechanisms.registry import MECHANISMS
from ..protocol.triggers import TRIGGERS
from ..results.numbers import human
from ..rules.limits import NONE
from ..rules.plugins import Kinds
from ..support.inputs import counted
from ..support.toml import toml, toml_key
from .case import JUDGE
from .space import Setting

if TYPE_CHECKING:
    from .planner import Plan

CONFIG, FEDERATION = "run.toml", "federation.toml"
WHOLE = "# The part that the plan's figures come from; for all of it, leave out steps and part."
LOOK = 1000  # steps to look through at once; in all, if the world has no end
ROOM = 10.0  # times the largest cost: what a client may ask for


def config_text(plan: Plan) -> str:
    case, seed, alone = plan.case, plan.held_out[0], plan.judgement.alone
    table = plan.setting.table(case.fixed, case.costs.of(seed))
    table["mechanism"] = _portable(table["mechanism"], MECHANISMS, case.folder)
    if plan.setting.own is not None:
        table["trigger"] = _portable(table["trigger"], TRIGGERS, case.folder)
    said = {}
    if case.costs.drawn:
        said["costs"] = f"# drawn from {case.costs}; those of seed {seed}: put your own here\n"
    return "\n".join([
        "# What `incfed plan` advises. incfed run run.toml runs it.",
        *_comment(plan.advice),
        "",
        "[run]",
        f"steps = {case.steps}",
        "# The plan's figures come from these seeds, which were not used to choose.",
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
        f"label = {toml(short(plan.setting))}",
        *(f"{said.get(key, '')}{key} = {toml(value)}" for key, value in table.items()),
        "",
        "[[algorithm]]  # to see who is better off than alone",
        f"label = {toml(alone.label)}",
        *(f"{key} = {toml(value)}" for key, value in (alone.rules or {}).items()),
        "",
    ])  # fmt: skip


def short(setting: Setting) -> str:
    """A label for it."""
    return str(setting) if len(str(setting)) <= LONGEST_LABEL else "the advice"


def federation_text(plan: Plan) -> str | None:
    """None if it makes no valid settings of a federation."""
    rules, world, folder = plan.algorithm(), plan.case.world, plan.case.folder
    table = plan.setting.table(plan.case.fixed, 0)
    mechanism = table["mechanism"]
    costs = plan.case.costs.of(plan.held_out[0])
    dearest = max(costs) if isinstance(costs, list) else costs
    if plan.case.fitted is not None:
        world = plan.case.fitted.log
    longest, largest = sizes(world, plan.held_out[0])
    where = "in " if world.length is None else "in the log's "
    where += counted(_looked_at(world), "step")
    settings: dict[str, tuple[Any, str]] = {  # with a comment
        "dim": (world.dim, "features of an arm"),
        "mechanism": (_portable(mechanism, MECHANISMS, folder), ""),
        "threshold": (table.get("threshold"), "D_c"),
        "trigger": (table.get("trigger"), ""),
        "download": (table.get("download"), ""),
        "width": (table.get("width"), ""),
        "ridge": (rules.ridge, "lambda"),
        "noise": (rules.noise, "sigma"),
        "delta": (rules.delta, ""),
        "exploration": (rules.exploration, "alpha"),
        "width_scale": (table.get("width_scale"), ""),
        "trust": (None if _own_trusts(plan) else table.get("trust"), "if a client says nothing"),
        "budget": _budget(plan),
        "limits": (_limits(dearest), "the other limits are the safe ones"),
        "arm_norm": (longest, f"a guess: no arm was longer {where}"),
        "reward_bound": (largest, f"a guess: no reward was larger {where}"),
        "cost_limit": (_up(ROOM * dearest), "a guess: nobody's cost may be larger"),
    }
    given = {key: value for key, (value, _) in settings.items() if value is not None}
    try:
        Settings.read(given, folder).check()
    except InputError:
        return None
    return "\n".join([
        "# What `incfed plan` advises, for real clients. Needs incfed[service].",
        "#     incfed client enrol NAME --config federation.toml      once for each client",
        "#     incfed serve --config federation.toml",
        *_comment(plan.advice),
        *(line for text in differences(plan) for line in _comment(text)),
        "",
        "[federation]",
        *(
            f"{key} = {toml(value)}" + (f"  # {settings[key][1]}" if settings[key][1] else "")
            for key, value in given.items()
        ),
        "",
        "[server]",
        'database = "sqlite:///federation.db"  # a guess; or "postgresql://user@host/database"',
        'host = "127.0.0.1"  # a guess: only this machine can reach it',
        "",
    ])  # fmt: skip


def differences(plan: Plan) -> list[str]:
    """How real clients differ from those of the plan."""
    fixed, found = plan.case.fixed, []
    if fixed.get("reads", "fresh") != "fresh":
        found.append("The plan is for stale reads. Real clients read fresh: their figures differ.")
    if "availability" in fixed:
        found.append(
            "In the plan clients are away as often as you assumed; here, as often as they are."
        )
    if _own_trusts(plan):
        found.append(
            "In the plan each client has a trust of its own. Here each client sets it: "
            "incfed.Client(..., trust=...)."
        )
    if fixed.get("clocks", "all") != "all":
        found.append("In the plan a round restarts its participants' clocks. Here it restarts all.")
    return found


def _own_trusts(plan: Plan) -> bool:
    return isinstance(plan.case.fixed.get("trust"), list)


def _budget(plan: Plan) -> tuple[float | str, str]:
    """The limit on payments, if there is one, and a note. In the plan the mean had to keep it; in a
    federation, no sum ever exceeds it."""
    for limit in plan.goal.limits:
        if limit.metric == "payment":
            note = f"for all payments ever; the plan is for {counted(plan.case.steps, 'step')}"
            paid = plan.payment
            if paid.high > limit.value:
                note += f" and {human(paid.mean)} paid: it may not last, and then nobody is paid"
            exact = limit.share is None  # else a share of a mean, in more digits than it has
            return limit.value if exact else float(f"{limit.value:.6g}"), note
    return NONE, "no limit on all payments together: the plan has none"


def _limits(dearest: float) -> dict[str, Any]:
    """As in the plan, rounds are decided by the budget alone; but one client's payment is limited
    by what the dearest asks for."""
    largest = _up(ROOM * dearest)
    return {"per_payment": largest, "per_round": NONE, "per_client": NONE}


def sizes(world: World, seed: int) -> tuple[float, float]:
    """The longest arm and the largest reward, rounded up: of a whole log, or of the first steps of
    a world without an end."""
    stream, left, largest = world.open(np.random.SeedSequence(seed)), _looked_at(world), 0.0
    while left > 0:
        rewards = np.abs(stream.take(min(left, LOOK)).rewards)
        largest = float(rewards.max(initial=largest, where=~np.isnan(rewards)))
        left -= LOOK
    longest = float(np.sqrt(np.einsum("md,md->m", stream.items, stream.items)).max(initial=0.0))
    return _up(longest), _up(largest)


def _portable(table: Mapping[str, Any], kinds: Kinds, folder: Path) -> dict[str, Any]:
    """The table with absolute paths, so that the file can be moved."""
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


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, 90)]


def _up(value: float) -> float:
    """Rounded up to two digits; 1 if it is not positive."""
    if not value > 0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-9)) * unit:.2g}")
