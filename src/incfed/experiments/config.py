"""Config files: every key is checked before any work.

[run]
steps = 5000                # may be left out for a trace: all of it
seeds = 5                   # a number, or a list [0, 7, 9]
bootstrap = 20              # for a log, which has one order: bootstrapped logs instead of seeds
resample = "events"         # or "clients": what they draw with replacement
output = "results"          # relative to the config file
[world]
kind = "Synthetic"          # the other keys are the constructor's arguments
[[algorithm]]
label = "beta 0.7"
kind = "IncFedUCB"
mechanism = { kind = "PaymentEfficient", beta = 0.7 }
threshold = "high"          # a number, or a formula of incfed.thresholds
costs = 10.0
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import environments, errors
from ..algorithms import thresholds
from ..algorithms.registry import ALGORITHMS
from ..environments.base import World
from ..environments.bootstrap import CLIENTS, EVENTS, Bootstrap
from ..environments.trace import Trace
from ..errors import InputError, refuse
from ..mechanisms.registry import MECHANISMS
from ..protocol.policies import POLICIES
from ..protocol.strategy import build_costs, build_reports
from ..protocol.triggers import TRIGGERS
from ..ranges import MOST_STEPS
from ..results.settings import plain
from ..rules.limits import build_limits
from ..rules.plugins import Kinds, public
from ..rules.privacy import build_privacy
from ..simulation.comparing import BOOTSTRAP
from ..values import Whole, Word
from .commands import read_tables

DRAWN = ("resample", "repeats", "orders")  # how steps are drawn
# Keys that any recorded world may have, and the last of them any world.
CUT = ("part", "turn", "bootstrap", *DRAWN, "without")
LONGEST_LABEL = 80  # characters
RUN_KEYS = ("steps", "seeds", "bootstrap", "resample", "output")
MANY = 100_000  # seeds: more is a typing error


@dataclass(frozen=True)
class Recipe:
    """The tables of a config, not checked yet, and where they came from."""

    tables: Mapping[str, Any]
    folder: Path = field(default_factory=Path.cwd)  # paths in the tables start here
    name: str = "config"  # for messages


@dataclass(frozen=True)
class Component:
    """A world or an algorithm, with what its own settings may not tell.

    `sources`: the SHA-256 of each of the user's files that it came from; `table`: as in the config.
    """

    value: Any
    sources: Mapping[str, str]
    table: Mapping[str, Any]

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that the numbers depend on."""
        own = {"files": sorted(self.sources.values()), "table": plain(self.table, "table")}
        return {"settings": plain(self.value.settings()), **(own if self.sources else {})}


def load(
    path: str | Path,
    *,
    seeds: int | None = None,
    output: Path | None = None,
    bootstrap: int | None = None,
    commands: Sequence[str] = ("run",),
) -> Recipe:
    """The tables in the file `path`, not checked yet; other arguments replace its own.
    `commands`: those that they may be for."""
    file = Path(path)
    tables = read_tables(file, f"Write one with: incfed init {file}", commands)
    return override(Recipe(tables, file.resolve().parent, str(file)), seeds, output, bootstrap)


def override(
    recipe: Recipe, seeds: int | None, output: Path | None, bootstrap: int | None = None
) -> Recipe:
    """The recipe with other seeds, another output folder and another number of bootstrapped logs;
    None leaves them as they are."""
    folder = None if output is None else str(output.absolute())
    changes = {"seeds": seeds, "output": folder, "bootstrap": bootstrap}
    given = {key: value for key, value in changes.items() if value is not None}
    run = recipe.tables.get("run", {})
    if not isinstance(run, Mapping):  # check_outline says what is wrong with it
        return recipe
    return replace(recipe, tables={**recipe.tables, "run": {**run, **given}})


@dataclass(frozen=True)
class Outline:
    """The parts of a config. Their structure is checked, their contents are not yet."""

    steps: Any
    seeds: tuple[int, ...]
    output: Path
    world: dict[str, Any]
    algorithms: dict[str, dict[str, Any]]  # by label
    bootstrap: int = BOOTSTRAP
    resample: str = EVENTS


def check_outline(recipe: Recipe) -> Outline:
    tables = recipe.tables
    errors.known("", tables, ["run", "world", "algorithm", "sweep"])
    run = errors.table("run", tables.get("run", {}), "[run]")
    errors.known("run", run, RUN_KEYS)
    seeds = _seeds(run.get("seeds", 1))
    output = run.get("output", "results")
    if not isinstance(output, str) or not output.strip() or "\0" in output:
        raise refuse("run.output", output, "the name of a folder")
    example = '[world] with kind = "Synthetic"'
    if "world" not in tables:
        raise errors.missing("world", f"given, such as {example}")
    world = errors.table("world", tables["world"], example)
    algorithms = _labelled(tables.get("algorithm"))
    bootstrap = Whole(0, MANY).of("run.bootstrap", run.get("bootstrap", BOOTSTRAP))
    resample = Word((EVENTS, CLIENTS)).of("run.resample", run.get("resample", EVENTS))
    where = recipe.folder / output
    return Outline(run.get("steps"), seeds, where, world, algorithms, bootstrap, resample)


def redrawn(steps: int, resample: str) -> dict[str, Any]:
    """The keys that make a [world] one of bootstrapped logs, for intervals."""
    more = {} if resample == EVENTS else {"resample": resample}
    return {"bootstrap": steps, **more, "repeats": True}


def _seeds(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        if not isinstance(value, int):
            raise refuse("run.seeds", value, "a whole number, or a list of seeds such as [0, 7, 9]")
        return tuple(range(Whole(1, MANY).of("run.seeds", value)))
    seeds = tuple(Whole(0).of(f"run.seeds[{n}]", seed) for n, seed in enumerate(value, 1))
    if not seeds or len(set(seeds)) < len(seeds):
        raise refuse("run.seeds", value, "at least one seed, each named once")
    return seeds


def check_steps(value: object, world: World) -> int:
    """T: as given, or all that a recorded world has."""
    if value is None:
        if world.length is None:
            raise errors.missing("run.steps", "given: this world has no length of its own")
        return Whole(1).of("the length of the trace", world.length)
    steps = Whole(1, MOST_STEPS).of("run.steps", value)
    if world.length is not None and steps > world.length:
        raise refuse("run.steps", steps, f"at most {world.length}, the length of the trace")
    return steps


def _labelled(value: object) -> dict[str, dict[str, Any]]:
    example = '[[algorithm]] with kind = "IncFedUCB"'
    if value is None:
        raise errors.missing("algorithm", f"given at least once, such as {example}")
    if isinstance(value, Mapping):
        raise InputError("algorithm: is one table, must be a list of them: write [[algorithm]]")
    if not isinstance(value, list) or not value:
        raise refuse("algorithm", value, f"a list of at least one table, such as {example}")
    entries: dict[str, dict[str, Any]] = {}
    for n, entry in enumerate(value, 1):
        place = f"algorithm[{n}]"
        table = errors.table(place, entry, example)
        label = table.get("label", table.get("kind"))
        if label is None:
            raise errors.missing(f"{place}.label", "a short text, such as 'beta 0.7'")
        if not isinstance(label, str) or not label.strip() or not label.isprintable():
            raise refuse(f"{place}.label", label, "a short text, such as 'beta 0.7'")
        if len(label) > LONGEST_LABEL:
            allowed = f"a text of at most {LONGEST_LABEL} characters"
            raise refuse(f"{place}.label", label, allowed)
        label = label.strip()
        if label in entries:
            allowed = f"different from that of algorithm[{[*entries].index(label) + 1}]"
            raise refuse(f"{place}.label", label, allowed)
        entries[label] = table
    return entries


def build_world(table: Mapping[str, Any], folder: Path, place: str = "world") -> Component:
    """The world of a [world] table, perhaps without some clients; of a recorded one perhaps a part,
    see `World.part`."""
    table = errors.table(place, table, '[world] with kind = "Synthetic"')
    rest = {key: value for key, value in table.items() if key not in CUT}
    sources: dict[str, str] = {}
    if rest.get("kind") == "FittedWorld" and "log" in rest:  # a world itself
        log = build_world(rest["log"], folder, f"{place}.log")
        rest["log"] = log.value
        sources.update(log.sources)
    with warnings.catch_warnings():  # the world's notes say it once for all
        warnings.simplefilter("ignore", environments.BadRows)
        built = WORLDS.build(rest, place, folder)
    world = built.value
    sources.update(built.sources)
    if rest.keys() != table.keys():
        with errors.at(place, CUT):
            shares = table.get("part", [0.0, 1.0])
            if not isinstance(shares, list) or len(shares) != 2:
                raise refuse("part", shares, "two shares of the steps, such as [0.5, 1.0]")
            if "part" in table or "turn" in table:
                world = world.part(*shares, turn=table.get("turn", False))
            if "bootstrap" in table:
                drawn = {key: table[key] for key in DRAWN if key in table}
                world = Bootstrap(world, table["bootstrap"], **drawn)
            elif alone := [key for key in DRAWN if key in table]:
                raise refuse(alone[0], table[alone[0]], "left out, or bootstrap given too")
            if "without" in table:
                world = world.without(table["without"])
    return Component(world, sources, table)


def _trace(file: Path) -> Trace:
    """A Trace from its .npz file: no config can hold the arrays.

    file: the .npz file that Trace.save wrote.
    """
    if not isinstance(file, Path):
        raise InputError(f"got {file!r}, must be the path of an .npz file", "file")
    if file.is_file() and not zipfile.is_zipfile(file):
        raise InputError(f"got '{file}', must be a readable .npz file", "file")
    try:
        return Trace.load(file)
    except InputError as error:
        what = error.said if error.place == "path" else f"{file}: {error}"
        raise InputError(what, "file") from None


WORLDS = Kinds(
    environments.World,
    public(environments, environments.World) | {"Trace": _trace},
    paths={"ReplayLog": ("items",)},
)


def build_algorithm(
    table: Mapping[str, Any], place: str, world: World, steps: int, folder: Path
) -> Component:
    """The algorithm of a table; the threshold may depend on the world and the steps."""
    given = {key: value for key, value in table.items() if key != "label"}
    maker = ALGORITHMS.find(given, place, folder)
    maker.check(given, place, extra=("label",))
    sources: dict[str, str] = {}
    if "mechanism" in given:
        mechanism = MECHANISMS.build(given["mechanism"], f"{place}.mechanism", folder)
        given["mechanism"] = mechanism.value
        sources.update(mechanism.sources)
    if "trigger" in given:
        trigger = TRIGGERS.build(given["trigger"], f"{place}.trigger", folder)
        given["trigger"] = trigger.value
        sources.update(trigger.sources)
    if "policy" in given:
        policy = POLICIES.build(given["policy"], f"{place}.policy", folder)
        given["policy"] = policy.value
        sources.update(policy.sources)
    if "reports" in given:
        given["reports"] = build_reports(given["reports"], f"{place}.reports", folder)
    if "limits" in given:
        given["limits"] = build_limits(given["limits"], f"{place}.limits")
    if "privacy" in given:
        given["privacy"] = build_privacy(given["privacy"], f"{place}.privacy")
    if "costs" in given:
        given["costs"] = build_costs(given["costs"], f"{place}.costs", folder)
    if isinstance(given.get("threshold"), str):
        default = maker.parameters.get("ridge")
        ridge = given.get("ridge", default.default if default else None)
        beta = given["mechanism"].beta if "mechanism" in given else 1.0
        with errors.at(place, given):
            given["threshold"] = thresholds.named(
                given["threshold"], steps=steps, clients=world.count, dim=world.dim, beta=beta,
                ridge=ridge,
            )  # fmt: skip
    made = maker(given, place, folder)
    sources.update(made.sources)
    with errors.at(place, given):
        made.value.check(world.count)
        plain(made.value.settings())  # can it be saved?
    return Component(made.value, sources, table)
