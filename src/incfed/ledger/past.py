"""The past of each client, as far as limits depend on it: what it was paid in all, how much it
shared, and the highest price that it declared. The entries say the same, and the audit goes by
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from ..protocol.money import from_units, next_unit, to_units
from ..rules.limits import Limits, Past
from . import tables

_past, _uploads = tables.past, tables.uploads.c
ALL = select(_past, tables.clients.c.revoked).join(tables.clients)


class Sent(NamedTuple):
    """The price and the number of steps of an upload."""

    price: float
    steps: int


def read_past(connection: Connection, digits: int) -> dict[int, Past]:
    """The past of all clients that have one."""
    return {
        row.client: Past(
            paid=from_units(row.paid_units, digits),
            price=from_units(row.price_units, digits),
            steps=row.steps,
            gone=row.revoked,
        )
        for row in connection.execute(ALL)
    }


def remember(
    past: Mapping[int, Past],
    limits: Limits,
    uploads: Mapping[int, Sent],
    payments: Mapping[int, float],
    digits: int,
) -> dict[int, Past]:
    """The new past of each client with data after a round, by what it declared and was paid. A
    price that was allowed to rise to a part of a minor unit is rounded up."""
    found = {}
    for client, sent in uploads.items():
        before = past.get(client, Past())
        after = limits.next(before, sent.price, payments.get(client), sent.steps)
        found[client] = after._replace(
            paid=from_units(to_units(after.paid, digits), digits),
            price=next_unit(after.price or 0.0, digits),
        )
    return found


def forget_shared(connection: Connection, client: int) -> None:
    """It has shared nothing: that was withdrawn."""
    connection.execute(update(_past).where(_past.c.client == client).values(steps=0))


def write_past(
    connection: Connection,
    round: int,
    limits: Limits,
    payments: Mapping[int, float],
    digits: int,
) -> None:
    """Keep in the database what is new after a round, of everybody who had data in it."""
    had_data = (_uploads.round == round) & (_uploads.steps > 0)
    columns = _uploads.client, _uploads.steps, _uploads.cost_units
    rows = connection.execute(select(*columns).where(had_data))
    sent = {row.client: Sent(from_units(row.cost_units, digits), row.steps) for row in rows}
    if sent:
        new = remember(read_past(connection, digits), limits, sent, payments, digits)
        connection.execute(delete(_past).where(_past.c.client.in_(sorted(new))))
        rows_of = [
            {
                "client": client,
                "paid_units": to_units(past.paid, digits),
                "price_units": to_units(past.price or 0.0, digits),
                "steps": past.steps,
            }
            for client, past in sorted(new.items())
        ]
        connection.execute(insert(_past), rows_of)
