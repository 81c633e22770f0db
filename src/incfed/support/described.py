"""Objects that say what they are: a short repr, and a small table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from .inputs import plain

LONGEST = 160  # characters of a value in a table

_TABLE = "border-collapse: collapse; margin: 0"
_LEFT = "text-align: left; padding: 2px 14px 2px 2px; font-weight: normal"
_USUAL = f"{_LEFT}; opacity: 0.55"  # works on light and dark pages


class Described:
    """Something with facts, by name, which a notebook shows as a table."""

    def _facts(self) -> Mapping[str, Any]:
        """All that is known, in order."""
        return _settings(self)

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

    Dataclasses that derive from it do not get the repr of all their fields. They hold Python
    numbers, also where numpy numbers are given.
    """

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # only dataclasses call it
            if field.init:  # others may not be set yet
                object.__setattr__(self, field.name, plain(getattr(self, field.name)))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__repr__ is Configured.__repr__:
            # a dataclass keeps what its class has, and would hide what it inherits
            cls.__repr__ = Configured.__repr__  # type: ignore[method-assign]

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
        said = ", ".join(
            f"{name}={value!r}" for name, value in _settings(self).items() if name not in usual
        )
        return f"{type(self).__name__}({said})"


def _settings(described: Any) -> dict[str, Any]:
    """The fields of a dataclass; of anything else, its `settings()`."""
    if is_dataclass(described):
        return {field.name: getattr(described, field.name) for field in fields(described)}
    return {name: value for name, value in described.settings().items() if name != "kind"}


def _equal(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def _short(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
