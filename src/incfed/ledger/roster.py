"""The clients as a list to search, sort and page through, and each client's history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, select

from ..errors import refuse
from ..protocol.money import from_units
from ..support.inputs import counted
from ..values import Whole, Word
from . import money, tables
from .explaining import FAILURES, LIMITS, ClientInRound, explain
from .overview import STATES, isolated, member_state, version
from .records import read_body
from .summaries import BARRED

PAGE = 50
_clients, _own = tables.clients.c, tables.client_summaries.c
SORTS: dict[str, ColumnElement[Any]] = {
    "id": _clients.id,
    "name": func.lower(_clients.name),
    "rounds": func.coalesce(_own.rounds, 0),
    "steps": func.coalesce(_own.steps, 0),
    "nats": func.coalesce(_own.nats, 0.0),
    "paid": func.coalesce(_own.paid_units, 0),
    "last_seen": func.coalesce(tables.presence.c.heard, 0.0),
}


@dataclass(frozen=True)
class ClientRow:
    id: int
    name: str
    state: str
    last_seen: float | None
    rounds: int
    steps: int
    nats: float
    paid: float
    last_round: int


@dataclass(frozen=True)
class Roster:
    """One page of it."""

    rows: list[ClientRow]
    total: int  # that match
    page: int
    pages: int
    digits: int
    at: float  # of the server's clock
    version: str  # ask with after = this


@dataclass(frozen=True)
class ClientRound:
    """A round as a client took part in it."""

    round: int
    opened: float
    ended: float | None
    steps: int
    cost: float
    payment: float | None  # None: it did not take part
    paid_out: float | None  # when
    outcome: str


@dataclass(frozen=True)
class ClientHistory:
    client: ClientRow
    signs: bool
    silent: int  # rounds in a row
    paid_out: float
    digits: int
    history: list[ClientRound]  # the last round first
    older: int | None  # ask with before = this for more
    last_paid: int | None  # the last of these rounds that paid it
    at: float  # of the server's clock
    version: str  # ask with after = this


def roster(
    connection: Connection,
    at: float,
    *,
    search: str = "",
    state: str | None = None,
    sort: str = "id",
    descending: bool = False,
    page: int = 1,
) -> Roster:
    digits = money.digits_in_force(connection)
    Word(SORTS).of("sort", sort)
    Whole(1, 10**6).of("page", page)
    query = _rows(connection, at)
    if search:
        query = query.where(_clients.name.icontains(search, autoescape=True))
    if state is not None:
        Word(STATES).of("state", state)
        query = query.where(query.selected_columns.state == state)
    total = connection.scalar(select(func.count()).select_from(query.subquery())) or 0
    key = SORTS[sort].desc() if descending else SORTS[sort].asc()
    chosen = query.order_by(key, _clients.id).limit(PAGE).offset((page - 1) * PAGE)
    rows = [_row(row, digits) for row in connection.execute(chosen)]
    pages = max(1, -(-total // PAGE))
    return Roster(rows, total, page, pages, digits, at, version(connection, at))


def history(
    connection: Connection, client: int, at: float, before: int | None = None
) -> ClientHistory:
    """A client, and its last rounds (`before`: earlier than this one)."""
    found = connection.execute(_rows(connection, at).where(_clients.id == client)).first()
    if found is None:
        raise refuse("client", client, "the id of a client")
    digits = money.digits_in_force(connection)
    rows = connection.execute(_past(client, before)).all()
    rounds = [_round(row, digits) for row in rows[:PAGE]]
    marked, paid = tables.payouts.c, tables.payments.c
    same = (marked[name] == paid[name] for name in ("federation", "round", "client"))
    out = connection.scalar(
        select(func.sum(paid.amount_units))
        .join(tables.payouts, and_(*same))
        .where(paid.client == client)
    )
    conduct = tables.conduct.c
    silent = connection.scalar(select(conduct.silent).where(conduct.client == client)) or 0
    last = next((round for round in rounds if round.payment), None)
    return ClientHistory(
        client=_row(found, digits),
        signs=found.key is not None,
        silent=silent,
        paid_out=from_units(int(out or 0), digits),
        digits=digits,
        history=rounds,
        older=rounds[-1].round if len(rows) > PAGE else None,
        last_paid=None if last is None else last.round,
        at=at,
        version=version(connection, at),
    )


def why_paid(connection: Connection, number: int, client: int) -> str:
    """Why a client was paid what it was paid in a round, in a sentence with the numbers."""
    round = explain(connection, number)
    own = next((share for share in round.shares if share.client == client), None)
    lacking = " More cannot be said without the mechanism's code." * round.missing_code
    return "" if own is None else f"Round {number}: {_sentence(own)}{lacking}"


def _sentence(own: ClientInRound) -> str:
    return f"{isolated(own.name)} shared {counted(own.steps, 'step')}. {own.why}"


def _rows(connection: Connection, at: float) -> Select[Any]:
    number = connection.scalar(select(tables.federation.c.settings)) or 0
    state = member_state(read_body(connection, number), at).label("state")
    own = tables.client_summaries
    joined = tables.clients.outerjoin(tables.presence).outerjoin(own, _own.client == _clients.id)
    return select(
        _clients.id, _clients.name, _clients.key, state, tables.presence.c.heard,
        _own.rounds, _own.steps, _own.nats, _own.paid_units, _own.last_round,
    ).select_from(joined)  # fmt: skip


def _row(row: Any, digits: int) -> ClientRow:
    paid = from_units(row.paid_units or 0, digits)
    return ClientRow(
        row.id, row.name, row.state, row.heard, row.rounds or 0, row.steps or 0, row.nats or 0.0,
        paid, row.last_round or 0,
    )  # fmt: skip


def _past(client: int, before: int | None) -> Select[Any]:
    """The rounds that a client had data in, the last one first."""
    uploads, rounds, offers = tables.uploads.c, tables.rounds.c, tables.offers
    paid, marks, removed = tables.payments, tables.payouts, tables.removals

    def same(table: Any) -> Any:
        found = (table.c.round == uploads.round) & (table.c.client == uploads.client)
        here = select(tables.federation.c.name).scalar_subquery()
        return found & (table.c.federation == here) if "federation" in table.c else found

    query = (
        select(
            uploads.round, uploads.steps, uploads.cost_units, rounds.opened,
            rounds.ended, rounds.stage, paid.c.amount_units,
            marks.c.at, offers.c.accepted, offers.c.failed, removed.c.limit,
        )
        .join(tables.rounds, rounds.number == uploads.round)
        .outerjoin(paid, same(paid))
        .outerjoin(marks, same(marks))
        .outerjoin(offers, same(offers))
        .outerjoin(removed, same(removed))
        .where(uploads.client == client, uploads.steps > 0)
    )  # fmt: skip
    if before is not None:
        query = query.where(uploads.round < before)
    return query.order_by(uploads.round.desc()).limit(PAGE + 1)


def _round(row: Any, digits: int) -> ClientRound:
    payment = None if row.amount_units is None else from_units(row.amount_units, digits)
    cost = from_units(row.cost_units, digits)
    return ClientRound(
        row.round, row.opened, row.ended, row.steps, cost, payment, row.at, _outcome(row, payment)
    )


def _outcome(row: Any, payment: float | None) -> str:
    if payment is not None:
        return "shared, paid" if payment else "shared for data"
    if row.failed:
        return FAILURES[row.accepted]
    if row.limit == BARRED:
        return "passed over: barred"
    if row.limit in ("least_sharers", "least_steps"):
        return "too little was shared"
    if row.limit in ("largest_share", "steps_spread"):
        return "passed over: too large a share of all data"
    if row.limit is not None:
        return f"passed over: above {LIMITS.get(row.limit, row.limit)}"
    return "in progress" if row.ended is None else "passed over"
