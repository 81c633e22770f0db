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

from .. import errors
from ..algorithms.registry import ALGORITHMS
from ..errors import InputError, refuse
from ..mechanisms.registry import MECHANISMS
from ..protocol.policies import POLICIES
from ..protocol.triggers import TRIGGERS
from ..rules.plugins import Kinds
from ..support.inputs import counted
from .cells import Cell
from .config import WORLDS, Outline

MOST_CELLS = 1_000_000  # more is a typing error
OWN_COLUMNS = (
    "algorithm", "seed", "step", "steps", "matched", "clients", "regret", "reward",
    "communication", "packed", "payment", "rounds", "participation", "paid",
)  # fmt: skip
KINDS = {"world": WORLDS, "algorithm": ALGORITHMS}
# Tables with a kind, in tables.
INSIDE = {"mechanism": MECHANISMS, "trigger": TRIGGERS, "policy": POLICIES}
ANY = "*"  # among the parameters of a class that takes any keyword


@dataclass(frozen=True)
class SweepAxis:
    """One swept parameter."""

    path: str  # as written
    section: str  # "run", "world" or "algorithm"
    only: str | None  # the label of the one algorithm it is about
    keys: tuple[str, ...]  # the way down from the table
    values: tuple[Any, ...]
    column: str = ""  # its name in tables

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.section if self.only is None else self.only, *self.keys)

    def fits(self, parameters: Sequence[str]) -> bool:
        """Is it one of these parameters of a table?"""
        *above, key = self.keys
        return any(".".join([*above, name]) in parameters for name in (key, ANY))


def axes(table: object, labels: Sequence[str]) -> list[SweepAxis]:
    """The axes of a [sweep] table, for algorithms with these labels."""
    example = '[sweep] with "world.noise" = [0.1, 0.3]'
    if table is None:
        raise errors.missing("sweep", f"given, such as {example}; without it: incfed run")
    given = dict(_flat(errors.table("sweep", table, example)))
    if not given:
        raise refuse("sweep", {}, f"at least one parameter, such as {example}")
    found = [_axis(path, values, labels) for path, values in given.items()]
    for axis, other in itertools.combinations(found, 2):
        same = (axis.section, axis.keys) == (other.section, other.keys)
        if same and (axis.only == other.only or None in (axis.only, other.only)):
            raise InputError(f"sweep.{other.path}: is the same as sweep.{axis.path}; give only one")
    return [replace(axis, column=_column(axis, found)) for axis in found]


def cells(axes: Sequence[SweepAxis], outline: Outline, folder: Path) -> list[Cell]:
    """Every combination for every algorithm with every seed, without duplicates.

    Parts of a table are set after the table they are in: a sweep over mechanisms and over beta
    sets beta in those mechanisms that have one.
    """
    size = math.prod(len(axis.values) for axis in axes) * len(outline.algorithms)
    if size > MOST_CELLS:
        raise InputError(f"sweep: has {size:,} combinations, must have at most {MOST_CELLS:,}")
    inward = sorted(axes, key=lambda axis: (len(axis.keys), axis.keys[-1] != "kind"))
    used: set[str] = set()
    found: dict[str, Cell] = {}
    for n, (label, algorithm) in enumerate(outline.algorithms.items(), 1):
        for chosen in itertools.product(*(axis.values for axis in axes)):
            values = dict(zip((axis.path for axis in axes), chosen, strict=True))
            tables = {
                "run": {"steps": outline.steps},
                "world": dict(outline.world),
                "algorithm": dict(algorithm),
            }
            given: dict[str, Any] = {}
            for axis in inward:
                table = tables[axis.section]
                if axis.only not in (None, label):
                    continue
                if axis.fits(_parameters(table, axis.section, n, folder)):
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
            raise _unknown(axis, outline, folder)
    runs = len(found) * len(outline.seeds)
    if runs > MOST_CELLS:
        place = "sweep" if axes else "run"
        raise InputError(f"{place}: has {counted(runs, 'run')}, must have at most {MOST_CELLS:,}")
    return [replace(cell, seed=seed) for cell in found.values() for seed in outline.seeds]


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Paths and values; `world.noise = [...]` without quotes is a table in a table."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield above + key, value


def _axis(path: str, values: object, labels: Sequence[str]) -> SweepAxis:
    place = f"sweep.{path}"
    if not isinstance(values, list) or not values:
        raise refuse(place, values, "a list of at least one value, such as [0.1, 0.3]")
    for n, value in enumerate(values):
        if any(_same(value, other) for other in values[:n]):
            raise refuse(place, values, f"a list that has {value!r} once")
    match = re.fullmatch(r"(run|world|algorithm)(?:\[(.+)\])?\.([\w-]+(?:\.[\w-]+)*)", path)
    if match is None or (match[2] and match[1] != "algorithm"):
        close = errors.hint(path.partition(".")[0], ("run", "world", "algorithm"))
        raise InputError(
            f"{place}: there is no such parameter{close}; write it like 'world.noise', "
            "'algorithm.costs', 'algorithm[label].mechanism.beta' or 'run.steps'"
        )
    section, which, keys = match[1], match[2], tuple(match[3].split("."))
    if section == "run" and keys != ("steps",):
        why = "seeds are run anyway, see run.seeds" if keys == ("seeds",) else "not this one"
        raise InputError(f"{place}: of [run] only run.steps can be swept ({why})")
    if keys[-1] == "label":
        raise InputError(f"{place}: a label only names an algorithm and cannot be swept")
    only = None if which is None else _label(place, which, labels)
    return SweepAxis(path, section, only, keys, tuple(values))


def _same(one: Any, two: Any) -> bool:
    return bool(one == two) and isinstance(one, bool) == isinstance(two, bool)


def _label(place: str, which: str, labels: Sequence[str]) -> str:
    """The label that `algorithm[...]` means: itself, with or without quotes, or a number."""
    bare = which[1:-1] if len(which) > 1 and which[0] == which[-1] in "'\"" else which
    if bare in labels:
        return bare
    if which.isdecimal() and 1 <= int(which) <= len(labels):
        return labels[int(which) - 1]
    close = errors.hint(bare, labels)
    raise InputError(
        f"{place}: there is no algorithm {bare!r}{close}; they are {errors.listed(labels)}"
    )


def _column(axis: SweepAxis, among: Sequence[SweepAxis]) -> str:
    """The shortest end of a path that is no other's end, and not a name of our own columns."""
    names = [".".join(other.parts) for other in among if other is not axis]
    for n in reversed(range(len(axis.parts))):
        end = ".".join(axis.parts[n:])
        ours = {"run.steps": "steps", "world.clients": "clients"}.get(axis.path) == end
        unique = not any(f".{name}".endswith(f".{end}") for name in names)
        if unique and (ours or end not in OWN_COLUMNS):
            return end
    return axis.path  # an algorithm labelled "world" or "run"


def _unknown(axis: SweepAxis, outline: Outline, folder: Path) -> InputError:
    """Nothing takes this parameter."""
    known: dict[str, None] = {}
    for n, (label, table) in enumerate(outline.algorithms.items(), 1):
        if axis.only in (None, label):
            given = outline.world if axis.section == "world" else table
            known |= dict.fromkeys(_parameters(given, axis.section, n, folder))
    known.pop("label", None)
    who = "the world" if axis.section == "world" else axis.only
    what = f"{who} does not take" if who else "no algorithm takes"
    name = ".".join(axis.keys)
    return InputError(
        f"sweep.{axis.path}: {what} {name!r}{errors.hint(name, known)}; "
        f"allowed are {errors.listed(known)}"
    )


def _parameters(table: Mapping[str, Any], section: str, n: int, folder: Path) -> list[str]:
    """The parameters of a table, and by their paths those of the tables in it."""
    place = f"algorithm[{n}]" if section == "algorithm" else section
    return list(_paths(table, KINDS.get(section), place, folder))


def _paths(
    table: Mapping[str, Any], among: Kinds | None, place: str, folder: Path
) -> Iterator[str]:
    keys = list(table)
    if among is not None:
        maker = among.find(table, place, folder)
        keys = ["kind", *maker.keys, *keys]
        if maker.open:
            yield ANY
    for key in dict.fromkeys(keys):
        yield key
        inner = _inner(table.get(key), key)
        if inner is not None:
            paths = _paths(inner, INSIDE.get(key), f"{place}.{key}", folder)
            yield from (f"{key}.{path}" for path in paths)


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
