"""Word of what another process did to the database: PostgreSQL tells, SQLite is looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, select, text
from sqlalchemy.exc import SQLAlchemyError

from .store import Store
from .tables import federation

CHANNEL = "incfed"
LOOK = 0.25  # seconds between looks at SQLite, and at whether it is over
AWAY = 1.0  # seconds before a database that is away is tried again


def tell(connection: Connection, sender: str) -> None:
    """Once this transaction is committed, everybody who listens hears of it."""
    if connection.dialect.name == "postgresql":
        values = {"channel": CHANNEL, "sender": sender}
        connection.execute(text("SELECT pg_notify(:channel, :sender)"), values)


def changes(store: Store, over: Callable[[], bool]) -> Iterator[None]:
    """Yields when there is news that this store did not tell itself; blocks meanwhile."""
    away = (SQLAlchemyError, store.engine.dialect.loaded_dbapi.Error)
    while not over():
        try:
            yield from _look(store, over) if store.sqlite else _listen(store, over)
        except away:  # the requests will report it
            time.sleep(AWAY)


def _look(store: Store, over: Callable[[], bool]) -> Iterator[None]:
    seen = None
    while not over():
        with store.read() as connection:
            version = connection.scalar(select(federation.c.version))
        if version != seen:
            seen = version
            yield
        time.sleep(LOOK)


def _listen(store: Store, over: Callable[[], bool]) -> Iterator[None]:
    pooled = store.engine.raw_connection()
    listening: Any = pooled.driver_connection
    pooled.detach()  # it is no good for anything else afterwards
    try:
        listening.autocommit = True
        listening.execute(f"LISTEN {CHANNEL}")
        yield  # for what happened before
        while not over():
            for word in listening.notifies(timeout=LOOK, stop_after=1):
                if word.payload != store.name:
                    yield
    finally:
        listening.close()
