"""What the console shows of a federation: now, rounds, clients, the ledger."""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query
from fastapi.responses import FileResponse
from pydantic import Field
from starlette.background import BackgroundTask

from ..ledger import overview, roster, summaries, views
from ..ledger.audit import audit
from ..ledger.chain import head
from ..ledger.database import Database
from ..ledger.entries import EntriesPage, page_of_entries
from ..ledger.explaining import Explained, explain
from ..ledger.overview import AUDIT, Now
from ..ledger.roster import ClientHistory, Roster
from ..support.inputs import choice
from .access import At, Changer, ConsoleDep, viewer

POINTS = 400  # of a chart

reading = APIRouter(prefix="/api", tags=["federation"], dependencies=[Depends(viewer)])


def get_store(console: ConsoleDep) -> Database:
    if console.store is None:
        raise HTTPException(404, "this console shows saved results only, no federation")
    return console.store


Store = Annotated[Database, Depends(get_store)]
Id = Annotated[int, Field(ge=0, le=2**31 - 1)]


@dataclass(frozen=True)
class Point:
    """Closed rounds in a row (`first` to `last`), each figure in the mean."""

    first: int
    last: int
    ended: float
    for_data: float
    for_money: float
    no_cost: float
    passed_over: float
    payment: float
    communication: float
    ratio: float


@dataclass(frozen=True)
class Series:
    points: list[Point]
    beta: float | None  # of the settings in force, if their mechanism has one


@dataclass(frozen=True)
class LedgerView:
    entries: int
    hash: str
    audited: float | None  # when last
    outcome: str | None
    running: float | None  # how much of an audit is done; None: none is running
    findings: list[str]


class AuditJob:
    """An audit in the background, one at a time."""

    def __init__(self) -> None:
        self.done: float | None = None
        self.findings: list[str] = []
        self._lock = threading.Lock()

    def start(self, store: Database) -> None:
        with self._lock:
            if self.done is not None:
                raise HTTPException(409, "an audit is running already")
            self.done = 0.0
        threading.Thread(target=self._run, args=(store,), daemon=True).start()

    def _run(self, store: Database) -> None:
        try:
            with store.read() as connection:
                report = audit(connection, watch=self._watch)
            self.findings = report.findings
            outcome = "clean" if report.clean else "not clean"
        except Exception as error:  # whatever it is, the page should say so
            self.findings, outcome = [f"{type(error).__name__}: {error}"], "failed"
        try:
            with store.touch() as connection:
                overview.note_chore(connection, AUDIT, outcome, time.time())
        finally:
            self.done = None

    def _watch(self, done: int, total: int) -> None:
        self.done = done / max(1, total)


_audit = AuditJob()


@reading.get("/now")
def now(store: Store, at: At) -> Now:
    """The federation at this moment."""
    with store.read() as connection:
        return overview.look(connection, at)


@reading.get("/version")
def version(store: Store) -> int:
    """Grows when rounds, settings or members change: ask for the rest only then."""
    with store.read() as connection:
        return overview.version(connection)


@reading.get("/rounds")
def rounds(store: Store) -> Series:
    """All closed rounds for a chart, at most 400 points."""
    with store.read() as connection:
        found = [Point(**row) for row in summaries.series(connection, POINTS)]
        return Series(found, summaries.beta_in_force(connection))


@reading.get("/rounds/{number}")
def round(store: Store, number: Id) -> Explained:
    """A round with its whole decision."""
    with store.read() as connection:
        return explain(connection, number)


@reading.get("/clients")
def clients(
    store: Store,
    at: At,
    search: Annotated[str, Query(max_length=80)] = "",
    state: str | None = None,
    sort: str = "id",
    descending: bool = False,
    page: int = 1,
) -> Roster:
    """A page of the clients."""
    with store.read() as connection:
        return roster.roster(
            connection, at, search=search, state=state or None, sort=sort,
            descending=descending, page=page,
        )  # fmt: skip


@reading.get("/clients/{client}")
def client(store: Store, at: At, client: Id, before: Id | None = None) -> ClientHistory:
    """A client and its rounds, the last one first."""
    with store.read() as connection:
        return roster.history(connection, client, at, before)


@reading.get("/clients/{client}/rounds/{number}")
def why(store: Store, client: Id, number: Id) -> str:
    """Why a client was paid what it was paid."""
    with store.read() as connection:
        return roster.why_paid(connection, number, client)


@reading.get("/ledger")
def ledger(store: Store) -> LedgerView:
    """The head, and the last audit."""
    with store.read() as connection:
        last = head(connection)
        chore = overview.chore(connection, AUDIT)
    audited, outcome = (None, None) if chore is None else (chore.at, chore.outcome)
    return LedgerView(last.number, last.hash, audited, outcome, _audit.done, _audit.findings)


@reading.get("/ledger/entries")
def entries(store: Store, before: Id | None = None, kind: str = "") -> EntriesPage:
    """Entries, the last one first."""
    with store.read() as connection:
        return page_of_entries(connection, before, kind or None)


@reading.post("/ledger/audit", status_code=202)
def start_audit(store: Store, who: Changer) -> None:
    """Recompute every decision and payment; /ledger says how far it is."""
    _audit.start(store)


@reading.get("/export/{what}.csv")
def export(store: Store, what: str) -> FileResponse:
    """Payments, offers, rounds or entries as a CSV file."""
    choice("what", what, views.TABLES)
    target = Path(tempfile.mkdtemp(prefix="incfed-")) / f"{what}.csv"
    with store.read() as connection:
        views.export(connection, target, what)

    def remove() -> None:
        target.unlink(missing_ok=True)
        target.parent.rmdir()

    return FileResponse(
        target, media_type="text/csv", filename=target.name, background=BackgroundTask(remove)
    )
