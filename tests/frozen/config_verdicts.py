"""Verdicts on configs: good ones of each kind that together use every key, and mutants of them."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from random import Random
from typing import Any

from frozen.base_configs import CONFIGS
from frozen.verdicts import CONFIG, edges, flat, folder, stored, verdict, words
from incfed.environments.base import World
from incfed.experiments.engine import Session
from incfed.experiments.mechanism_comparison import compare_mechanisms
from incfed.experiments.runs import Experiment, read
from incfed.experiments.sweeps import read_sweep
from incfed.planning.case import read_case
from incfed.service.coordinator.config import read_config

Mutant = tuple[str, list[Any], str]  # an operation, the keys down to a place, and a TOML value


def _run(file: Path) -> Mapping[str, Any]:
    return _experiment(read(file))


def _compare(file: Path) -> Mapping[str, Any]:
    return _experiment(compare_mechanisms(file.parent / "compared", config=file))


def _sweep(file: Path) -> Mapping[str, Any]:
    found = read_sweep(file)
    Session(source=found.name).check(found.cells)
    cells = [{"steps": cell.steps, "seed": cell.seed, **cell.point} for cell in found.cells]
    return {str(n): cell for n, cell in enumerate(cells)}


def _plan(file: Path) -> Mapping[str, Any]:
    case = read_case(file)
    said = {"steps": case.steps, "share": case.share}
    return {**said, "world": _world(case.world), "costs": case.costs.of(0), "space": case.space}


def _serve(file: Path) -> Mapping[str, Any]:
    config = read_config(file)
    config.settings.check()
    federation = {name: getattr(config.settings, name) for name in config.settings.body()}
    return {"federation": federation, "server": config.server}


def _experiment(found: Experiment) -> Mapping[str, Any]:
    algorithms = dict(enumerate(found.algorithms.values(), 1))
    said = {"steps": found.steps, "seeds": found.seeds, "cells": len(found.cells)}
    return {**said, "world": _world(found.world), "algorithm": algorithms}


def _world(world: World) -> Mapping[str, Any]:
    size = {"clients": world.count, "dim": world.dim, "arms": world.arms_per_step}
    return {**size, "length": world.length, "own": world}


# Each reads a config as its command does, checks all of it, and runs nothing.
READERS: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {
    "run": _run,
    "sweep": _sweep,
    "plan": _plan,
    "serve": _serve,
    "compare": _compare,
}


def config_verdicts(name: str) -> dict[str, Any]:
    """Of a config as it is, and of its mutants; of an accepted one what it changes."""
    whole = verdict(lambda: _settings(name, CONFIGS[name]))
    usual = whole.get("accepted", {})

    def judge(mutant: Mutant) -> Any:
        text = mutated(CONFIGS[name], *mutant)
        return verdict(lambda: changed(_settings(name, text)))

    def changed(found: Mapping[str, Any]) -> Mapping[str, Any]:
        return {key: value for key, value in found.items() if usual.get(key) != value}

    mutants = [json.loads(key) for key in stored(name) if key != AS_IT_IS]
    made = {json.dumps(mutant): judge(mutant) for mutant in mutants or mutants_of(name, judge)}
    return {AS_IT_IS: whole, **made}


AS_IT_IS = "as it is"


def _settings(name: str, text: str) -> dict[str, Any]:
    """What the command makes of a config."""
    file = folder() / CONFIG
    file.write_text(text, "utf-8")
    return dict(flat(READERS[name.partition(" ")[0]](file)))


def mutated(text: str, operation: str, path: list[Any], value: str) -> str:
    """The config with a change."""
    if operation == "write":
        return value + text
    tables = tomllib.loads(text)
    *above, last = path
    table: Any = reduce(getitem, above, tables)
    if operation == "set":
        table[last] = _parsed(value)
    elif operation == "drop":
        del table[last]
    elif operation == "double":
        table.insert(last, copy.deepcopy(table[last]))
    elif operation == "rename":
        items = [(value if key == last else key, inner) for key, inner in table.items()]
        table.clear()
        table.update(items)
    return "".join(f"{json.dumps(key)} = {_toml(inner)}\n" for key, inner in tables.items())


def _parsed(value: str) -> Any:
    return tomllib.loads(f"x = {value}")["x"]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {_toml(value[key])}' for key in value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value) if isinstance(value, str | bool) else str(value)


# How mutants were made.
VALUES = words("""
    true  false  0  1  -1  2  3  7  0.0  0.5  1.0  1.5  -0.5  1e-13  1e13  1e101  nan  inf  -inf
    10000000000000  ""  " "  "abc"  "none"  "auto"  "1"  []  [1]  [0.5, 1.0]  [1, 2, 3]
    [1.0, -1.0, 2.0]  [0, 1, nan]  [true, false, true]  ["abc"]  [[1]]  {}  { x = 1 }
    { kind = "PayEveryone" }  [{ kind = "Refusing" }]  1979-05-27  1979-05-27T07:32:00Z
""")
HUGE = "1" + 400 * "0"
KINDS = words("""
    "Synthetic"  "Trace"  "Independent"  "IncFedUCB"  "DisLinUCB"  "PaymentFree"  "Truthful"
    "Patient"  "Threshold"  "Shading"  "DrawnCosts"  "uniform"  "Nobody"  "paymentefficient"
    "mine.py:Mine"  "mine.py:Yours"  "missing.py:Mine"  "broken.py:Mine"  "json:JSONDecoder"
    "no.such:Mine"  ":Mine"  "mine.py:"  "World"  "Mechanism"  1  []
""")
SECTIONS = words("""
    run  world  algorithm  sweep  costs  search  federation  server  extra  Run  algorithms  limits
""")
TEXTS = ("run = 1\n", "x = \n", "[[world]]\n", "\ufeff", "federation = 1\n", "[a]\n[a]\n", "\x00")
MOST = 90  # mutants of a config; of [federation] and [server], which no class shows, all


def mutants_of(name: str, judge: Callable[[Mutant], Any]) -> list[Mutant]:
    """Mutants of a config, well spread over its places."""
    chance = Random(name)
    tables = tomllib.loads(CONFIGS[name])
    places = list(_places(tables))
    found: list[Mutant] = [("write", [], text) for text in chance.sample(TEXTS, 2)]
    for section in chance.sample(SECTIONS, 4):
        if section not in tables:
            found.append(("set", [section], chance.choice(("{}", "{ x = 1 }", "1", "[]"))))
    every = [mutant for place, value in places for mutant in _of_place(place, value, chance)]
    if not name.startswith("serve whole"):
        return found + chance.sample(every, min(MOST, len(every)))
    for place in [place for place, value in places if not isinstance(value, dict)]:
        every += [("set", place, text) for text in (*VALUES, HUGE, *_limits(place, judge))]
    return found + every


def _limits(place: list[Any], judge: Callable[[Mutant], Any]) -> list[str]:
    """The numbers at the limits of a setting."""
    return edges(lambda text: judge(("set", place, text)))


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[list[Any], Any]]:
    """Every key of a config, and every entry of a list of tables, with what stands there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield [*above, key], inner
        tables = isinstance(inner, list) and any(isinstance(entry, dict) for entry in inner)
        if isinstance(inner, dict) or tables:
            yield from _places(inner, (*above, key))


def _of_place(place: list[Any], value: Any, chance: Random) -> Iterator[Mutant]:
    yield "drop", place, ""
    if isinstance(place[-1], int):
        yield "double", place, ""
    else:
        key = str(place[-1])
        for other in chance.sample(
            (key[:-1], f"{key}s", key.upper(), key.title(), "x", "no-key"), 2
        ):
            yield "rename", place, other or "y"
    yield "set", place, _toml({"inner": value})
    yield "set", place, _toml([value])
    for text in (
        chance.sample(KINDS, 8) if place[-1] == "kind" else chance.sample((*VALUES, HUGE), 6)
    ):
        yield "set", place, text
    if isinstance(value, dict):
        yield "set", [*place, "extra"], chance.choice(VALUES)
        if "kind" in value:
            yield "set", place, _toml(value["kind"])
    elif isinstance(value, bool | str):
        yield "set", place, _toml(str(value))
    elif isinstance(value, int | float):
        yield "set", place, _toml(-value)
        yield "set", place, _toml(float(value))
        yield "set", place, _toml(value * 1e6)
        yield "set", place, _toml(value / 2)
        yield "set", place, _toml(value + 1)
        yield "set", place, _toml(str(value))
    elif isinstance(value, list):
        yield "set", place, _toml(value[:-1])
        yield "set", place, _toml([*value, *value[-1:]])


CASES = {name: partial(config_verdicts, name) for name in CONFIGS}
