"""The whole ledger as a text file: all that is needed to recompute V_g and every payment.

The first line says what the file is; each other one is a row, {"table": NAME, "row": {...}}, with
binary columns in base64. Read again, it is audited like the database that it came from.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, LargeBinary, Table, insert, select
from sqlalchemy.exc import SQLAlchemyError

from .._version import __version__
from ..errors import InputError, refuse
from ..support.files import replacing
from ..support.formats import FormatError, check_format
from ..support.inputs import counted
from .database import Database
from .tables import metadata

SUFFIX = ".jsonl"
WHAT, FORMAT = "ledger", 2
FIRST = {"incfed": WHAT, "version": FORMAT, "writer": __version__}
# No evidence, and of no use elsewhere: what clients said between rounds, and when; what the console
# keeps; and the key of its sessions, which nobody else may have.
LEFT_OUT = (
    "presence", "grants", "signals", "scores", "pooled_scores", "refusals", "chores", "audits",
    "removals", "round_summaries", "client_summaries", "session_key", "conduct", "starts",
    "heartbeat",
)  # fmt: skip


def write_full(connection: Connection, path: Path) -> int:
    """Write all rows; returns how many. The file is written whole or not at all."""
    if path.suffix.lower() != SUFFIX:
        raise refuse("path", str(path), f"a name that ends in {SUFFIX}, for a full export")
    count = 0
    with replacing(path) as fresh, open(fresh, "w", encoding="ascii", opener=_own) as file:
        file.write(json.dumps(FIRST) + "\n")
        for table in _exported():
            order = select(table).order_by(*table.primary_key.columns)
            for row in connection.execute(order.execution_options(yield_per=100)):
                said = {"table": table.name, "row": _plain(row._asdict())}
                file.write(json.dumps(said, allow_nan=False) + "\n")
                count += 1
    return count


def _own(path: str, flags: int) -> int:
    """For nobody else to read, as the database."""
    return os.open(path, flags, 0o600)


@contextmanager
def reading(path: Path) -> Iterator[Database]:
    """A database, for the time being, with what the file says."""
    with (
        tempfile.TemporaryDirectory(prefix="incfed-") as folder,
        closing(Database(f"sqlite:///{Path(folder) / 'export.db'}")) as store,
    ):
        try:
            _fill(store, path)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        except FormatError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, SQLAlchemyError) as error:
            allowed = "what `incfed ledger export full` wrote"
            raise InputError(f"{path}: must be {allowed} ({_short(error)})") from None
        yield store


def _fill(store: Database, path: Path) -> None:
    tables = {table.name: table for table in _exported()}
    with open(path, encoding="ascii") as file, store.write() as connection:
        first = json.loads(next(file, ""))
        if first["incfed"] != WHAT:
            raise ValueError(f"its first line must be as {json.dumps(FIRST)}")
        check_format(path, first["version"], FORMAT, first.get("writer"))
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        said = (json.loads(line) for line in file)
        for name, group in groupby(said, key=lambda record: record["table"]):
            table = tables[name]
            while rows := [_exact(table, record["row"]) for record in islice(group, 100)]:
                connection.execute(insert(table), rows)


def _exported() -> list[Table]:
    """In an order in which no row refers to a later one."""
    return [table for table in metadata.sorted_tables if table.name not in LEFT_OUT]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def _exact(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    names = set(table.columns.keys())
    if row.keys() != names:
        raise ValueError(f"a row of {table.name} must have {counted(len(names), 'column')}")
    binary = {column.name for column in table.columns if isinstance(column.type, LargeBinary)}
    return {
        name: base64.b64decode(value, validate=True) if name in binary and value is not None
        else value
        for name, value in row.items()
    }  # fmt: skip


def _short(error: Exception) -> str:
    why = getattr(error, "orig", None) or error
    return " ".join(str(why).split())[:200]
