"""Refused messages by client, for people to see: counted here, and written to the database now and
then, in a transaction that nobody waits for."""

from __future__ import annotations

import threading

from sqlalchemy import Connection, insert, update
from sqlalchemy.exc import SQLAlchemyError

from ...ledger import tables
from ...ledger.database import Database

EVERY = 5.0  # seconds

_refusals = tables.refusals


class Refusals:
    def __init__(self) -> None:
        self._new: dict[int, tuple[int, str]] = {}  # by client: how many, and the last one's field
        self._lock = threading.Lock()
        self._written = float("-inf")

    def note(self, client: int, field: str) -> None:
        with self._lock:
            count, _ = self._new.get(client, (0, ""))
            self._new[client] = count + 1, field

    def flush(self, store: Database, now: float) -> None:
        """Write what is new, unless that was done just now."""
        if not self._new or 0.0 <= now - self._written < EVERY:
            return
        with self._lock:
            new, self._new = self._new, {}
        self._written = now
        try:
            with store.touch() as connection:
                for client, (count, field) in sorted(new.items()):
                    _add(connection, client, count, field, now)
        except SQLAlchemyError:  # perhaps another coordinator wrote the same client's first
            with self._lock:
                self._new = {**new, **self._new}
            raise


def _add(connection: Connection, client: int, count: int, field: str, now: float) -> None:
    own = update(_refusals).where(_refusals.c.client == client)
    more = own.values(count=_refusals.c.count + count, field=field, at=now)
    if not connection.execute(more).rowcount:
        row = {"client": client, "count": count, "field": field, "at": now}
        connection.execute(insert(_refusals).values(row))
