"""The past of each client, as far as limits depend on it: what it was paid in all, and the price
that it declared last. The entries say the same, and the audit goes by them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select

from ..protocol.limits import Limits, Past
from . import tables
from .money import amount_of

_past, _uploads = tables.past, tables.uploads.c


def read_past(connection: Connection) -> dict[int, Past]:
    """Of all clients that have one."""
    return {row.client: Past(row.paid, row.price) for row in connection.execute(select(_past))}


def remember(
    past: Mapping[int, Past],
    limits: Limits | None,
    prices: Mapping[int, float],
    payments: Mapping[int, float],
) -> dict[int, Past]:
    """What is new after a round, by what clients declared in it and what they were paid."""
    rule = limits or Limits()
    return {
        client: rule.next(past.get(client, Past()), price, payments.get(client))
        for client, price in prices.items()
    }


def write_past(
    connection: Connection,
    round: int,
    limits: Limits | None,
    payments: Mapping[int, float],
    digits: int | None,
) -> None:
    """The same in the database; of everybody who had data in this round."""
    had_data = (_uploads.round == round) & (_uploads.steps > 0)
    columns = _uploads.client, _uploads.cost, _uploads.cost_units
    rows = connection.execute(select(*columns).where(had_data))
    prices = {row.client: amount_of(row, "cost", digits) for row in rows}
    if prices:
        new = remember(read_past(connection), limits, prices, payments)
        connection.execute(delete(_past).where(_past.c.client.in_(sorted(new))))
        rows_of = [{"client": client, **one._asdict()} for client, one in sorted(new.items())]
        connection.execute(insert(_past), rows_of)
