"""Views of a ledger for people: listings and exports of payments, offers, rounds or entries, and a
listing of clients. Money is in minor units, and beside them as a decimal number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from .. import errors
from ..results.listing import Listing
from ..support.files import replacing
from ..values import Word
from . import money, tables
from .clients import members
from .records import CLOSED

FORMS = (".csv", ".parquet")
CLIENTS = ("id", "name", "state", "last_seen_utc", "rounds", "paid", "paid_out")
SPARE = (  # columns that a narrow terminal can do without
    "federation", "settings", "digits", "reserved_units", "voided_units", "posted_units", "units",
    "attempts", "attempt", "trigger", "opened", "paid_out_by", "paid_out", "closed", "ended",
)  # fmt: skip
STATES = RESERVED, POSTED, VOIDED = "reserved", "posted", "voided"  # of the payment of an offer
_paid, _offered, _marked = tables.payments.c, tables.offers.c, tables.payouts.c
PAYMENTS = (
    select(tables.payments, tables.rounds.c.ended, tables.clients.c.name, _marked.by, _marked.at)
    .join(tables.rounds, _paid.round == tables.rounds.c.number)
    .join(tables.clients, _paid.client == tables.clients.c.id)
    .outerjoin(tables.payouts, (_marked.round == _paid.round) & (_marked.client == _paid.client))
    .order_by(_paid.round, _paid.client)
)
OFFERS = (
    select(tables.offers, tables.rounds.c.stage, tables.clients.c.name, _paid.epoch)
    .join(tables.rounds, _offered.round == tables.rounds.c.number)
    .join(tables.clients, _offered.client == tables.clients.c.id)
    .outerjoin(tables.payments, (_paid.round == _offered.round) & (_paid.client == _offered.client))
    .order_by(_offered.round, _offered.client)
)


def clients_listing(connection: Connection) -> Listing:
    """A row for each client."""
    digits = money.digits_in_force(connection)
    sums = _sums(connection)
    rows = []
    for client in members(connection):
        seen = None if client.last_seen is None else datetime.fromtimestamp(client.last_seen, UTC)
        last_seen = "never" if seen is None else f"{seen:%Y-%m-%d %H:%M:%S}"
        count, paid, paid_out = sums.get(client.id, (0, 0, 0))
        state = "revoked" if client.revoked else "enrolled"
        amounts = money.decimal(paid, digits), money.decimal(paid_out, digits)
        rows.append((client.id, client.name, state, last_seen, count, *amounts))
    return Listing.of(CLIENTS, rows)


def _sums(connection: Connection) -> dict[int, tuple[int, int, int]]:
    """For each client: in how many rounds it shared, its payments, and those that are paid out, in
    minor units."""
    found: dict[int, tuple[int, int, int]] = {}
    for row in connection.execute(PAYMENTS):
        count, paid, paid_out = found.get(row.client, (0, 0, 0))
        out = row.amount_units if row.by is not None else 0
        found[row.client] = count + 1, paid + row.amount_units, paid_out + out
    return found


def listing(connection: Connection, kind: str = "payments") -> Listing:
    """The rows that `export` would write."""
    Word(TABLES).of("kind", kind)
    make, schema = TABLES[kind]
    rows = make(connection, money.digits_in_force(connection))
    return Listing.of(list(schema), ([row[name] for name in schema] for row in rows), SPARE)


def export(connection: Connection, path: Path, kind: str = "payments") -> int:
    """Write the rows of a kind; returns how many. The file is written whole or not at all."""
    import polars as pl

    Word(TABLES).of("kind", kind)
    form = path.suffix.lower()
    if form not in FORMS:
        raise errors.refuse("path", str(path), f"a name that ends in {' or '.join(FORMS)}")
    make, schema = TABLES[kind]
    digits = money.digits_in_force(connection)
    rows = make(connection, digits)
    kinds: dict[type, Any] = {int: pl.Int64, str: pl.String, Decimal: pl.Decimal(38, digits)}
    frame = pl.DataFrame(rows, schema={name: kinds[kind] for name, kind in schema.items()})
    with replacing(path) as fresh:
        if form == ".csv":
            frame.write_csv(fresh)
        else:
            frame.write_parquet(fresh)
    return frame.height


def _moment(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def _payments(connection: Connection, digits: int) -> list[dict[str, Any]]:
    """A row for each participant of a round; the amount is 0 if it took part for data alone."""
    return [
        {
            "federation": row.federation,
            "round": row.round,
            "closed": _moment(row.ended),
            "client": row.client,
            "name": row.name,
            "units": row.amount_units,
            "digits": digits,
            "amount": money.decimal(row.amount_units, digits),
            "paid_out": _moment(row.at),
            "paid_out_by": row.by,
        }
        for row in connection.execute(PAYMENTS)
    ]


def _offers(connection: Connection, digits: int) -> list[dict[str, Any]]:
    """A row for each offer: its payment is reserved while the round goes on, then posted, or voided
    if the client declined or failed to deliver, or too few shared."""
    return [
        {
            "round": row.round,
            "client": row.client,
            "name": row.name,
            "attempt": row.attempt,
            "state": _state(row),
            "units": row.payment_units,
            "digits": digits,
            "amount": money.decimal(row.payment_units, digits),
        }
        for row in connection.execute(OFFERS)
    ]


def _state(offer: Any) -> str:
    if offer.epoch is not None:
        return POSTED
    # of a round that closed without its data, because too few shared, nothing is paid
    return VOIDED if offer.failed or offer.stage == CLOSED else RESERVED


def _rounds(connection: Connection, digits: int) -> list[dict[str, Any]]:
    """With the sums of its offers, by state."""
    offers: dict[int, list[Any]] = defaultdict(list)
    for row in connection.execute(OFFERS):
        offers[row.round].append(row)
    found = []
    for row in connection.execute(select(tables.rounds).order_by(tables.rounds.c.number)):
        here = {state: [offer.payment_units for offer in offers[row.number]
                        if _state(offer) == state]
                for state in STATES}  # fmt: skip
        units = {f"{state}_units": sum(each) for state, each in here.items()}
        found.append(
            {
                "round": row.number,
                "stage": row.stage,
                "opened": _moment(row.opened),
                "ended": _moment(row.ended),
                "trigger": row.trigger,
                "attempts": row.attempt,
                "participants": len(here[POSTED]),
                **units,
                "digits": digits,
                "paid": money.decimal(units["posted_units"], digits),
                "settings": row.settings,
            }
        )
    return found


def _entries(connection: Connection, digits: int) -> list[dict[str, Any]]:
    query = select(tables.entries).order_by(tables.entries.c.number)
    return [row._asdict() for row in connection.execute(query)]


Maker = Callable[[Connection, int], list[dict[str, Any]]]
TABLES: dict[str, tuple[Maker, dict[str, type]]] = {
    "payments": (
        _payments,
        {"federation": str, "round": int, "closed": str, "client": int, "name": str, "units": int,
         "digits": int, "amount": Decimal, "paid_out": str, "paid_out_by": str},
    ),
    "offers": (
        _offers,
        {"round": int, "client": int, "name": str, "attempt": int, "state": str, "units": int,
         "digits": int, "amount": Decimal},
    ),
    "rounds": (
        _rounds,
        {"round": int, "stage": str, "opened": str, "ended": str, "trigger": int, "attempts": int,
         "participants": int, "reserved_units": int, "posted_units": int, "voided_units": int,
         "digits": int, "paid": Decimal, "settings": int},
    ),
    "entries": (_entries, {"number": int, "body": str, "hash": str}),
}  # fmt: skip
