"""The console's views of a federation: now, rounds, clients, the ledger."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query
from fastapi.responses import FileResponse
from pydantic import Field
from starlette.background import BackgroundTask

from ..ledger import audits, overview, roster, summaries, views
from ..ledger.audits import AuditRun, AuditRunning
from ..ledger.chain import head
from ..ledger.database import Database
from ..ledger.entries import EntriesPage, page_of_entries
from ..ledger.explaining import Explained, explain, version_of
from ..ledger.overview import Now
from ..ledger.roster import ClientHistory, Roster
from ..values import Word
from .access import At, Changer, ConsoleDep, viewer
from .auditing import AuditJob

POINTS = 400  # of a chart
NO_FEDERATION = (
    "this database has no federation yet. Found one with: incfed client enrol NAME, or incfed serve"
)

reading = APIRouter(prefix="/api", tags=["federation"], dependencies=[Depends(viewer)])


def get_store(console: ConsoleDep) -> Database:
    if console.store is None:
        raise HTTPException(404, "this console shows saved results only, no federation")
    if not console.has_federation():
        raise HTTPException(404, NO_FEDERATION)
    return console.store


Store = Annotated[Database, Depends(get_store)]
Id = Annotated[int, Field(ge=0, le=2**31 - 1)]
After = Annotated[
    str, Query(max_length=80, description="The version of an earlier answer: 204 if it is current.")
]
NOTHING_NEW: dict[int | str, dict[str, Any]] = {
    204: {"description": "Nothing is new: `after` is the current version."}
}


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
class RatioGoal:
    """The ratio that rounds had to reach, from round `first` on."""

    first: int
    beta: float | None  # null: their mechanism had none


@dataclass(frozen=True)
class Series:
    points: list[Point]
    goals: list[RatioGoal]  # in order
    version: str  # ask with after = this


@dataclass(frozen=True)
class Done:
    """A sentence that says what was done."""

    text: str


@dataclass(frozen=True)
class LedgerView:
    entries: int
    hash: str
    audited: float | None  # when the last audit ended,
    audited_by: str | None  # who began it (null: somebody on the command line),
    outcome: str | None  # clean, not clean, failed,
    findings: list[str]  # and what it found
    running: float | None  # how much of the audit in progress is done; null: there is none
    interrupted: AuditRun | None  # the last audit, if the process that ran it has stopped
    at: float  # of the server's clock
    version: str  # ask with after = this


def unless_new(after: str, version: str) -> None:
    """Nothing to say, if this is what the caller has seen."""
    if after == version:
        raise HTTPException(204)


@reading.get("/now", responses=NOTHING_NEW)
def now(store: Store, at: At, after: After = "") -> Now:
    """The federation at this moment: who is there, the round in progress step by step, what is
    spent of the budget and when it runs out at this pace, and what needs attention. Money is in
    units of the settings, times are seconds since 1970 (UTC)."""
    with store.read() as connection:
        if after:
            unless_new(after, overview.version(connection, at))
        return overview.look(connection, at)


@reading.get("/rounds", responses=NOTHING_NEW)
def rounds(store: Store, after: After = "") -> Series:
    """All closed rounds for a chart: who joined and why, payments, traffic in scalars, and the
    ratio of information reached. Of more than 400 rounds, each point is the mean of a few."""
    with store.read() as connection:
        version = summaries.version_of_rounds(connection)
        unless_new(after, version)
        found = [Point(**row) for row in summaries.series(connection, POINTS)]
        goals = [RatioGoal(first, beta) for first, beta in summaries.betas(connection)]
        return Series(found, goals, version)


@reading.get("/rounds/{number}", responses=NOTHING_NEW)
def round(store: Store, number: Id, after: After = "") -> Explained:
    """A round with its whole decision: each client with new data, its contribution in nats, what
    the others' data is worth to it, its cost and payment, and why it shared or did not."""
    with store.read() as connection:
        if after:
            unless_new(after, version_of(connection, number))
        return explain(connection, number)


@reading.get("/clients", responses=NOTHING_NEW)
def clients(
    store: Store,
    at: At,
    search: Annotated[str, Query(max_length=80, description="A part of the name.")] = "",
    state: Annotated[str | None, Query(description="live, away, barred or revoked.")] = None,
    sort: Annotated[
        str, Query(description="id, name, rounds, steps, nats, paid or last_seen.")
    ] = "id",
    descending: bool = False,
    page: Annotated[int, Query(description="From 1, of 50 clients each.")] = 1,
    after: After = "",
) -> Roster:
    """A page of the clients, each with its contribution in nats, what it was paid in all, the
    rounds that it took part in, and when it was last seen."""
    with store.read() as connection:
        if after:
            unless_new(after, overview.version(connection, at))
        return roster.roster(
            connection, at, search=search, state=state or None, sort=sort,
            descending=descending, page=page,
        )  # fmt: skip


@reading.get("/clients/{client}", responses=NOTHING_NEW)
def client(
    store: Store,
    at: At,
    client: Id,
    before: Annotated[Id | None, Query(description="Rounds earlier than this one.")] = None,
    after: After = "",
) -> ClientHistory:
    """A client and its rounds, the last one first: what it had, asked for and was paid, and how the
    round ended for it; and which round paid it last."""
    with store.read() as connection:
        if after:
            unless_new(after, overview.version(connection, at))
        return roster.history(connection, client, at, before)


@reading.get("/clients/{client}/rounds/{number}")
def why(store: Store, client: Id, number: Id) -> str:
    """Why a client was paid what it was paid in a round, in a sentence with the numbers."""
    with store.read() as connection:
        return roster.why_paid(connection, number, client)


@reading.get("/ledger", responses=NOTHING_NEW)
def ledger(store: Store, at: At, after: After = "") -> LedgerView:
    """The head of the ledger, the last audit and what it found, and how far one in progress is,
    whichever coordinator runs it."""
    with store.read() as connection:
        version = overview.version(connection, at)
        unless_new(after, version)
        last, audited = head(connection), audits.last_ended(connection)
        running, interrupted = audits.unfinished(connection, at)
    return LedgerView(
        entries=last.number,
        hash=last.hash,
        audited=None if audited is None else audited.ended,
        audited_by=None if audited is None else audited.by,
        outcome=None if audited is None else audited.outcome,
        findings=[] if audited is None else audited.findings,
        running=None if running is None else running.done,
        interrupted=interrupted,
        at=at,
        version=version,
    )


@reading.get("/ledger/entries")
def entries(
    store: Store,
    before: Annotated[Id | None, Query(description="Entries with a lower number.")] = None,
    kind: Annotated[str, Query(description="Such as opened, decided, closed, settings.")] = "",
) -> EntriesPage:
    """Entries of the ledger with their hashes, the last one first, 100 at a time."""
    with store.read() as connection:
        return page_of_entries(connection, before, kind or None)


@reading.post("/ledger/audit", status_code=202)
def start_audit(store: Store, console: ConsoleDep, who: Changer) -> Done:
    """Begin to recompute every decision and payment; /ledger says how far it is. 409, if an audit
    is running already."""
    try:
        AuditJob(store, who.name, console.clock)
    except AuditRunning as error:
        raise HTTPException(409, str(error)) from None
    return Done("The audit has begun.")


@reading.get("/export/{what}.csv")
def export(store: Store, what: str) -> FileResponse:
    """Payments, offers, rounds or entries as a CSV file; money also in whole minor units."""
    Word(views.TABLES).of("what", what)
    target = Path(tempfile.mkdtemp(prefix="incfed-")) / f"{what}.csv"
    with store.read() as connection:
        views.export(connection, target, what)

    def remove() -> None:
        target.unlink(missing_ok=True)
        target.parent.rmdir()

    return FileResponse(
        target, media_type="text/csv", filename=target.name, background=BackgroundTask(remove)
    )
