"""The [sweep] table of a config: parameters by their paths, each with a list of values.

[sweep]                                  # every combination
"world.noise" = [0.1, 0.3]
"algorithm.costs" = [1, 10, 100]         # of every [[algorithm]] that takes it
"algorithm[paid].mechanism.beta" = [1.0, 0.7]   # of the one with this label (or number) only
"run.steps" = [1000, 5000]

An algorithm that does not take a parameter is left as it is, and not run once for each value.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..support import places
from ..support.inputs import InputError, counted, refuse
from . import kinds
from .cells import Cell
from .config import Outline
from .kinds import Kinds, Maker

MOST_CELLS = 1_000_000  # more is a slip of the pen
OWN_COLUMNS = (
    "algorithm", "seed", "step", "steps", "matched", "clients", "regret", "reward",
    "communication", "packed", "payment", "rounds", "participation", "paid",
)  # fmt: skip
INSIDE = {"mechanism": kinds.MECHANISMS}  # tables in tables that have a kind of their own


@dataclass(frozen=True)
class Axis:
    """One swept parameter."""

    path: str  # as written
    room: str  # "run", "world" or "algorithm"
    only: str | None  # the label of the one algorithm it is about
    keys: tuple[str, ...]  # the way down from the table
    values: tuple[Any, ...]
    column: str = ""  # its name in tables


def axes(table: object, labels: Sequence[str]) -> list[Axis]:
    """The axes of a [sweep] table, for algorithms with these labels."""
    example = '[sweep] with "world.noise" = [0.1, 0.3]'
    if table is None:
        raise places.missing("sweep", f"given, such as {example}")
    given = dict(_flat(places.table("sweep", table, example)))
    if not given:
        raise refuse("sweep", {}, f"at least one parameter, such as {example}")
    found = [_axis(path, values, labels) for path, values in given.items()]
    seen: dict[tuple[str, str | None, tuple[str, ...]], str] = {}
    for axis in found:
        for only in (axis.only, None) if axis.only else (None, *labels):
            other = seen.get((axis.room, only, axis.keys))
            if other is not None:
                raise InputError(f"sweep.{axis.path}: is the same as sweep.{other}: give one")
        seen[axis.room, axis.only, axis.keys] = axis.path
    names = _columns(found)
    return [Axis(a.path, a.room, a.only, a.keys, a.values, names[a.path]) for a in found]


def cells(axes: Sequence[Axis], outline: Outline, folder: Path) -> list[Cell]:
    """Every combination for every algorithm with every seed, those that come to the same left out.

    Parts of a table are set after the table they are in: a sweep over mechanisms and over beta
    sets beta in those mechanisms that have one.
    """
    size = math.prod(len(axis.values) for axis in axes) * len(outline.algorithms)
    if size > MOST_CELLS:
        raise InputError(f"sweep: has {size:,} combinations, must have at most {MOST_CELLS:,}")
    schemas = _schemas(outline, folder)
    inward = sorted(axes, key=lambda axis: (len(axis.keys), axis.keys[-1] != "kind"))
    used: set[str] = set()
    found: dict[str, Cell] = {}
    for label, algorithm in outline.algorithms.items():
        for chosen in itertools.product(*(axis.values for axis in axes)):
            values = dict(zip((axis.path for axis in axes), chosen, strict=True))
            tables = {
                "run": {"steps": outline.steps},
                "world": dict(outline.world),
                "algorithm": dict(algorithm),
            }
            given: dict[str, Any] = {}
            for axis in inward:
                table, schema = tables[axis.room], schemas[axis.room, label]
                if axis.only in (None, label) and schema.takes(table, axis.keys):
                    put(table, axis.keys, values[axis.path])
                    given[axis.path] = values[axis.path]
            used.update(given)
            columns = {"algorithm": label} | {a.column: given.get(a.path) for a in axes}
            found[repr((label, given))] = Cell(
                world=tables["world"],
                algorithm={**tables["algorithm"], "label": label},
                seed=outline.seeds[0],
                steps=tables["run"]["steps"],
                folder=folder,
                point=columns,
            )
    for axis in axes:
        if axis.path not in used:
            raise _unknown(axis, outline, schemas)
    runs = len(found) * len(outline.seeds)
    if runs > MOST_CELLS:
        place = "sweep" if axes else "run"
        raise InputError(f"{place}: has {counted(runs, 'run')}, must have at most {MOST_CELLS:,}")
    return [replace(cell, seed=seed) for cell in found.values() for seed in outline.seeds]


def _schemas(outline: Outline, folder: Path) -> dict[tuple[str, str], Schema]:
    """Of the tables of each room, by room and label."""
    schemas = {}
    for n, label in enumerate(outline.algorithms, 1):
        schemas["run", label] = Schema("run", None, folder)
        schemas["world", label] = Schema("world", kinds.WORLDS, folder)
        schemas["algorithm", label] = Schema(f"algorithm[{n}]", kinds.ALGORITHMS, folder)
    return schemas


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values; `world.noise = [...]` without quotes is a table in a table."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _axis(path: str, values: object, labels: Sequence[str]) -> Axis:
    place = f"sweep.{path}"
    if not isinstance(values, list) or not values:
        raise refuse(place, values, "a list of at least one value, such as [0.1, 0.3]")
    for n, value in enumerate(values):
        if any(_same(value, other) for other in values[:n]):
            raise refuse(place, values, f"a list that has {value!r} once")
    match = re.fullmatch(r"(run|world|algorithm)(?:\[(.+)\])?\.([\w-]+(?:\.[\w-]+)*)", path)
    if match is None or (match[2] and match[1] != "algorithm"):
        close = places.hint(path.partition(".")[0], ("run", "world", "algorithm"))
        raise InputError(
            f"{place}: there is no such parameter{close}; write it like 'world.noise', "
            "'algorithm.costs', 'algorithm[label].mechanism.beta' or 'run.steps'"
        )
    room, which, keys = match[1], match[2], tuple(match[3].split("."))
    if room == "run" and keys != ("steps",):
        why = "seeds are run anyway, see run.seeds" if keys == ("seeds",) else "not this one"
        raise InputError(f"{place}: of [run] only run.steps can be swept ({why})")
    if keys[-1] == "label":
        raise InputError(f"{place}: a label only names an algorithm and cannot be swept")
    only = None if which is None else _label(place, which, labels)
    return Axis(path, room, only, keys, tuple(values))


def _same(one: Any, two: Any) -> bool:
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _label(place: str, which: str, labels: Sequence[str]) -> str:
    """The label that `algorithm[...]` means: itself, with or without quotes, or a number."""
    bare = which[1:-1] if len(which) > 1 and which[0] == which[-1] in "'\"" else which
    if bare in labels:
        return bare
    if which.isdecimal() and 1 <= int(which) <= len(labels):
        return labels[int(which) - 1]
    close = places.hint(bare, labels)
    raise InputError(
        f"{place}: there is no algorithm {bare!r}{close}; they are {places.listed(labels)}"
    )


def _columns(found: Sequence[Axis]) -> dict[str, str]:
    """The shortest end of each path that is not another's, and not a name we use ourselves."""
    names: dict[str, str] = {}
    for axis in found:
        parts = [axis.room if axis.only is None else axis.only, *axis.keys]
        ends = [".".join(parts[n:]) for n in range(len(parts) - 1, -1, -1)]
        for end in ends:
            others = [o for o in found if o is not axis and _ends(o, end)]
            ours = {"run.steps": "steps", "world.clients": "clients"}.get(axis.path) == end
            if not others and (ours or end not in OWN_COLUMNS):
                break
        else:  # an algorithm labelled "world" or "run"
            end = axis.path
        names[axis.path] = end
    return names


def _ends(axis: Axis, end: str) -> bool:
    full = ".".join([axis.room if axis.only is None else axis.only, *axis.keys])
    return full == end or full.endswith(f".{end}")


def _unknown(axis: Axis, outline: Outline, schemas: Mapping[tuple[str, str], Schema]) -> InputError:
    """Nothing takes this parameter."""
    tables = {
        label: outline.world if axis.room == "world" else table
        for label, table in outline.algorithms.items()
        if axis.only in (None, label)
    }
    paths = [path for one, t in tables.items() for path in schemas[axis.room, one].paths(t)]
    known = list(dict.fromkeys(paths))
    who = "the world" if axis.room == "world" else axis.only
    what = f"{who} does not take" if who else "no algorithm takes"
    name = ".".join(axis.keys)
    return InputError(
        f"sweep.{axis.path}: {what} {name!r}{places.hint(name, known)}; "
        f"allowed are {places.listed(known)}"
    )


@dataclass(frozen=True)
class Schema:
    """Which parameters a table at `place` of a config takes; `among` are the kinds it may be of."""

    place: str
    among: Kinds | None
    folder: Path

    def inside(self, key: str) -> Schema:
        return Schema(f"{self.place}.{key}", INSIDE.get(key), self.folder)

    def takes(self, table: Mapping[str, Any], keys: Sequence[str]) -> bool:
        """Does `table` have, or its kind take, the parameter at the path `keys`?"""
        head, *rest = keys
        if head not in table and not self._known(table, head):
            return False
        if not rest:
            return True
        inner = _inner(table.get(head), head)
        return inner is not None and self.inside(head).takes(inner, rest)

    def paths(self, table: Mapping[str, Any]) -> list[str]:
        """All that could be set, for a message."""
        found: list[str] = []
        keys = list(table) if self.among is None else ["kind", *self._maker(table).keys]
        for key in keys:
            found.append(key)
            inner = _inner(table.get(key), key)
            if inner is not None:
                found += [f"{key}.{path}" for path in self.inside(key).paths(inner)]
        return found

    def _known(self, table: Mapping[str, Any], key: str) -> bool:
        if self.among is None:
            return False
        maker = self._maker(table)
        return key in ("kind", *maker.keys) or maker.open

    def _maker(self, table: Mapping[str, Any]) -> Maker:
        assert self.among is not None
        return kinds.find(self.among, table, self.place, self.folder)


def put(table: dict[str, Any], keys: Sequence[str], value: Any) -> None:
    """Set it; tables on the way are copied, so that nobody else's change."""
    head, *rest = keys
    if not rest:
        table[head] = value
        return
    inner = _inner(table.get(head), head)
    assert inner is not None  # it is taken
    table[head] = dict(inner)
    put(table[head], rest, value)


def _inner(value: Any, key: str) -> Mapping[str, Any] | None:
    if isinstance(value, str) and key in INSIDE:
        return {"kind": value}  # short for a table
    return value if isinstance(value, Mapping) else None
