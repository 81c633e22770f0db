"""Objects that say what they are, and check what they are given by their annotations.

`Configured` dataclasses check those of their fields that are annotated with a `Value`, with words
(`Literal`), as `bool`, or with a `Configured` class. Anything else they check themselves.
"""

from __future__ import annotations

import html
import inspect
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .errors import InputError
from .values import Flag, NotAllowed, Value, Word, python

LONGEST = 160  # characters of a value in a table

_TABLE = "border-collapse: collapse; margin: 0"
_LEFT = "text-align: left; padding: 2px 14px 2px 2px; font-weight: normal"
_USUAL = f"{_LEFT}; opacity: 0.55"  # works on light and dark pages


class Described:
    """Something with facts, by name, which a notebook shows as a table."""

    def _facts(self) -> Mapping[str, Any]:
        """All that is known, in order."""
        settings: Mapping[str, Any] = self.settings()  # type: ignore[attr-defined]
        return {name: value for name, value in settings.items() if name != "kind"}

    def _usual(self) -> frozenset[str]:
        """Facts that are as nearly always, and shown paler."""
        return frozenset()

    def _title(self) -> str:
        return type(self).__name__

    def _repr_html_(self) -> str:
        usual, rows = self._usual(), []
        facts = self._facts().items()
        for name, value in sorted(facts, key=lambda fact: fact[0] in usual):  # which come last
            style = _USUAL if name in usual else _LEFT
            cells = html.escape(name), html.escape(_short(value))
            rows.append(
                f'<tr><th scope="row" style="{style}">{cells[0]}</th>'
                f'<td style="{style}">{cells[1]}</td></tr>'
            )
        title = f"<b>{html.escape(self._title())}</b>"
        return f'<div>{title}<table style="{_TABLE}">{"".join(rows)}</table></div>'


class Configured(Described):
    """An object whose repr is the call that makes it, without what is left at its default.

    Dataclasses that derive from it do not get the repr of all their fields. What their annotations
    do not allow is refused, and they hold Python numbers, also where numpy numbers are given.
    """

    def __post_init__(self) -> None:
        check_fields(self)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__repr__ is Configured.__repr__:
            # a dataclass keeps what its class has, and would hide what it inherits
            cls.__repr__ = Configured.__repr__  # type: ignore[method-assign]

    def _facts(self) -> Mapping[str, Any]:
        if is_dataclass(self):
            return {field.name: getattr(self, field.name) for field in fields(self)}
        return super()._facts()

    def _usual(self) -> frozenset[str]:
        if not is_dataclass(self):
            return frozenset()
        return frozenset(
            field.name
            for field in fields(self)
            if field.default is not MISSING and _equal(getattr(self, field.name), field.default)
        )

    def __repr__(self) -> str:
        usual = self._usual()
        facts = ", ".join(f"{name}={x!r}" for name, x in self._facts().items() if name not in usual)
        return f"{type(self).__name__}({facts})"


def check_fields(made: Any) -> None:
    """Check the fields of a dataclass by their annotations, and keep them as Python has them."""
    kind: Any = type(made)
    expected = values_of(kind)
    for field in fields(made):
        if field.init:  # others may not be set yet
            value = getattr(made, field.name)
            found = python(value)
            if field.name in expected:
                found = expected[field.name].of(field.name, value)
            object.__setattr__(made, field.name, found)


@cache
def values_of(kind: Any) -> dict[str, Value[Any]]:
    """What the fields of a class may be, as far as annotations in this package tell. Classes that
    are derived from ours check their own fields themselves."""
    found: dict[str, Value[Any] | None] = {}
    for one in reversed(inspect.getmro(kind)):
        if one.__module__.partition(".")[0] == __package__:
            hints = inspect.get_annotations(one, eval_str=True)
            found |= {name: value_of(hint) for name, hint in hints.items()}
    return {name: value for name, value in found.items() if value is not None}


def value_of(hint: Any) -> Value[Any] | None:
    """What an annotation allows; None: it does not tell."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return next(
            (one for one in arguments[1:] if isinstance(one, Value)), value_of(arguments[0])
        )
    if origin is Literal:
        return Word(arguments) if all(isinstance(one, str) for one in arguments) else None
    if origin in (Union, types.UnionType) and len(arguments) == 2 and arguments[1] is type(None):
        inner = value_of(arguments[0])
        return None if inner is None else OrNone(inner)
    if hint is bool:
        return Flag()
    if inspect.isclass(hint) and issubclass(hint, Configured):
        return Made(hint)
    return None


@dataclass(frozen=True)
class OrNone(Value[Any]):
    """None, or a value."""

    value: Value[Any]

    @property
    def allowed(self) -> str:
        return self.value.allowed

    def take(self, value: Any) -> Any:
        return None if value is None else self.value.take(value)

    def refused(self, place: str, value: object, error: NotAllowed) -> InputError:
        return self.value.refused(place, value, error)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.value.schema(), {"type": "null"}]}


@dataclass(frozen=True)
class Made(Value[Any]):
    """An object of a class."""

    kind: type

    @property
    def allowed(self) -> str:
        article = "an" if self.kind.__name__[0] in "AEIO" else "a"
        example = getattr(self.kind, "_example", "")
        return f"{article} {self.kind.__name__}{f', such as {example}' if example else ''}"

    def take(self, value: Any) -> Any:
        if not isinstance(value, self.kind):
            raise NotAllowed
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "object"}


def _equal(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def _short(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
