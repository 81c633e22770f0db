"""Classes that rules name and that people extend: mechanisms, triggers, behaviours, costs; and, in
configs, worlds and algorithms.

A rule knows one as data: its kind and its options, and of one of the user's own the SHA-256 of its
source file. The kind is the name of a built-in class, or "my_file.py:MyClass" or
"package.module:MyClass"; the other keys of a table are the constructor's arguments. Each room
registers its classes as `Kinds`, which turn data into objects.
"""

from __future__ import annotations

import inspect
import sys
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from ..configured import Configured, Made
from ..errors import InputError, at, hint, known, missing, table
from ..support.files import digest
from ..support.plugins import explain, find_class
from ..values import Word

PATHS = ("file", "folder")  # arguments that are paths, relative to the config
_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Plugin(Configured, ABC):
    """The base class of what a rule names."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return Made(cls).__get_pydantic_core_schema__(source, handler)

    def settings(self) -> dict[str, Any]:
        """The settings that a result records.

        >>> incfed.PaymentEfficient(beta=0.7).settings()
        {'kind': 'PaymentEfficient', 'beta': 0.7, 'order': 'descending', 'payment_free': True,
            'iterative': True, 'absorb': False}
        """
        names: list[str] = [field.name for field in fields(self)] if is_dataclass(self) else []
        return {"kind": type(self).__name__, **{name: getattr(self, name) for name in names}}


Mine = TypeVar("Mine", bound=Plugin)


def copied(plugin: Mine) -> Mine:
    """A client's own copy of an object of the user's own."""
    try:
        return deepcopy(plugin)
    except Exception as error:
        said = f"cannot be copied for each client: {type(error).__name__}: {error}"
        raise InputError(said, type(plugin).__name__) from error


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
            known(place, table, [*extra, "kind", *self.keys])
        for name in self.keys:
            if parameters[name].default is inspect.Parameter.empty and name not in table:
                raise missing(f"{place}.{name}", f"given: {self.kind} needs it")

    def __call__(self, table: Mapping[str, Any], place: str, folder: Path) -> Built:
        """Build it. An error of the constructor names the place in the config."""
        self.check(table, place)
        sources = dict(self.sources)
        arguments = {key: value for key, value in table.items() if key != "kind"}
        for key in self.paths:
            if key in self.keys and isinstance(arguments.get(key), str):
                arguments[key] = folder / arguments[key]
        with at(place, {*arguments, *self.keys}):
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


@dataclass(frozen=True)
class Kinds:
    """The classes that one place of a config may name: those derived from `base`."""

    base: type
    makers: Mapping[str, Callable[..., Any]]  # the built-in ones, by name
    example: str = ""  # of a table
    paths: Mapping[str, Sequence[str]] = field(default_factory=dict)  # more PATHS, by kind
    extended: bool = True  # whether a config may name classes of the user's own

    def path_keys(self, kind: object) -> tuple[str, ...]:
        """The arguments of a kind that are paths."""
        return *PATHS, *self.paths.get(str(kind), ())

    def table(self, value: object, place: str) -> dict[str, Any]:
        """The table that a config has; a name alone is short for one."""
        return {"kind": value} if isinstance(value, str) else table(place, value, self.example)

    def find(self, value: object, place: str, folder: Path) -> Maker:
        """The maker of what a config names. A class of the user's own is loaded, which runs its
        file."""
        given = self.table(value, place)
        own = "'my_file.py:MyClass'"
        allowed = f"one of {', '.join(self.makers)}, or {own}" if self.makers else f"such as {own}"
        kind = given.get("kind")
        if kind is None:
            raise missing(f"{place}.kind", allowed)
        if not self.extended:
            Word(self.makers).of(f"{place}.kind", kind)
        if isinstance(kind, str) and kind in self.makers:
            return Maker(kind, self.makers[kind], {}, self.path_keys(kind))
        if not isinstance(kind, str) or ":" not in kind:
            close = hint(kind, self.makers) if isinstance(kind, str) else ""
            raise InputError(f"got {kind!r}{close}, must be {allowed}", f"{place}.kind")
        with at(f"{place}.kind"):
            found = find_class(kind, self.base, folder)
        return Maker(kind, found.made, {str(found.file): found.sha256} if found.file else {})

    def build(self, value: object, place: str, folder: Path) -> Built:
        """The object that a config describes; paths in it are relative to `folder`."""
        given = self.table(value, place)
        return self.find(given, place, folder)(given, place, folder)

    def recorded(self, settings: Mapping[str, Any]) -> Any:
        """The object whose `settings` a ledger or a message has: a built-in one, no code is
        loaded."""
        options = {key: option for key, option in settings.items() if key != "kind"}
        kind = Word(self.makers).of("kind", settings.get("kind"))
        maker = Maker(kind, self.makers[kind], {})
        known("", options, maker.keys)
        return maker.make(**options)


def public(room: ModuleType, base: type) -> dict[str, Callable[..., Any]]:
    """The classes in a room's `__all__` that derive from `base`: a new one needs no entry here."""
    classes = {name: getattr(room, name) for name in room.__all__}
    return {
        name: one
        for name, one in classes.items()
        if isinstance(one, type) and issubclass(one, base) and one is not base
    }


def own_names(cls: type) -> list[str]:
    """The public names that classes of the user's own define in this one, or annotate."""
    own = [one for one in cls.__mro__ if not is_ours(one)]
    found = (name for one in own for name in (*vars(one), *annotated(one)))
    return [name for name in dict.fromkeys(found) if not name.startswith("_")]


def is_ours(cls: type) -> bool:
    """Is it a class of this package?"""
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def annotated(cls: type) -> dict[str, Any]:
    """Those of the class itself, not evaluated where that is not possible yet."""
    if sys.version_info >= (3, 14):
        import annotationlib

        return annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    return inspect.get_annotations(cls)


@cache
def _signature(make: Callable[..., Any]) -> inspect.Signature:
    """Kept: a search builds thousands of tables of a few kinds."""
    return inspect.signature(make)
