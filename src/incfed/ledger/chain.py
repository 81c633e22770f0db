"""The hash chain: the hash of an entry covers the one before, so that a changed entry changes every
later hash. A copy of the head, kept elsewhere, reveals that."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from ..support.signing import canonical as canonical
from ..support.signing import digest as digest
from .tables import entries

START = "0" * 64  # the hash before the first entry


class LastEntry(NamedTuple):
    """The number and the hash of the last entry."""

    number: int
    hash: str


def link(previous: str, body: str) -> str:
    """The hash of an entry."""
    return digest(previous + body)


_LAST = select(entries.c.number, entries.c.hash).order_by(entries.c.number.desc()).limit(1)


def head(connection: Connection) -> LastEntry:
    last = connection.execute(_LAST).first()
    return LastEntry(0, START) if last is None else LastEntry(last.number, last.hash)


def entries_after(connection: Connection, number: int) -> list[dict[str, Any]]:
    """The bodies of all entries after this one, in order."""
    rows = select(entries.c.body).where(entries.c.number > number).order_by(entries.c.number)
    return [json.loads(body) for body in connection.scalars(rows)]


class Chain:
    """New entries of one transaction, which `flush` writes at its end. The caller holds the lock of
    the federation, so that entries are numbered without gaps."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last: LastEntry | None = None
        self._rows: list[dict[str, Any]] = []
        self.written: list[dict[str, Any]] = []  # rows of `entries`

    @property
    def last(self) -> LastEntry:
        """The last entry of all, also if it is not written yet."""
        return head(self._connection) if self._last is None else self._last

    @property
    def number(self) -> int:
        """The number of the last entry of this transaction; 0: there is none yet."""
        return 0 if self._last is None else self._last.number

    def append(self, kind: str, at: float, **what: Any) -> None:
        last = self.last
        number = last.number + 1
        body = canonical({"number": number, "kind": kind, "at": at, **what})
        self._last = LastEntry(number, link(last.hash, body))
        self._rows.append({"number": number, "body": body, "hash": self._last.hash})

    def flush(self) -> None:
        if self._rows:
            self._connection.execute(insert(entries), self._rows)
            self.written += self._rows
            self._rows = []


def said_by(operator: str | None) -> dict[str, str]:
    """The field of an entry that names the operator; none if it was done on the command line."""
    return {} if operator is None else {"by": operator}


def append(connection: Connection, kind: str, at: float, **what: Any) -> None:
    """Write a single entry."""
    chain = Chain(connection)
    chain.append(kind, at, **what)
    chain.flush()
