"""The past of each client, as far as limits depend on it: what it was paid in all, how much it
shared, and the highest price that it declared. The entries say the same, and the audit goes by
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from ..protocol.limits import Limits, Past
from . import tables
from .money import amount_of

_past, _uploads = tables.past, tables.uploads.c
ALL = select(_past, tables.clients.c.revoked).join(tables.clients)


class Sent(NamedTuple):
    """What an upload says."""

    price: float
    steps: int


def read_past(connection: Connection) -> dict[int, Past]:
    """Of all clients that have one."""
    return {row.client: Past(*row[1:]) for row in connection.execute(ALL)}


def remember(
    past: Mapping[int, Past],
    limits: Limits | None,
    uploads: Mapping[int, Sent],
    payments: Mapping[int, float],
) -> dict[int, Past]:
    """What is new after a round, by what clients with data declared and were paid."""
    rule = limits or Limits()
    return {
        client: rule.next(past.get(client, Past()), sent.price, payments.get(client), sent.steps)
        for client, sent in uploads.items()
    }


def forget_shared(connection: Connection, client: int) -> None:
    """It has shared nothing: that was withdrawn."""
    connection.execute(update(_past).where(_past.c.client == client).values(steps=0))


def write_past(
    connection: Connection,
    round: int,
    limits: Limits | None,
    payments: Mapping[int, float],
    digits: int | None,
) -> None:
    """The same in the database; of everybody who had data in this round."""
    had_data = (_uploads.round == round) & (_uploads.steps > 0)
    columns = _uploads.client, _uploads.steps, _uploads.cost, _uploads.cost_units
    rows = connection.execute(select(*columns).where(had_data))
    sent = {row.client: Sent(amount_of(row, "cost", digits), row.steps) for row in rows}
    if sent:
        new = remember(read_past(connection), limits, sent, payments)
        connection.execute(delete(_past).where(_past.c.client.in_(sorted(new))))
        rows_of = [
            {"client": client, "paid": one.paid, "price": one.price, "steps": one.steps}
            for client, one in sorted(new.items())
        ]
        connection.execute(insert(_past), rows_of)
