"""The user's case: a world to choose settings in, what sharing costs the clients in it, and another
part of that world to judge settings by. `template` shows what its file may say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import errors
from ..environments import FittedWorld, ReplayLog, Trace, World
from ..environments.without import client_names, leaving
from ..errors import InputError, refuse
from ..experiments.cells import Cell
from ..experiments.config import (
    CUT,
    Component,
    Recipe,
    build_algorithm,
    build_world,
    check_steps,
    load,
)
from ..ledger.settings import SERVED_ONES
from ..mechanisms.registry import BUILT_IN, MECHANISMS, Pinned
from ..support.inputs import counted
from ..values import Number, Whole
from .costs import ALLOWED, HIGHEST, Costs, read_costs
from .space import ALL, FREE, RIDGE, Setting, Space, read_space, usual_threshold
from .template import FIXED

KEYS = ("run", "world", "costs", "value_per_reward", "leave", "algorithm", "search")
SHARE = 0.5  # of a recorded world, on which settings are chosen
SEARCH, JUDGE = "search", "judge"  # what a run is for
MANY = 1000  # seeds of each of the two
LOOK = 100  # steps, to see how large arms are
LEAVE = 0.25  # of the clients, to see what is left if they leave
RUNS = 4  # in each world that a log leaves open, to tell these apart from chance in a run


@dataclass(frozen=True)
class Case:
    """The case, checked."""

    name: str
    folder: Path
    table: Mapping[str, Any]  # [world]; of a log, the world that is fitted to it
    world: World
    steps: int
    costs: Costs
    fixed: Mapping[str, Any]  # [algorithm]
    space: Space
    share: float | None  # of a recorded world, to choose on; None: its seeds differ enough
    leave: float | Sequence[str | int] | None = None  # who might leave: a share, or by name
    value_per_reward: float | None = None  # in money
    sources: Sequence[str] = ()  # SHA-256 of the user's own files
    notes: Sequence[str] = ()

    @property
    def usual(self) -> float:
        return usual_threshold(self.steps, self.world.count, self.world.dim)

    @property
    def regret_known(self) -> bool:
        first = self.world.open(np.random.SeedSequence(0)).take(1)
        return not bool(np.isnan(first.expected).all())

    @property
    def everyone(self) -> Setting:
        """Everyone is paid, at the paper's D_c: what limits given as a share refer to, whether it
        is searched or not."""
        return Setting(ALL, None, float(f"{self.usual:.3g}"), self.space.ridge.clip(RIDGE))

    @property
    def nobody(self) -> Setting:
        return replace(self.everyone, mechanism=FREE)

    @property
    def rewarded(self) -> bool:
        """Whether a plan is about reward unless it is asked for regret: of a log, only the model
        knows what the best choice would have been."""
        log = None if self.fitted is None else self.fitted.log
        return log is not None and getattr(log, "expected", None) is None

    @property
    def fitted(self) -> FittedWorld | None:
        """The world that is fitted to a log, if that is what the case is about."""
        return self.world if isinstance(self.world, FittedWorld) else None

    @property
    def client_names(self) -> list[str]:
        """What to call the clients; empty if each run has other ones of a log."""
        fitted = self.fitted
        if fitted is not None and fitted.count < fitted.log.count:
            return []
        names = client_names(self.world)
        return [name if isinstance(name, str) else f"client {name}" for name in names]

    def scene(self, use: str) -> dict[str, Any]:
        """The [world] to choose in, or the one to judge by."""
        if self.share is None:
            return dict(self.table)
        return {**self.table, "part": _parts(self.table, self.share)[0 if use == SEARCH else 1]}

    def cells(
        self, setting: Setting, seeds: Sequence[int], use: str, factor: float = 1.0
    ) -> list[Cell]:
        """Runs of a setting; the costs are those of each seed, times `factor`."""
        point = {"setting": str(setting), "costs": f"x{factor:g}", "use": use}
        return [
            self._cell(setting.table(self.fixed, self.costs.of(seed, factor)), seed, use, point)
            for seed in seeds
        ]

    def alone(self, rules: Mapping[str, Any], seeds: Sequence[int], use: str) -> list[Cell]:
        """Runs in which nobody shares; see `alone.rules_of`."""
        return [self._cell(rules, seed, use, {"setting": "alone", "use": use}) for seed in seeds]

    def _cell(
        self, algorithm: Mapping[str, Any], seed: int, use: str, point: Mapping[str, Any]
    ) -> Cell:
        point = {**point, "steps": self.steps}
        return Cell(self.scene(use), algorithm, seed, self.steps, self.folder, point)

    def identity(self) -> list[Any]:
        """All that the answer depends on, besides the question."""
        return [
            dict(self.table),
            self.world.settings(),
            self.steps,
            self.costs.identity(),
            dict(self.fixed),
            self.space.identity(),
            self.share,
            list(self.sources),
        ]

    def __str__(self) -> str:
        return (
            f"{counted(self.world.count, 'client')}, {counted(self.world.dim, 'feature')}, "
            f"{counted(self.steps, 'step')}; sharing costs {self.costs}"
        )


def read_case(source: str | Path | Mapping[str, Any], *, clients_may_lie: bool = False) -> Case:
    """The case in a file, or in tables as of a file; an InputError names the place at fault.
    `clients_may_lie` sets that in [search]."""
    more = {"clients_may_lie": True} if clients_may_lie else {}
    if isinstance(source, Mapping):
        return build_case(_searched(Recipe(source, name="your world"), more))
    if not isinstance(source, str | Path):
        raise refuse("world", source, "the path of a TOML file, or tables as in one")
    if not Path(source).exists():
        raise InputError(
            f"config file not found: {source}. Write one with: incfed init --plan {source}"
        )
    return build_case(_searched(load(source, commands=("plan",)), more))


def _searched(recipe: Recipe, more: Mapping[str, Any]) -> Recipe:
    """The recipe with more in its [search]."""
    search = recipe.tables.get("search", {})
    if not more or not isinstance(search, Mapping):  # build_case says what is wrong with it
        return recipe
    return replace(recipe, tables={**recipe.tables, "search": {**search, **more}})


def build_case(recipe: Recipe) -> Case:
    tables = recipe.tables
    with errors.at(recipe.name):
        errors.known("", tables, KEYS)
        if "world" not in tables:
            raise errors.missing("world", 'given, such as [world] with kind = "Synthetic"')
        if "costs" not in tables:
            raise errors.missing("costs", f"given, what sharing costs a client: {ALLOWED}")
        if isinstance(tables.get("algorithm"), list):
            raise InputError("algorithm: is a list, must be one table: write [algorithm]")
        run, fixed, search = (
            errors.table(name, tables.get(name, {}), f"[{name}]")
            for name in ("run", "algorithm", "search")
        )
        errors.known("run", run, ["steps"])
        errors.known("algorithm", fixed, [*FIXED, "ridge"])
        if "without" in errors.table("world", tables["world"], '[world] with kind = "Synthetic"'):
            allowed = "left out: leave says who might leave"
            raise refuse("world.without", tables["world"]["without"], allowed)
        built = build_world(tables["world"], recipe.folder)
        if isinstance(built.value, ReplayLog | Trace):
            built = _fitted(built, run.get("steps"), recipe.folder)
        world: World = built.value
        if not world.chance:
            allowed = "a ReplayLog or a Trace, all of it, or a world whose runs differ by seed"
            raise refuse("world", built.table.get("kind"), allowed)
        share = _share(search, world)
        steps = (
            check_steps(run.get("steps"), world)
            if share is None
            else _steps(run.get("steps"), world, built.table, share, recipe.folder)
        )
        usual = usual_threshold(steps, world.count, world.dim)
        costs = read_costs(tables["costs"], world.count)
        leave = tables.get("leave", LEAVE if world.count > 1 else None)
        if leave is not None:
            leaving("leave", leave, world)
        value = tables.get("value_per_reward")
        if value is not None:
            value = float(Number(0.0, HIGHEST, above=True).of("value_per_reward", value))
        case = Case(
            name=recipe.name,
            folder=recipe.folder,
            table=built.table,
            world=world,
            steps=steps,
            costs=costs,
            fixed={key: value for key, value in fixed.items() if key != "ridge"},
            space=read_space(search, fixed, usual, recipe.folder, _norm(world), costs.highest()),
            share=share,
            leave=leave,
            value_per_reward=value,
        )
        sources = dict(built.sources)
        for setting in (case.nobody, *case.space.first(usual)):  # every mechanism once
            table = setting.table(case.fixed, case.costs.of(0))
            made = build_algorithm(table, "algorithm", world, steps, recipe.folder)
            sources.update(made.sources)
    notes = (*world.notes, *_not_served(case))
    return replace(case, sources=tuple(sorted(sources.values())), notes=notes)


def _fitted(log: Component, steps: object, folder: Path) -> Component:
    """The world fitted to a log, as long as the plan: half as many steps as the log has events,
    unless `steps` says otherwise. Its link is written down, so that no run has to find it again."""
    events: int = log.value.length
    length = max(events // 2, 1) if steps is None else Whole(1).of("run.steps", steps)
    table = {"kind": "FittedWorld", "log": dict(log.table), "length": length, "runs": RUNS}
    found = build_world(table, folder).value
    return build_world({**table, "link": found.link}, folder)


def _norm(world: World) -> float:
    """The mean squared norm of the arms of some steps, in two digits; 1 if they are all zero."""
    stream = world.open(np.random.SeedSequence(0))
    arms = stream.take(min(LOOK, world.length or LOOK)).arms
    squares = np.einsum("md,md->m", stream.items, stream.items)
    return float(f"{squares[arms].mean():.2g}") or 1.0


def _not_served(case: Case) -> list[str]:
    """Why mechanisms and triggers of the user's own that are searched cannot be served."""
    found = {
        trigger: f"No federation.toml with it: {refuse('trigger', trigger, SERVED_ONES)}"
        for trigger in case.space.own_triggers
    }
    for setting in case.space.first(case.usual):
        if setting.mechanism not in BUILT_IN and setting.candidate not in found:
            found[setting.candidate] = ""
            try:
                table = setting.table({}, 0)["mechanism"]
                made = MECHANISMS.pinned(table, "mechanism", case.folder)
                if isinstance(made, Pinned):
                    made.check()
            except InputError as error:
                found[setting.candidate] = " ".join(f"No federation.toml with it: {error}".split())
    return [text for text in found.values() if text]


def _share(search: Mapping[str, Any], world: World) -> float | None:
    if world.length is None or isinstance(world, FittedWorld):
        why = "only recorded steps have a first part"
        if isinstance(world, FittedWorld):
            why = "a model is fitted to the whole log, and other seeds judge than choose"
        if "first" in search:
            raise refuse("search.first", search["first"], f"left out: {why}")
        return None
    first = search.get("first", SHARE)
    return float(Number(0.0, 1.0, above=True, below=True).of("search.first", first))


def _parts(table: Mapping[str, Any], share: float) -> list[list[float]]:
    """The part of a log to choose on, and the one to judge by."""
    low, high = table.get("part", [0.0, 1.0])
    middle = low + share * (high - low)
    return [[low, middle], [middle, high]]


def _steps(
    value: object, world: World, table: Mapping[str, Any], share: float, folder: Path
) -> int:
    """T of a log: the length of the shorter of its two parts, so that both are run as long."""
    assert world.length is not None  # a log
    parts, uncut = _parts(table, share), {k: v for k, v in table.items() if k not in CUT}
    # A part of a part may be dealt in another way.
    whole: World = world if uncut == table else build_world(uncut, folder).value
    try:
        lengths = [whole.part(*ends).length for ends in parts]
    except InputError:
        raise refuse(
            "world",
            counted(world.length, "step"),
            f"long enough to be cut at {parts[0][1]:g}: settings are chosen on one part, and "
            "judged on the other",
        ) from None
    most = min(length for length in lengths if length is not None)
    if value is None:
        return most
    steps = check_steps(value, world)
    if steps > most:
        raise refuse("run.steps", steps, f"at most {most}, the length of a part of the log")
    return steps
