"""SQLite files: one that can be begun anew and can be full; and one that somebody with all rights
over it changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import event

from incfed.ledger.database import Database


class Disk:
    """One store for many federations in turn: what SQLAlchemy has compiled for it is kept."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ledger.db"
        self.store = Database(f"sqlite:///{self.path}")
        self.store.close()
        self._empty = self.path.read_bytes()
        self.full = False

        @event.listens_for(self.store.engine, "connect")
        def connected(connection: Any, _: object) -> None:
            connection.execute("PRAGMA synchronous = OFF")  # nothing here cuts the power

        @event.listens_for(self.store.engine, "begin")
        def begun(connection: Any) -> None:
            limited = connection.info.get("limited", False)
            if self.full or limited:
                used = connection.exec_driver_sql("PRAGMA page_count").scalar()
                most = used if self.full else 2**30
                connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")
                connection.info["limited"] = self.full

    def wipe(self) -> Database:
        """An empty database again."""
        self.store.close()
        self.full = False
        for path in self.path.parent.glob(f"{self.path.name}-*"):
            path.unlink()
        self.path.write_bytes(self._empty)
        return self.store


@contextmanager
def unguarded(path: str | Path) -> Iterator[sqlite3.Connection]:
    outside = sqlite3.connect(path, isolation_level=None)
    try:
        outside.execute("PRAGMA foreign_keys = OFF")
        query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        triggers = outside.execute(query).fetchall()
        for name, _ in triggers:
            outside.execute(f"DROP TRIGGER {name}")
        yield outside
        for _, sql in triggers:
            outside.execute(sql)
    finally:
        outside.close()
