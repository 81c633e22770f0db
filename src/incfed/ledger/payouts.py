"""Payouts: an operator marks payments as paid out, once; who said so and when stays on record."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from .. import errors
from . import money, tables
from .chain import append
from .clients import find


class Payout(NamedTuple):
    """The payments that were marked as paid out."""

    rounds: list[int]
    amount: Decimal
    name: str  # of the client


def mark_paid_out(
    connection: Connection,
    who: int | str,
    by: str,
    at: float,
    *,
    round: int | None = None,
    through: int | None = None,
) -> Payout:
    """Mark the payment to a client in one round, or all that are not marked yet, through a round
    (None: the last one)."""
    if not by.strip() or not by.isprintable() or len(by) > 80:
        raise errors.refuse("by", by, "the name of who paid: 1 to 80 characters")
    member = find(connection, who)
    client, name = member.id, member.name
    owed = _payments(connection, client)
    if round is not None:
        chosen = [_not_marked(owed.get(round), name, round)]
    else:
        last = max(owed, default=0) if through is None else through
        chosen = [
            payment for payment in owed.values() if payment.round <= last and payment.by is None
        ]
    if not chosen:
        raise errors.InputError(f"{name}: has no payment that is not marked as paid out yet")
    row = {"client": client, "by": by, "at": at}
    marks = [row | {"federation": payment.federation, "round": payment.round} for payment in chosen]
    connection.execute(insert(tables.payouts), marks)
    paid = {str(payment.round): payment.amount_units for payment in chosen}
    append(connection, "paid_out", at, client=client, by=by, payments=paid)
    total = money.decimal(sum(paid.values()), money.digits_in_force(connection))
    return Payout([payment.round for payment in chosen], total, name)


def _payments(connection: Connection, client: int) -> dict[int, Any]:
    """The payments to a client that are not 0, by round, with who marked each and when."""
    paid, marks = tables.payments.c, tables.payouts
    query = (
        select(tables.payments, marks.c.by, marks.c.at)
        .outerjoin(marks, (marks.c.round == paid.round) & (marks.c.client == paid.client))
        .where(paid.client == client, paid.amount_units > 0)
        .order_by(paid.round)
    )
    return {row.round: row for row in connection.execute(query)}


def _not_marked(payment: Any, name: str, round: int) -> Any:
    if payment is None:
        raise errors.refuse("round", round, f"a closed round in which {name} is paid")
    if payment.by is not None:
        when = datetime.fromtimestamp(payment.at, UTC)
        allowed = f"one not paid out yet: {payment.by} marked it on {when:%Y-%m-%d at %H:%M} UTC"
        raise errors.refuse("round", round, allowed)
    return payment
