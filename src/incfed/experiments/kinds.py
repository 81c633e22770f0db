"""From a table with a `kind` to the object it describes: its keys are the constructor's arguments.

Kinds are the public classes of a room, so that a new one needs no entry here.
"""

from __future__ import annotations

import inspect
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import algorithms, environments, mechanisms
from ..environments.trace import Trace
from ..support.files import digest
from ..support.inputs import InputError, refuse
from . import places
from .plugins import explain, find_class

PATHS = ("file", "folder")  # arguments that are paths, relative to the config
CUT = ("part", "turn")  # keys that every table of a recorded world may have
MORE_PATHS = {"ReplayLog": ("items",)}


@dataclass(frozen=True)
class Kinds:
    """What can be built in one place of a config."""

    base: type
    makers: Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Built:
    """An object, and the user's own files it came from (by SHA-256)."""

    value: Any
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Maker:
    """A kind found: how to call it, and what it takes."""

    kind: str
    make: Callable[..., Any]
    sources: Mapping[str, str]

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        return dict(_signature(self.make).parameters)

    @property
    def keys(self) -> list[str]:
        return [name for name, one in self.parameters.items() if one.kind not in _STARS]

    @property
    def open(self) -> bool:
        """Does it take any key at all?"""
        return any(one.kind is one.VAR_KEYWORD for one in self.parameters.values())

    def check(self, table: Mapping[str, Any], place: str, extra: tuple[str, ...] = ()) -> None:
        """Every key known, none missing; `extra` are keys that are not the constructor's."""
        parameters = self.parameters
        if not self.open:
            places.known(place, table, [*extra, "kind", *self.keys])
        for name in self.keys:
            if parameters[name].default is inspect.Parameter.empty and name not in table:
                raise places.missing(f"{place}.{name}", f"given: {self.kind} needs it")

    def __call__(self, table: Mapping[str, Any], place: str, folder: Path) -> Built:
        """Build it. Whatever a constructor does not like is said of its place in the config."""
        self.check(table, place)
        sources = dict(self.sources)
        arguments = {key: value for key, value in table.items() if key != "kind"}
        for key in (*PATHS, *MORE_PATHS.get(self.kind, ())):
            if key in self.keys and isinstance(arguments.get(key), str):
                arguments[key] = folder / arguments[key]
        with places.at(place, arguments):
            try:
                with warnings.catch_warnings():  # said once, as the world's notes, not by everybody
                    warnings.simplefilter("ignore", environments.BadRows)
                    value = self.make(**arguments)
            except InputError:
                raise
            except (Exception, SystemExit) as error:
                said = explain(error, list(sources))
                raise InputError(f"{self.kind} could not be made: {said}") from None
            for argument in arguments.values():
                if isinstance(argument, Path) and argument.is_file():
                    sources[str(argument)] = digest(argument)
        return Built(value, sources)


def find(kinds: Kinds, table: Mapping[str, Any], place: str, folder: Path) -> Maker:
    """The maker of `table`'s kind."""
    allowed = f"one of {', '.join(kinds.makers)}, or 'my_file.py:MyClass'"
    kind = table.get("kind")
    if kind is None:
        raise places.missing(f"{place}.kind", allowed)
    if isinstance(kind, str) and kind in kinds.makers:
        return Maker(kind, kinds.makers[kind], {})
    if not isinstance(kind, str) or ":" not in kind:
        close = places.hint(kind, kinds.makers) if isinstance(kind, str) else ""
        raise InputError(f"{place}.kind: got {kind!r}{close}, must be {allowed}")
    with places.at(f"{place}.kind"):
        made, file = find_class(kind, kinds.base, folder)
    return Maker(kind, made, {} if file is None else {str(file): digest(file)})


def build(kinds: Kinds, table: Mapping[str, Any], place: str, folder: Path) -> Built:
    """The object that `table` describes; of a recorded world perhaps a part, see `World.part`."""
    cut = {key: table[key] for key in CUT if key in table} if kinds is WORLDS else {}
    rest = {key: value for key, value in table.items() if key not in cut}
    built = find(kinds, rest, place, folder)(rest, place, folder)
    if not cut:
        return built
    with places.at(place, CUT):
        shares = cut.get("part", [0.0, 1.0])
        if not isinstance(shares, list) or len(shares) != 2:
            raise refuse("part", shares, "two shares of the steps, such as [0.5, 1.0]")
        return Built(built.value.part(*shares, turn=cut.get("turn", False)), built.sources)


@cache
def _signature(make: Callable[..., Any]) -> inspect.Signature:
    """Kept: a search builds thousands of tables of a few kinds."""
    return inspect.signature(make)


def _public(room: ModuleType, base: type) -> dict[str, Callable[..., Any]]:
    classes = {name: getattr(room, name) for name in room.__all__}
    return {
        name: one
        for name, one in classes.items()
        if isinstance(one, type) and issubclass(one, base) and one is not base
    }


def _trace(file: Path) -> Trace:
    """A Trace from its .npz file: no config can hold the arrays."""
    if not isinstance(file, Path):
        raise InputError(f"file: got {file!r}, must be the path of an .npz file")
    if file.is_file() and not zipfile.is_zipfile(file):
        raise InputError(f"file: got '{file}', must be a readable .npz file")
    try:
        return Trace.load(file)
    except InputError as error:
        said = str(error)
        what = said.removeprefix("path: ") if said.startswith("path: ") else f"{file}: {said}"
        raise InputError(f"file: {what}") from None


_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

WORLDS = Kinds(environments.World, _public(environments, environments.World) | {"Trace": _trace})
MECHANISMS = Kinds(mechanisms.Mechanism, _public(mechanisms, mechanisms.Mechanism))
ALGORITHMS = Kinds(algorithms.Algorithm, _public(algorithms, algorithms.Algorithm))
