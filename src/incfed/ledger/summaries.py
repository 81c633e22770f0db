"""Summaries of closed rounds and of clients: a read model, kept up to date as rounds close.

The evidence (entries, uploads, payments) says the same, but would have to be added up each time
that somebody looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from sqlalchemy import (
    Connection,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)

from ..protocol.money import to_units
from ..protocol.open_round import Closed, OpenRound
from . import money, tables
from .records import read_body

_own, _rounds = tables.client_summaries, tables.round_summaries
_sent, _offers = tables.uploads.c, tables.offers.c
BARRED = "barred"  # in place of a limit
NOTHING = SimpleNamespace(rounds=0, steps=0, nats=0.0, paid_units=0)  # of a new client
# Built once: building a statement takes longer than running it.
KNOWN = select(_own).where(_own.c.client.in_(bindparam("clients", expanding=True)))
FORGET = delete(_own).where(_own.c.client.in_(bindparam("clients", expanding=True)))


def summarise(
    connection: Connection,
    number: int,
    at: float,
    opened: OpenRound,
    payments: Mapping[int, float],
    digits: int,
    closed: Closed,
) -> None:
    """Round `number` has closed with these participants and payments."""
    round, uploads = opened.round, opened.uploads
    nats = dict(zip(opened.clients, round.contributions(round.nobody).tolist(), strict=True))
    costs = dict(zip(opened.clients, uploads.costs.tolist(), strict=True))
    steps = dict(zip(opened.clients, uploads.steps.tolist(), strict=True))
    connection.execute(
        insert(_rounds).values(
            round=number,
            ended=at,
            for_data=sum(not paid and costs[client] > 0 for client, paid in payments.items()),
            for_money=sum(paid > 0 for paid in payments.values()),
            no_cost=sum(not paid and not costs[client] for client, paid in payments.items()),
            passed_over=_with_data(number).scalar_subquery() - len(payments),
            payment_units=money.total(payments.values(), digits),
            communication=closed.communication,
            ratio=closed.ratio,
        )
    )
    if opened.called > opened.count:
        _note_barred(connection, number, opened.clients)
    if not payments:
        return
    who = {"clients": sorted(payments)}
    known = {row.client: row for row in connection.execute(KNOWN, who)}
    connection.execute(FORGET, who)  # two statements for all: an UPDATE would be one for each
    connection.execute(insert(_own), [
        _sum(
            known.get(client, NOTHING), client, number, steps[client], nats[client],
            to_units(paid, digits),
        )
        for client, paid in sorted(payments.items())
    ])  # fmt: skip


def _sum(
    row: Any, client: int, number: int, steps: int, nats: float, paid_units: int
) -> dict[str, float]:
    """A client's row after a round that it took part in."""
    return {
        "client": client, "rounds": row.rounds + 1, "steps": row.steps + steps,
        "nats": row.nats + nats, "paid_units": row.paid_units + paid_units, "last_round": number,
    }  # fmt: skip


def _with_data(number: int) -> Select[int]:
    """How many clients had data in a round, those included that then failed, or were barred."""
    return select(func.count()).where(_sent.round == number, _sent.steps > 0)


def _note_barred(connection: Connection, number: int, judged: list[int]) -> None:
    """Clients with data that were barred from this round: neither judged, nor failed in it."""
    offered = select(_offers.client).where(_offers.round == number)
    barred = select(_sent.round, _sent.client, literal(BARRED)).where(
        _sent.round == number, _sent.steps > 0,
        _sent.client.not_in(judged), _sent.client.not_in(offered),
    )  # fmt: skip
    connection.execute(insert(tables.removals).from_select(["round", "client", "limit"], barred))


def note_withdrawn(connection: Connection, client: int, rounds: int, steps: int) -> None:
    """So much of what a client shared was taken out again. What it was paid stays paid."""
    row = connection.execute(KNOWN, {"clients": [client]}).one()
    left = row.steps - steps
    # In proportion: the nats of each round alone would take two factorisations for each of them,
    # while everybody waits.
    nats = row.nats * left / row.steps if row.steps else 0.0
    values = {"rounds": row.rounds - rounds, "steps": left, "nats": nats}
    connection.execute(update(_own).where(_own.c.client == client).values(values))


def note_removed(connection: Connection, number: int, removed: Mapping[int, str]) -> None:
    """A decision of this round left these clients out, by a limit; it takes the place of what an
    earlier decision said."""
    connection.execute(delete(tables.removals).where(tables.removals.c.round == number))
    if removed:
        rows = [
            {"round": number, "client": client, "limit": limit}
            for client, limit in sorted(removed.items())
        ]
        connection.execute(insert(tables.removals), rows)


def series(connection: Connection, points: int) -> list[dict[str, Any]]:
    """Closed rounds in order, for a chart: so many points at most, each the mean of a few rounds
    in a row (`first` to `last`)."""
    last = connection.scalar(select(func.max(_rounds.c.round))) or 0
    width = max(1, -(-last // points))
    c, bucket = _rounds.c, (_rounds.c.round - 1) // width
    names = ("for_data", "for_money", "no_cost", "passed_over", "communication", "ratio")
    unit = 10 ** money.digits_in_force(connection)
    query = (
        select(
            func.min(c.round).label("first"), func.max(c.round).label("last"),
            func.max(c.ended).label("ended"), (func.avg(c.payment_units) / unit).label("payment"),
            *(func.avg(c[name]).label(name) for name in names),
        )
        .group_by(bucket)
        .order_by(func.min(c.round))
    )  # fmt: skip
    return [dict(row._mapping) for row in connection.execute(query)]


def version_of_rounds(connection: Connection) -> str:
    """Another one if there may be a new round."""
    return str(connection.scalar(select(tables.federation.c.version)) or 0)


def betas(connection: Connection) -> list[tuple[int, float | None]]:
    """From which round on which beta was to be reached; None: the mechanism had none."""
    rounds = tables.rounds.c
    query = select(func.min(rounds.number), rounds.settings).group_by(rounds.settings)
    found: list[tuple[int, float | None]] = []
    for first, settings in connection.execute(query.order_by(func.min(rounds.number))):
        beta = read_body(connection, settings)["mechanism"].get("beta")
        if not found or found[-1][1] != beta:
            found.append((first, None if beta is None else float(beta)))
    return found
