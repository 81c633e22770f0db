"""From a table with a `kind` to the object that it describes.

The kind is the name of a built-in class, or one of the user's own ("my_file.py:MyClass" or
"package.module:MyClass"). The other keys are the constructor's arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from . import places
from .files import digest
from .inputs import InputError
from .plugins import explain, find_class

PATHS = ("file", "folder")  # arguments that are paths, relative to the config
_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Kinds:
    """What can be built in one place of a config: classes derived from `base`."""

    base: type
    makers: Mapping[str, Callable[..., Any]]  # the built-in ones, by name
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)  # more PATHS, by kind

    def path_keys(self, kind: object) -> tuple[str, ...]:
        """The arguments of a kind that are paths."""
        return *PATHS, *self.paths.get(str(kind), ())


@dataclass(frozen=True)
class Built:
    """An object, and the SHA-256 of each of the user's own files that it came from."""

    value: Any
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Maker:
    """The constructor of a kind, and what it takes."""

    kind: str
    make: Callable[..., Any]
    sources: Mapping[str, str]
    paths: tuple[str, ...] = PATHS

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
        """Build it. An error of the constructor names the place in the config."""
        self.check(table, place)
        sources = dict(self.sources)
        arguments = {key: value for key, value in table.items() if key != "kind"}
        for key in self.paths:
            if key in self.keys and isinstance(arguments.get(key), str):
                arguments[key] = folder / arguments[key]
        with places.at(place, {*arguments, *self.keys}):
            try:
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


def public(room: ModuleType, base: type) -> dict[str, Callable[..., Any]]:
    """The classes in a room's `__all__` that derive from `base`: a new one needs no entry here."""
    classes = {name: getattr(room, name) for name in room.__all__}
    return {
        name: one
        for name, one in classes.items()
        if isinstance(one, type) and issubclass(one, base) and one is not base
    }


def find(kinds: Kinds, table: Mapping[str, Any], place: str, folder: Path) -> Maker:
    """The maker of `table`'s kind. One of the user's own is loaded, which runs its file."""
    allowed = f"one of {', '.join(kinds.makers)}, or 'my_file.py:MyClass'"
    kind = table.get("kind")
    if kind is None:
        raise places.missing(f"{place}.kind", allowed)
    if isinstance(kind, str) and kind in kinds.makers:
        return Maker(kind, kinds.makers[kind], {}, kinds.path_keys(kind))
    if not isinstance(kind, str) or ":" not in kind:
        close = places.hint(kind, kinds.makers) if isinstance(kind, str) else ""
        raise InputError(f"{place}.kind: got {kind!r}{close}, must be {allowed}")
    with places.at(f"{place}.kind"):
        found = find_class(kind, kinds.base, folder)
    return Maker(kind, found.made, {str(found.file): found.sha256} if found.file else {})


def build(kinds: Kinds, table: Mapping[str, Any], place: str, folder: Path) -> Built:
    """The object that `table` describes; paths in it are relative to `folder`."""
    return find(kinds, table, place, folder)(table, place, folder)


@cache
def _signature(make: Callable[..., Any]) -> inspect.Signature:
    """Kept: a search builds thousands of tables of a few kinds."""
    return inspect.signature(make)
