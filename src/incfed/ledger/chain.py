"""Entries, chained: each one's hash covers the hash before it, so that no past can be changed
without changing every hash after it, and the head kept elsewhere shows that."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from .tables import entries

START = "0" * 64  # the hash before the first entry


class Head(NamedTuple):
    """The last entry's number and hash: whoever keeps a copy can tell a changed past."""

    number: int
    hash: str


def canonical(body: dict[str, Any]) -> str:
    """One text for one content: sorted keys, no spaces; floats as Python's shortest, exact repr."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: bytes | str) -> str:
    """SHA-256, in place of what it is of."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def link(previous: str, body: str) -> str:
    """The hash of an entry."""
    return digest(previous + body)


_LAST = select(entries.c.number, entries.c.hash).order_by(entries.c.number.desc()).limit(1)


def head(connection: Connection) -> Head:
    last = connection.execute(_LAST).first()
    return Head(0, START) if last is None else Head(last.number, last.hash)


def entries_after(connection: Connection, number: int) -> list[dict[str, Any]]:
    """The bodies of all entries after this one, in order."""
    rows = select(entries.c.body).where(entries.c.number > number).order_by(entries.c.number)
    return [json.loads(body) for body in connection.scalars(rows)]


class Chain:
    """New entries of one transaction, written together at its end by `flush`. The caller holds the
    lock of the federation: entries are numbered in order."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last: Head | None = None
        self._rows: list[dict[str, Any]] = []

    def append(self, kind: str, at: float, **what: Any) -> None:
        last = head(self._connection) if self._last is None else self._last
        number = last.number + 1
        body = canonical({"number": number, "kind": kind, "at": at, **what})
        self._last = Head(number, link(last.hash, body))
        self._rows.append({"number": number, "body": body, "hash": self._last.hash})

    def flush(self) -> None:
        if self._rows:
            self._connection.execute(insert(entries), self._rows)
            self._rows = []


def append(connection: Connection, kind: str, at: float, **what: Any) -> None:
    """A single entry."""
    chain = Chain(connection)
    chain.append(kind, at, **what)
    chain.flush()
