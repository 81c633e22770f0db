"""Entries of the ledger as people read them: a page at a time, the last one first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from . import tables

PAGE = 100
LOOKED = 20_000  # entries that are read at most in search of a kind, for one page


@dataclass(frozen=True)
class EntryRow:
    number: int
    at: float
    kind: str
    what: dict[str, Any]
    hash: str


@dataclass(frozen=True)
class EntriesPage:
    rows: list[EntryRow]
    older: int | None  # ask with before = this for more; None: there are none


def page_of_entries(
    connection: Connection, before: int | None = None, kind: str | None = None
) -> EntriesPage:
    entries = tables.entries.c
    query = select(tables.entries).order_by(entries.number.desc()).limit(LOOKED)
    if before is not None:
        query = query.where(entries.number < before)
    rows: list[EntryRow] = []
    last = None
    for row in connection.execute(query.execution_options(yield_per=PAGE)):
        if len(rows) == PAGE:
            break
        body = json.loads(row.body)
        last = row.number
        if kind is None or body["kind"] == kind:
            what = {key: body[key] for key in body if key not in ("number", "at", "kind")}
            rows.append(EntryRow(row.number, body["at"], body["kind"], what, row.hash))
    return EntriesPage(rows, last if last is not None and last > 1 else None)
