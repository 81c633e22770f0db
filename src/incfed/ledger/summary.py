"""The clients of a federation, as a plain table."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, func, select

from ..support.inputs import counted
from . import tables
from .clients import members


def clients_table(connection: Connection) -> str:
    """Markdown, a line a client."""
    paid = tables.payments.c
    sums = {
        row.client: (row.rounds, row.amount)
        for row in connection.execute(
            select(
                paid.client, func.count().label("rounds"), func.sum(paid.amount).label("amount")
            ).group_by(paid.client)
        )
    }
    lines = ["| id | name | heard of last (UTC) | shared in | paid |", "|---|---|---|---|---|"]
    for one in members(connection):
        heard = "never"
        if one.heard is not None:
            heard = datetime.fromtimestamp(one.heard, UTC).strftime("%Y-%m-%d %H:%M:%S")
        count, amount = sums.get(one.id, (0, 0.0))
        rounds = counted(count, "round")
        name = f"{one.name} (revoked)" if one.revoked else one.name
        lines.append(f"| {one.id} | {name} | {heard} | {rounds} | {amount:,.2f} |")
    return "\n".join(lines)
