"""A federation at a glance: who is there, the round in progress, what is spent, what to look at.

One look is a few indexed queries, however long the ledger is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, and_, case, func, select

from ..protocol.money import from_units
from ..support.inputs import counted
from . import audits, tables
from .records import OPEN, RUNNING, read_body

DAY = 86_400.0
PACE_OVER = 7 * DAY  # by what was paid in this time, it is said when the budget runs out
LEAST_TIME = 3600.0  # since the first payment,
LEAST_ROUNDS = 10  # or so many rounds that paid: sooner, nobody can tell the pace
OVERDUE = 7 * DAY  # after which an audit, or a saved head, is
TURN = 10.0  # seconds until it shows who has gone away, or what is overdue
NAMED = 5  # clients that are named; the others are counted
HEAD = "head"  # a chore
TURNS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])  # characters of Unicode
LIVE, AWAY, BARRED, REVOKED = STATES = ("live", "away", "barred", "revoked")


@dataclass(frozen=True)
class RoundNow:
    """The round in progress, step by step."""

    number: int
    stage: str
    opened: float
    deadline: float | None
    called_by: str
    attempt: int  # how often it was decided
    uploaded: int
    awaited: list[str]  # the first few of those who have to upload, or to deliver
    more: int  # that are awaited, too
    offered: int
    answered: int
    delivered: int


@dataclass(frozen=True)
class Spending:
    spent: float
    reserved: float  # for the offers that stand
    budget: float | None
    digits: int  # of money
    per_day: float | None  # of late; None: nothing was paid yet, or only just now
    since: float | None  # when the time began in which this was paid
    runs_out: float | None  # when, at this pace


@dataclass(frozen=True)
class Attention:
    """Something that an operator should look at."""

    kind: str
    text: str
    link: str  # of the console


@dataclass(frozen=True)
class Now:
    federation: str
    version: str  # ask with after = this
    at: float
    paused: bool
    epoch: int
    rounds: int  # opened so far
    members: dict[str, int]  # by state
    round: RoundNow | None
    spending: Spending
    attention: list[Attention]


_audited = tables.audits.c
_VERSION = select(
    tables.federation.c.version,
    select(func.max(tables.entries.c.number)).scalar_subquery(),
    select(func.count(_audited.number)).scalar_subquery(),
    select(func.count(_audited.ended)).scalar_subquery(),
    select(func.max(_audited.seen)).scalar_subquery(),
)


def version(connection: Connection, at: float | None = None) -> str:
    """Another one if there may be something new: every entry and every sign of life of an audit
    counts, and so do `TURN` seconds, for what changes with time alone (None: nothing does). One
    query, which costs the same however long the ledger is."""
    turn = 0 if at is None else int(at // TURN)
    return "-".join(str(part or 0) for part in (*connection.execute(_VERSION).one(), turn))


def is_founded(connection: Connection) -> bool:
    """Whether there is a federation in the database."""
    return connection.scalar(select(tables.federation.c.id)) is not None


def look(connection: Connection, at: float) -> Now:
    federation = connection.execute(select(tables.federation)).one()
    settings = read_body(connection, federation.settings)
    round = _round(connection, federation.round, settings, at)
    spending = _spending(connection, federation, settings, at)
    return Now(
        federation=federation.name,
        version=version(connection, at),
        at=at,
        paused=federation.paused,
        epoch=federation.epoch,
        rounds=federation.round,
        members=_members(connection, settings, at),
        round=round,
        spending=spending,
        attention=list(_attention(connection, settings, spending, at)),
    )


def member_state(settings: dict[str, Any], at: float) -> Any:
    """An SQL expression: the state of a row of `clients`, joined with `presence`."""
    clients, heard, near = tables.clients.c, tables.presence.c.heard, settings["live_time"]
    latest = at + settings["barred_time"] + 1.0  # as in `clients.is_barred`
    barred = (clients.barred_until > at) & (clients.barred_until <= latest)
    return case(
        (clients.revoked.is_(True), REVOKED),
        (barred, BARRED),
        (heard.between(at - near, at + near), LIVE),
        else_=AWAY,
    )


def _members(connection: Connection, settings: dict[str, Any], at: float) -> dict[str, int]:
    state = member_state(settings, at).label("state")
    query = select(state, func.count()).select_from(tables.clients.outerjoin(tables.presence))
    found = {row[0]: row[1] for row in connection.execute(query.group_by(state))}
    return {name: found.get(name, 0) for name in STATES}


def _round(
    connection: Connection, number: int, settings: dict[str, Any], at: float
) -> RoundNow | None:
    rounds, clients = tables.rounds.c, tables.clients
    query = select(tables.rounds, clients.c.name).join(clients, clients.c.id == rounds.trigger)
    row = connection.execute(query.where(rounds.number == number)).first()
    if row is None or row.stage not in RUNNING:
        return None
    uploads, deliveries = (
        select(table.c.client).where(table.c.round == number)
        for table in (tables.uploads, tables.deliveries)
    )
    offers = tables.offers.c
    standing = and_(offers.round == number, offers.failed.is_(False))

    def count(query: Any) -> int:
        return connection.scalar(select(func.count()).select_from(query.subquery())) or 0

    if row.stage == OPEN:
        who = _to_upload(settings, at).where(clients.c.id.not_in(uploads))
    else:
        late = standing & offers.accepted.is_not(False) & offers.client.not_in(deliveries)
        who = select(clients.c.name).join(tables.offers, offers.client == clients.c.id).where(late)
    awaited = list(connection.scalars(who.order_by(clients.c.id).limit(NAMED)))
    return RoundNow(
        number=number,
        stage=row.stage,
        opened=row.opened,
        deadline=row.deadline,
        called_by=row.name,
        attempt=row.attempt,
        uploaded=count(uploads),
        awaited=awaited,
        more=count(who) - len(awaited),
        offered=count(select(offers.client).where(standing)),
        answered=count(select(offers.client).where(standing, offers.accepted.is_not(None))),
        delivered=count(deliveries),
    )


def _to_upload(settings: dict[str, Any], at: float) -> Select[Any]:
    """The names of those whose upload an open round awaits, as the coordinator does: clients that
    are live, and did not keep silent too often."""
    clients, conduct, near = tables.clients.c, tables.conduct.c, settings["live_time"]
    query = select(clients.name).join(tables.presence, tables.presence.c.client == clients.id)
    live = tables.presence.c.heard.between(at - near, at + near)
    query = query.where(live, clients.revoked.is_(False))
    if most := settings["silent_rounds"]:
        query = query.where(clients.id.not_in(select(conduct.client).where(conduct.silent >= most)))
    return query


def _spending(
    connection: Connection, federation: Any, settings: dict[str, Any], at: float
) -> Spending:
    digits, budget = settings["money_digits"], settings["budget"]
    spent = from_units(federation.posted_units, digits)
    reserved = from_units(federation.reserved_units, digits)
    summaries = tables.round_summaries.c
    paid = select(summaries.ended).where(summaries.payment_units > 0)
    began = list(connection.scalars(paid.order_by(summaries.ended).limit(LEAST_ROUNDS)))
    recent = connection.scalar(
        select(func.sum(summaries.payment_units)).where(summaries.ended > at - PACE_OVER)
    )
    per_day = since = runs_out = None
    if began and at > began[0] and (at - began[0] > LEAST_TIME or len(began) == LEAST_ROUNDS):
        since = max(began[0], at - PACE_OVER)
        per_day = from_units(int(recent or 0), digits) / ((at - since) / DAY)
        if budget is not None and per_day > 0:
            runs_out = at + max(0.0, budget - spent) / per_day * DAY
    return Spending(spent, reserved, budget, digits, per_day, since, runs_out)


def _attention(
    connection: Connection, settings: dict[str, Any], spending: Spending, at: float
) -> Iterator[Attention]:
    """Things to look at, the most urgent first."""
    if spending.budget is not None and spending.spent >= spending.budget:
        yield Attention("budget", "The budget is spent: clients share for data alone.", "now")
    elif beyond := _beyond_budget(connection):
        number, left_out = beyond
        said = f"The budget left is too small: round {number:,} passed over "
        said += f"{counted(left_out, 'client')} for it."
        yield Attention("budget", said, f"rounds/{number}")
    elif spending.runs_out is not None and spending.runs_out - at < OVERDUE:
        yield Attention("budget", "The budget runs out within a week at this pace.", "now")
    if most := settings["silent_rounds"]:
        conduct, clients = tables.conduct.c, tables.clients.c
        query = select(clients.id, clients.name).join(tables.conduct, conduct.client == clients.id)
        query = query.where(conduct.silent >= most, clients.revoked.is_(False))
        rows = connection.execute(query.order_by(clients.id)).all()
        if rows:
            said = f"{counted(len(rows), 'client')} did not answer when last awaited: "
            link = "clients" if len(rows) > 1 else f"clients/{rows[0].id}"
            yield Attention("silent", said + some([isolated(row.name) for row in rows]), link)
    refused, clients = tables.refusals.c, tables.clients.c
    query = select(clients.name, refused.field).join(tables.refusals, refused.client == clients.id)
    rows = connection.execute(query.where(refused.at > at - DAY).order_by(clients.id)).all()
    if rows:
        names = [f"{isolated(row.name)} ({row.field})" for row in rows]
        said = f"Messages of {counted(len(rows), 'client')} were refused in the last day: "
        yield Attention("refused", said + some(names), "clients")
    yield from _audits(connection, at)
    saved = connection.scalar(select(tables.chores.c.at).where(tables.chores.c.name == HEAD))
    if saved is None:
        said = "No back-up was recorded: save `incfed ledger head` with each."
        yield Attention("head", said, "ledger")
    elif at - saved > OVERDUE:
        yield Attention("head", "The last recorded back-up is more than a week old.", "ledger")


def _beyond_budget(connection: Connection) -> tuple[int, int] | None:
    """The last round that closed, if its settings are in force; and how many clients it passed over
    because the budget left did not cover their prices."""
    rounds, removals = tables.rounds.c, tables.removals.c
    last = select(func.max(tables.round_summaries.c.round)).scalar_subquery()
    now = select(tables.federation.c.settings).scalar_subquery()
    query = (
        select(rounds.number, func.count())
        .join(tables.removals, removals.round == rounds.number)
        .where(rounds.number == last, rounds.settings == now, removals.limit == "budget")
        .group_by(rounds.number)
    )
    row = connection.execute(query).first()
    return None if row is None else (row[0], row[1])


def _audits(connection: Connection, at: float) -> Iterator[Attention]:
    running, interrupted = audits.unfinished(connection, at)
    last = audits.last_ended(connection)
    if interrupted is not None:
        said = "The last audit was interrupted: the process that ran it has stopped."
        yield Attention("audit", said, "ledger")
    if last is not None and last.outcome != audits.CLEAN:
        failed = last.outcome == audits.FAILED
        said = "The last audit failed." if failed else "The last audit found problems."
        yield Attention("audit", said, "ledger")
    if running is not None:
        return
    if last is None:
        yield Attention("audit", "The ledger was never audited.", "ledger")
    elif last.ended is not None and at - last.ended > OVERDUE:
        yield Attention("audit", "The last audit was more than a week ago.", "ledger")


def isolated(name: str) -> str:
    """A name inside a sentence: whatever its direction, it leaves the rest alone. The characters
    that change directions are taken out of it: one of them might end the isolation."""
    return f"\u2068{name.translate(TURNS)}\u2069"


def some(names: list[str]) -> str:
    """The first few of a list."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def note_chore(connection: Connection, name: str, outcome: str, at: float) -> None:
    """A chore was done; with what outcome."""
    own = tables.chores.c.name == name
    values = {"at": at, "outcome": outcome}
    if not connection.execute(tables.chores.update().where(own).values(values)).rowcount:
        connection.execute(tables.chores.insert().values(name=name, **values))
