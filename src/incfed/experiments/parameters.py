"""Parameters of a table by their path: is there such a one, and set it.

A table takes what its kind's constructor takes, and so does a mechanism inside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import kinds
from .kinds import Kinds, Maker

INSIDE = {"mechanism": kinds.MECHANISMS}  # tables in tables that have a kind of their own


@dataclass(frozen=True)
class Spot:
    """A place in a config; `among` are the kinds that a table there may be of."""

    place: str
    among: Kinds | None
    folder: Path

    def inside(self, key: str) -> Spot:
        return Spot(f"{self.place}.{key}", INSIDE.get(key), self.folder)

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
