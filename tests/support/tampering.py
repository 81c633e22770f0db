"""Somebody with all rights over an SQLite ledger, who leaves its triggers as they were."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
