"""News of other processes over one database: told by PostgreSQL, looked for in SQLite."""

from __future__ import annotations

import gc
import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, update

import incfed
from incfed.ledger import tables
from incfed.ledger.database import Database, changes, notify
from incfed.ledger.federation import create
from incfed.ledger.settings import Settings
from support.postgres import running


@contextmanager
def heard(store: Database) -> Iterator[queue.Queue[str]]:
    """A word for each change that is heard of."""
    words: queue.Queue[str] = queue.Queue()
    over = threading.Event()

    def listen() -> None:
        for _ in changes(store, over.is_set):
            words.put("news")

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        yield words
    finally:
        over.set()
        listener.join()


def change(store: Database) -> None:
    with store.write() as connection:
        version = tables.federation.c.version
        connection.execute(update(tables.federation).values(version=version + 1))
        notify(connection, store.name)


def founded(url: str) -> Database:
    store = Database(url)
    with store.write() as connection:
        create(connection, Settings(dim=2, mechanism=incfed.PayEveryone(), threshold=1.0), 0.0)
    return store


def test_the_file_is_its_owners(tmp_path: Path) -> None:
    """With those beside it; also that of an earlier version."""

    def modes() -> dict[str, int]:
        return {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}

    mask = os.umask(0o022)
    try:
        for _ in range(2):
            store = founded(f"sqlite:///{tmp_path / 'l.db'}")
            change(store)
            assert modes() == dict.fromkeys(("l.db", "l.db-wal", "l.db-shm"), 0o600)
            store.close()
            (tmp_path / "l.db").chmod(0o644)
    finally:
        os.umask(mask)


def test_sqlite(tmp_path: Path) -> None:
    here, there = (founded(f"sqlite:///{tmp_path / 'l.db'}") for _ in range(2))
    with heard(here) as words:
        assert words.get(timeout=60)  # how things stand
        change(there)
        assert words.get(timeout=60)
        with pytest.raises(queue.Empty):
            words.get(timeout=0.5)
    here.close()
    there.close()


def test_postgresql() -> None:
    with running() as server:
        url = server.database("news")
        here, there = founded(url), founded(url)
        with heard(here) as words:
            assert words.get(timeout=60)  # listens now
            change(there)
            assert words.get(timeout=60)
            for _ in range(3):
                change(here)  # told by this very store: no news to it
            with pytest.raises(queue.Empty):
                words.get(timeout=0.5)
            server.kill()
            server.start()
            assert words.get(timeout=60)  # listens again: something may have happened
            change(there)
            assert words.get(timeout=60)
        here.close()
        there.close()


def test_one_that_nobody_uses_any_more_closes_its_connections(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'ledger.db'}")
    with database.read():
        pass
    pool: Any = database.engine.pool
    assert pool.checkedin() == 1
    closed = []
    event.listen(database.engine, "close", lambda *given: closed.append(given))
    del database
    gc.collect()
    assert len(closed) == 1
