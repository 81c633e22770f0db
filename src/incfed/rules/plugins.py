"""Classes that rules name and that people extend: mechanisms, triggers, behaviours, costs; and, in
configs, worlds and algorithms.

A rule knows one as data: its kind and its options, and of one of the user's own the SHA-256 of its
source file. The kind is the name of a built-in class, or "my_file.py:MyClass" or
"package.module:MyClass"; the other keys of a table are the constructor's arguments. Each room
registers its classes as `Kinds`, which turn data into objects.

Making one of the user's own runs its code, so only what their config or command names is loaded:
`find`, `build`, `pinned` and `load_code` do that. `recorded` takes what a database or a message
says, and finds the code among what was loaded, or refuses.
"""

from __future__ import annotations

import inspect
import json
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
from ..errors import InputError, at, hint, known, missing, refuse, table
from ..support.files import digest
from ..support.plugins import classes, explain, find_class, load
from ..values import Word

HASH = "sha256"  # a key of what is recorded, so no option may have this name
PATHS = ("file", "folder")  # arguments that are paths, relative to the config
_STARS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class MissingCode(InputError):
    """The code of a plug-in that a ledger has recorded is not loaded."""


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
        made = deepcopy(plugin)
    except Exception as error:
        said = f"cannot be copied for each client: {type(error).__name__}: {error}"
        raise InputError(said, type(plugin).__name__) from error
    if not isinstance(made, type(plugin)):
        raise refuse(f"{type(plugin).__name__}.__deepcopy__", made, "a copy of the object")
    return made


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
    # Wraps an object of theirs (kind, options, SHA-256, object) so that its settings are the first
    # three, as a ledger records it; None: theirs cannot be recorded.
    pin: Callable[[str, Mapping[str, Any], str, Any], Any] | None = None
    restore: str = ""  # how code that was recorded is named, when it is not there
    loaded: dict[tuple[str, str], type] = field(default_factory=dict)  # by name and SHA-256

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
        allowed = f"one of {', '.join(self.makers)}" if self.makers else f"such as {own}"
        if self.extended and self.makers:
            allowed += f", or {own}"
        kind = given.get("kind")
        if kind is None:
            raise missing(f"{place}.kind", allowed)
        if isinstance(kind, str) and kind in self.makers:
            return Maker(kind, self.makers[kind], {}, self.path_keys(kind))
        if not isinstance(kind, str) or ":" not in kind or not self.extended:
            close = hint(kind, self.makers) if isinstance(kind, str) else ""
            raise InputError(f"got {kind!r}{close}, must be {allowed}", f"{place}.kind")
        with at(f"{place}.kind"):
            found = find_class(kind, self.base, folder)
        return Maker(kind, found.made, {str(found.file): found.sha256} if found.file else {})

    def build(self, value: object, place: str, folder: Path) -> Built:
        """The object that a config describes; paths in it are relative to `folder`."""
        given = self.table(value, place)
        return self.find(given, place, folder)(given, place, folder)

    def pinned(self, value: object, place: str, folder: Path) -> Any:
        """The object that a config describes, to be recorded: one of the user's own is bound to the
        SHA-256 of its source file, so that only the same code can take its place later."""
        given = self.table(value, place)
        maker = self.find(given, place, folder)
        kind = given["kind"]
        if kind in self.makers or self.pin is None:
            return maker(given, place, folder).value
        options = {key: option for key, option in given.items() if key != "kind"}
        if HASH in options or HASH in maker.keys:
            allowed = "left out: the ledger keeps it itself"
            raise refuse(f"{place}.{HASH}", options.get(HASH), allowed)
        if not maker.sources:
            raise refuse(f"{place}.kind", kind, "a class with a source file, to be recorded")
        try:
            plain = json.loads(json.dumps(options, allow_nan=False)) == options
        except (TypeError, ValueError):
            plain = False
        if not plain:
            allowed = "options that JSON can record: finite numbers, texts, lists"
            raise refuse(place, options, allowed)
        built = maker(given, place, folder)
        [sha256] = maker.sources.values()
        if len(built.sources) > 1:
            others = sorted(built.sources.keys() - maker.sources.keys())
            allowed = "without files to read: what is served may depend on code and options"
            raise refuse(place, others, allowed)
        self.loaded[_class(kind), sha256] = type(built.value)
        return self.pin(kind, options, sha256, built.value)

    def load_code(self, where: str, place: str, folder: Path) -> None:
        """Load all classes of a file or module, so that what was decided by them can be recomputed.
        `place`: the setting or option that names it."""
        with at(place):
            found = classes(load(where, folder), self.base)
            if not found:
                raise InputError(f"{where} has no class derived from incfed.{self.base.__name__}")
        for name, plugin in found.items():
            self.loaded[name, plugin.sha256] = plugin.made

    def recorded(self, settings: Mapping[str, Any]) -> Any:
        """The object whose `settings` a ledger or a message has. No code is loaded: MissingCode if
        that of the user's own is not."""
        options = {key: option for key, option in settings.items() if key not in ("kind", HASH)}
        kind = settings.get("kind")
        if self.pin is None or HASH not in settings:
            kind = Word(self.makers).of("kind", kind)
            maker = Maker(kind, self.makers[kind], {})
            known("", settings, ["kind", *maker.keys])
            return maker.make(**options)
        name, sha256 = _class(str(kind)), str(settings[HASH])
        if (name, sha256) not in self.loaded:
            others = [known for other, known in self.loaded if other == name]
            near = f"; the {name} at hand has {', '.join(others)}" if others else ""
            raise MissingCode(
                f"{self.base.__name__.lower()}: {kind} was recorded with SHA-256 {sha256}{near}. "
                f"Only the file as it was then will do: put it back{self.restore}"
            )
        return self.pin(str(kind), options, sha256, self.loaded[name, sha256](**options))


def public(room: ModuleType, base: type) -> dict[str, Callable[..., Any]]:
    """The classes in a room's `__all__` that derive from `base`: a new one needs no entry here."""
    classes = {name: getattr(room, name) for name in room.__all__}
    return {
        name: one
        for name, one in classes.items()
        if isinstance(one, type) and issubclass(one, base) and one is not base
    }


def _class(kind: str) -> str:
    """The name of the class in "my_file.py:Mine": where the file stands may differ."""
    return kind.rpartition(":")[2]


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
