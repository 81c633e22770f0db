"""The config to run with: the advice as a TOML file that `incfed run` takes.

It runs what the plan's figures come from: the held-out seeds, and of a log the part to judge by.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..experiments.kinds import MORE_PATHS, PATHS
from ..support.toml import toml, toml_key
from .case import JUDGE

if TYPE_CHECKING:
    from .planner import Plan

WHOLE = "# The part that the plan's figures come from; for all of it, leave out steps, part, turn."


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
            for key, value in _world(case.scene(JUDGE), case.folder).items()
        ),
        "",
        "[[algorithm]]",
        f"label = {toml(str(plan.setting))}",
    ]
    table = plan.setting.table(case.fixed, costs)
    for key, value in table.items():
        if key == "costs" and case.costs.drawn:
            lines.append(
                f"# drawn from {case.costs}; those of seed {plan.held_out[0]}: put your own here"
            )
        lines.append(f"{key} = {toml(value)}")
    return "\n".join(lines) + "\n"


def _world(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The [world] as it was given, with paths that hold wherever the file is put."""
    kind = table.get("kind")
    found = dict(table)
    for key in (*PATHS, *MORE_PATHS.get(str(kind), ())):
        if isinstance(found.get(key), str):
            found[key] = str((folder / found[key]).absolute())
    where, mark, name = str(kind).rpartition(":")
    if mark and where.endswith(".py"):
        found["kind"] = f"{(folder / where).absolute()}:{name}"
    return found
