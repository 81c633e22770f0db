"""What people read of a ledger: a table of clients, and exports of payments, rounds or entries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from ..support import inputs
from ..support.files import replacing
from . import tables
from .clients import members

FORMS = (".csv", ".parquet")


def clients_table(connection: Connection) -> str:
    """A Markdown table with a line for each client."""
    paid = tables.payments.c
    sums = {
        row.client: (row.rounds, row.amount)
        for row in connection.execute(
            select(
                paid.client, func.count().label("rounds"), func.sum(paid.amount).label("amount")
            ).group_by(paid.client)
        )
    }
    lines = ["| id | name | last seen (UTC) | shared in | paid |", "|---|---|---|---|---|"]
    for one in members(connection):
        last_seen = "never"
        if one.last_seen is not None:
            last_seen = datetime.fromtimestamp(one.last_seen, UTC).strftime("%Y-%m-%d %H:%M:%S")
        count, amount = sums.get(one.id, (0, 0.0))
        rounds = inputs.counted(count, "round")
        name = f"{one.name} (revoked)" if one.revoked else one.name
        lines.append(f"| {one.id} | {name} | {last_seen} | {rounds} | {amount:,.2f} |")
    return "\n".join(lines)


def export(connection: Connection, path: Path, what: str = "payments") -> int:
    """Write the rows of `what`; returns how many. The file is written whole or not at all."""
    import polars as pl

    inputs.choice("what", what, TABLES)
    form = path.suffix.lower()
    if form not in FORMS:
        raise inputs.refuse("path", str(path), f"a name that ends in {' or '.join(FORMS)}")
    make, schema = TABLES[what]
    kinds = {name: _POLARS[kind] for name, kind in schema.items()}
    frame = pl.DataFrame(make(connection), schema={k: getattr(pl, v) for k, v in kinds.items()})
    with replacing(path) as fresh:
        if form == ".csv":
            frame.write_csv(fresh)
        else:
            frame.write_parquet(fresh)
    return frame.height


def _moment(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def _payments(connection: Connection) -> list[dict[str, Any]]:
    """A row for each participant of a round; the amount is 0 if it took part for data alone."""
    paid, rounds, clients = tables.payments, tables.rounds, tables.clients
    query = (
        select(paid, rounds.c.ended, clients.c.name)
        .join(rounds, paid.c.round == rounds.c.number)
        .join(clients, paid.c.client == clients.c.id)
        .order_by(paid.c.round, paid.c.client)
    )
    return [
        {
            "federation": row.federation,
            "round": row.round,
            "closed": _moment(row.ended),
            "client": row.client,
            "name": row.name,
            "amount": row.amount,
        }
        for row in connection.execute(query)
    ]


def _rounds(connection: Connection) -> list[dict[str, Any]]:
    money: dict[int, list[float]] = {}
    for row in connection.execute(select(tables.payments)):
        money.setdefault(row.round, []).append(row.amount)
    return [
        {
            "round": row.number,
            "stage": row.stage,
            "opened": _moment(row.opened),
            "ended": _moment(row.ended),
            "trigger": row.trigger,
            "attempts": row.attempt,
            "participants": len(money.get(row.number, [])),
            "paid": float(sum(money.get(row.number, []))),
            "settings": row.settings,
        }
        for row in connection.execute(select(tables.rounds).order_by(tables.rounds.c.number))
    ]


def _entries(connection: Connection) -> list[dict[str, Any]]:
    query = select(tables.entries).order_by(tables.entries.c.number)
    return [row._asdict() for row in connection.execute(query)]


_POLARS = {int: "Int64", float: "Float64", str: "String"}
Maker = Callable[[Connection], list[dict[str, Any]]]
TABLES: dict[str, tuple[Maker, dict[str, type]]] = {
    "payments": (
        _payments,
        {"federation": str, "round": int, "closed": str, "client": int, "name": str,
         "amount": float},
    ),
    "rounds": (
        _rounds,
        {"round": int, "stage": str, "opened": str, "ended": str, "trigger": int, "attempts": int,
         "participants": int, "paid": float, "settings": int},
    ),
    "entries": (_entries, {"number": int, "body": str, "hash": str}),
}  # fmt: skip
