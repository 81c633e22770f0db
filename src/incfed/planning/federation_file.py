"""The config to serve with: the advice as a TOML file that `incfed serve` takes.

Its keys are those of a federation's settings, which a room above this one reads.
"""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from ..environments.base import World
from ..results.numbers import human
from ..support import inputs
from ..support.inputs import counted
from ..support.toml import toml

if TYPE_CHECKING:
    from .planner import Plan

LOOK = 1000  # steps at once; and at all, where there is no end of them
ROOM = 10.0  # times the largest cost, for what a client may ask


def federation_text(plan: Plan) -> str | None:
    """None: it cannot be served."""
    world = plan.case.world
    if world.dim > inputs.MOST_DIM:
        return None
    rules = plan.algorithm()
    longest, largest = plan.sizes
    steps = _looked_at(world)
    where = ("in " if world.length is None else "in the log's ") + counted(steps, "step")
    costs = plan.case.costs.of(plan.held_out[0])
    dearest = max(costs) if isinstance(costs, list) else costs
    keys: list[tuple[str, object, str]] = [
        ("dim", world.dim, "features of an arm"),
        ("mechanism", plan.setting.table({}, 0)["mechanism"], ""),
        ("threshold", plan.setting.threshold, "D_c"),
        ("ridge", rules.ridge, "lambda"),
        ("noise", rules.noise, "sigma"),
        ("delta", rules.delta, ""),
    ]
    if rules.exploration is not None:
        keys.append(("exploration", rules.exploration, "alpha"))
    keys += _budget(plan)
    keys += [
        ("arm_norm", longest, f"a guess: no arm was longer {where}"),
        ("reward_bound", largest, f"a guess: no reward was larger {where}"),
        ("cost_limit", _up(ROOM * dearest), "a guess: nobody's cost may be larger"),
    ]
    return "\n".join([
        "# What `incfed plan` advises, for real clients. Needs incfed[service].",
        "#     incfed client enrol NAME --config federation.toml      once for each client",
        "#     incfed serve --config federation.toml",
        *(f"# {line}" for line in textwrap.wrap(plan.advice, 90)),
        *(f"# {line}" for text in differences(plan) for line in textwrap.wrap(text, 90)),
        "",
        "[federation]",
        *(f"{key} = {toml(value)}{said and f'  # {said}'}" for key, value, said in keys),
        "",
        "[server]",
        'database = "sqlite:///federation.db"  # a guess; or "postgresql://user@host/database"',
        'host = "127.0.0.1"  # a guess: only this machine can reach it',
        "",
    ])  # fmt: skip


def differences(plan: Plan) -> list[str]:
    """What the clients of the plan did and those of a federation never do."""
    fixed, found = plan.case.fixed, []
    if fixed.get("reads", "fresh") != "fresh":
        found.append("The plan is for stale reads. Real clients read fresh: their figures differ.")
    if fixed.get("clocks", "all") != "all":
        found.append("In the plan a round restarts its participants' clocks. Here it restarts all.")
    return found


def _budget(plan: Plan) -> list[tuple[str, object, str]]:
    """The limit on payments, if there is one: what a mean had to keep there no sum exceeds here."""
    for limit in plan.goal.limits:
        if limit.metric == "payment":
            note = f"in all, ever; the plan is for {counted(plan.case.steps, 'step')}"
            paid = plan.payment
            if paid.high > limit.value:
                note += f" and {human(paid.mean)} paid: it may not last, and then nobody is paid"
            exact = limit.share is None  # else a share of a mean, in more digits than it has
            return [("budget", limit.value if exact else float(f"{limit.value:.6g}"), note)]
    return []


def sizes(world: World, seed: int) -> tuple[float, float]:
    """The longest arm and the largest reward in all steps of a log, else in some; rounded up."""
    stream, left, largest = world.open(np.random.SeedSequence(seed)), _looked_at(world), 0.0
    while left > 0:
        rewards = np.abs(stream.take(min(left, LOOK)).rewards)
        largest = float(rewards.max(initial=largest, where=~np.isnan(rewards)))
        left -= LOOK
    longest = float(np.sqrt(np.einsum("md,md->m", stream.items, stream.items)).max(initial=0.0))
    return _up(longest), _up(largest)


def _looked_at(world: World) -> int:
    """How many steps are looked through."""
    return LOOK if world.length is None else world.length


def _up(value: float) -> float:
    """In two digits, not below by more than rounding; 1 if nothing is known."""
    if not value > 0:
        return 1.0
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit * (1 - 1e-9)) * unit:.2g}")
