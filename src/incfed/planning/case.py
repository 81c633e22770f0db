"""The user's case: a world to choose settings in, what sharing costs the clients in it, and another
part of that world to judge settings by.

[run]
steps = 5000                    # may be left out for a log: half of it
[world]
kind = "Synthetic"              # or Trace, ReplayLog, MovieLens; keys as for `incfed run`
clients = 50
[costs]                         # or costs = 100, or a list with one for each client
kind = "lognormal"
median = 100
spread = 2
[algorithm]                     # what is not searched: noise, delta, exploration, reads, clocks
noise = 0.1
[search]                        # other ranges than the usual ones; a single value is kept
beta = [0.01, 1.0]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..environments.base import World
from ..experiments.cells import Cell
from ..experiments.config import CUT, Recipe, build_algorithm, build_world, check_steps, load
from ..mechanisms.registry import BUILT_IN, Pinned, load_mechanism
from ..support import places
from ..support.inputs import InputError, counted, number, refuse
from .space import ALL, FREE, RIDGE, Setting, Space, read_space, usual_threshold

FIXED = ("noise", "delta", "exploration", "reads", "clocks")
SHARE = 0.5  # of a log: settings are chosen on so much of it
SEARCH, JUDGE = "search", "judge"
MANY = 1000  # seeds of each of the two
COSTS = 0x636F7374  # sets these draws apart from all others of the same seed
MOST_COST = 1e15  # beyond, sums of payments lose their small ones
Draw = Callable[[np.random.Generator, int, Mapping[str, float]], Any]

# By kind: its parameters with what each must be above (or at), and how to draw.
DRAWS: dict[str, tuple[tuple[str, ...], Draw]] = {
    "uniform": (("low", "high"), lambda chance, n, p: chance.uniform(p["low"], p["high"], n)),
    "exponential": (("mean",), lambda chance, n, p: chance.exponential(p["mean"], n)),
    # two clients of three are within a factor of `spread` of the median
    "lognormal": (
        ("median", "spread"),
        lambda chance, n, p: p["median"] * np.exp(np.log(p["spread"]) * chance.standard_normal(n)),
    ),
}
COSTS_ALLOWED = (
    "a number, a list with one for each client, or a table such as "
    '{ kind = "lognormal", median = 100, spread = 2 } (or uniform, exponential)'
)


@dataclass(frozen=True)
class Costs:
    """D^p of every client: `known` (a number, or one each), or drawn by `kind`."""

    count: int
    known: float | tuple[float, ...] = 0.0
    kind: str | None = None
    parameters: Mapping[str, float] | None = None

    @property
    def drawn(self) -> bool:
        return self.kind is not None

    def of(self, seed: int, factor: float = 1.0) -> float | list[float]:
        """The costs in the run of a seed, all times `factor`."""
        if self.kind is not None:
            assert self.parameters is not None
            chance = np.random.default_rng(np.random.SeedSequence([seed, COSTS]))
            drawn = DRAWS[self.kind][1](chance, self.count, self.parameters)
            return [float(factor * cost) for cost in drawn]
        if isinstance(self.known, tuple):
            return [factor * cost for cost in self.known]
        return factor * self.known

    def __str__(self) -> str:
        if self.kind is not None:
            words = ", ".join(f"{key} {value:g}" for key, value in (self.parameters or {}).items())
            return f"{self.kind} ({words}), drawn for each client and seed"
        if isinstance(self.known, tuple):
            return f"{min(self.known):g} to {max(self.known):g}, one for each client"
        return f"{self.known:g} for each client"

    def identity(self) -> list[Any]:
        known = list(self.known) if isinstance(self.known, tuple) else self.known
        return [known, self.kind, dict(self.parameters or {})]


@dataclass(frozen=True)
class Case:
    """The case, checked."""

    name: str
    folder: Path
    table: Mapping[str, Any]  # [world]
    world: World
    steps: int
    costs: Costs
    fixed: Mapping[str, Any]
    space: Space
    share: float | None  # of a log, to choose on; None: a world without an end
    sources: Sequence[str] = ()  # of the user's own files, by SHA-256
    notes: Sequence[str] = ()

    @property
    def usual(self) -> float:
        return usual_threshold(self.steps, self.world.count, self.world.dim)

    @property
    def regret_known(self) -> bool:
        first = self.world.open(np.random.SeedSequence(0)).take(1)
        return not bool(np.isnan(first.expected).all())

    @property
    def ridge(self) -> float:
        return self.space.ridge.clip(RIDGE)

    @property
    def everyone(self) -> Setting:
        """What limits given as a share refer to, searched or not: everyone paid, at the paper's
        D_c."""
        return Setting(ALL, None, float(f"{self.usual:.3g}"), self.ridge)

    @property
    def nobody(self) -> Setting:
        return replace(self.everyone, mechanism=FREE)

    def scene(self, use: str) -> dict[str, Any]:
        """The [world] to choose in, or the one to judge by."""
        if self.share is None:
            return dict(self.table)
        part = _parts(self.table, self.share)[0 if use == SEARCH else 1]
        turn = {"turn": True} if self.table.get("turn") or not self.world.chance else {}
        return {**self.table, "part": part, **turn}

    def cell(
        self, algorithm: Mapping[str, Any], seed: int, use: str, point: Mapping[str, Any]
    ) -> Cell:
        return Cell(
            world=self.scene(use),
            algorithm=algorithm,
            seed=seed,
            steps=self.steps,
            folder=self.folder,
            point=point,
        )

    def cells(
        self, setting: Setting, seeds: Sequence[int], use: str, factor: float = 1.0
    ) -> list[Cell]:
        """Runs of a setting; the costs are those of each seed, times `factor`."""
        return [
            self.cell(
                setting.table(self.fixed, self.costs.of(seed, factor)),
                seed,
                use,
                {"setting": str(setting), "costs": f"x{factor:g}", "use": use},
            )
            for seed in seeds
        ]

    def alone(self, seeds: Sequence[int]) -> list[Cell]:
        """Runs in which nobody shares."""
        rules = {key: value for key, value in self.fixed.items() if key != "clocks"}
        table = {"kind": "Independent", "ridge": self.ridge, **rules}
        return [self.cell(table, seed, JUDGE, {"setting": "alone"}) for seed in seeds]

    def identity(self) -> list[Any]:
        """What the answer depends on, beside the question."""
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


def read_case(source: str | Path | Mapping[str, Any]) -> Case:
    """The case in a file, or in tables as of a file; an InputError names the place at fault."""
    if isinstance(source, Mapping):
        return build_case(Recipe(source, name="your world"))
    if not isinstance(source, str | Path):
        raise refuse("world", source, "the path of a TOML file, or tables as in one")
    if not Path(source).exists():
        raise InputError(
            f"config file not found: {source}. Write one with: incfed init --plan {source}"
        )
    return build_case(load(source))


def build_case(recipe: Recipe) -> Case:
    tables = recipe.tables
    with places.at(recipe.name):
        places.known("", tables, ["run", "world", "costs", "algorithm", "search"])
        run = places.table("run", tables.get("run", {}), "[run]")
        places.known("run", run, ["steps"])
        example = '[world] with kind = "Synthetic"'
        if "world" not in tables:
            raise places.missing("world", f"given, such as {example}")
        table = places.table("world", tables["world"], example)
        if "costs" not in tables:
            raise places.missing("costs", f"given, what sharing costs a client: {COSTS_ALLOWED}")
        if isinstance(tables.get("algorithm"), list):
            raise InputError("algorithm: is a list, must be one table: write [algorithm]")
        fixed = places.table("algorithm", tables.get("algorithm", {}), "[algorithm]")
        places.known("algorithm", fixed, [*FIXED, "ridge"])
        search = places.table("search", tables.get("search", {}), "[search]")
        built = build_world(table, recipe.folder)
        world: World = built.value
        share = _share(search, world)
        if share is None:
            steps = check_steps(run.get("steps"), world)
        else:
            uncut = {key: value for key, value in table.items() if key not in CUT}
            whole = world
            if uncut != table:  # a part of a part may be dealt in another way
                whole = build_world(uncut, recipe.folder).value
            steps = _steps(run.get("steps"), world, whole, _parts(table, share))
        usual = usual_threshold(steps, world.count, world.dim)
        case = Case(
            name=recipe.name,
            folder=recipe.folder,
            table=table,
            world=world,
            steps=steps,
            costs=read_costs(tables["costs"], world.count),
            fixed={key: value for key, value in fixed.items() if key != "ridge"},
            space=read_space(search, fixed.get("ridge"), usual, recipe.folder),
            share=share,
            notes=tuple(world.notes),
        )
        sources = dict(built.sources)
        for setting in (case.nobody, *case.space.first(usual)):  # every mechanism once
            table = setting.table(case.fixed, case.costs.of(0))
            made = build_algorithm(table, "algorithm", world, steps, recipe.folder)
            sources.update(made.sources)
    notes = (*case.notes, *_not_served(case))
    return replace(case, sources=tuple(sorted(sources.values())), notes=notes)


def _not_served(case: Case) -> list[str]:
    """Why mechanisms of the user's own that are searched cannot be served."""
    found = {}
    for one in case.space.first(case.usual):
        if one.mechanism not in BUILT_IN and one.mechanism not in found:
            table = one.table({}, 0)["mechanism"]
            try:
                made = load_mechanism(table, "mechanism", case.folder)
                if isinstance(made, Pinned):
                    made.check()
                found[one.mechanism] = ""
            except InputError as error:
                found[one.mechanism] = " ".join(f"No federation.toml with it: {error}".split())
    return [text for text in found.values() if text]


def _share(search: Mapping[str, Any], world: World) -> float | None:
    if world.length is None:
        if "first" in search:
            raise refuse("search.first", search["first"], "left out: only a log has a first part")
        return None
    first = search.get("first", SHARE)
    return number("search.first", first, low=0.0, high=1.0, open_low=True, open_high=True)


def _parts(table: Mapping[str, Any], share: float) -> list[list[float]]:
    """Of a log: the part to choose on, and the one to judge by."""
    low, high = table.get("part", [0.0, 1.0])
    middle = low + share * (high - low)
    return [[low, middle], [middle, high]]


def _steps(value: object, world: World, whole: World, parts: Sequence[Sequence[float]]) -> int:
    """T of a log: as many as the shorter of its two parts has, so that both are as long."""
    assert world.length is not None  # a log
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


def read_costs(value: object, count: int) -> Costs:
    """The costs of `count` clients as a config says them, or an InputError."""
    if isinstance(value, Mapping):
        return _drawn(dict(value), count)
    if isinstance(value, list):
        if len(value) != count:
            raise refuse("costs", counted(len(value), "cost"), f"one number, or {count} (one each)")
        each = [number(f"costs[{n}]", x, low=0, high=MOST_COST) for n, x in enumerate(value, 1)]
        return Costs(count, tuple(each))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse("costs", value, COSTS_ALLOWED)
    return Costs(count, number("costs", value, low=0.0, high=MOST_COST))


def _drawn(table: dict[str, Any], count: int) -> Costs:
    kind = table.pop("kind", None)
    if kind is None:
        raise places.missing("costs.kind", f"one of {', '.join(DRAWS)}")
    if kind not in DRAWS:
        close = places.hint(kind, DRAWS) if isinstance(kind, str) else ""
        allowed = f"one of {', '.join(DRAWS)}"
        raise InputError(f"costs.kind: got {kind!r}{close}, must be {allowed}")
    names = DRAWS[kind][0]
    places.known("costs", table, names)
    for name in names:
        if name not in table:
            raise places.missing(f"costs.{name}", f"given: {kind} needs it")
    least = {"spread": 1.0}
    values = {
        name: number(f"costs.{name}", table[name], low=least.get(name, 0.0), high=MOST_COST)
        for name in names
    }
    if kind == "uniform" and values["low"] > values["high"]:
        raise refuse("costs.low", values["low"], f"at most costs.high, {values['high']:g}")
    return Costs(count, kind=kind, parameters=values)
