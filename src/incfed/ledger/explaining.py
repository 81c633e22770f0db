"""A closed round, explained: who could share, in which order, for what, and why others did not.

Recomputed from what clients uploaded, as the audit does; once that is pruned, or without the code
of the mechanism, only what was paid is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, exists, select

from ..errors import refuse
from ..mechanisms.base import Round
from ..protocol.money import from_units
from ..rules.plugins import MissingCode
from . import tables
from .overview import version
from .records import CLOSED, RUNNING, VOID, Pruned, read_body, read_round, read_settings
from .summaries import BARRED

LIMITS = {
    "budget": "the budget left",
    "per_round": "the limit of a round",
    "per_payment": "the limit of one payment",
    "per_client": "the limit of one client",
    "reserve": "the reserve price",
    "price_rise": "the limit on how fast a price may rise",
    "price_spread": "the limit on how far a price may be above the others'",
}
FAILURES = {  # by whether it accepted the offer
    None: "did not answer the offer in time",
    False: "declined the offer",
    True: "accepted the offer, and did not deliver in time",
}


@dataclass(frozen=True)
class ClientInRound:
    """A client with data in a round."""

    client: int
    name: str
    steps: int
    cost: float
    nats: float | None  # by which its data alone makes log det V_g grow; None: pruned
    incentive: float | None  # I^d of Eq. 4: what the data of all participants is worth to it
    joined: bool
    payment: float
    why: str


@dataclass(frozen=True)
class Explained:
    number: int
    stage: str
    opened: float
    ended: float | None
    called_by: str
    epoch: int
    attempts: int
    mechanism: str
    beta: float | None
    ratio: float | None
    communication: int | None
    payment: float
    idle: int  # clients without new data, which take part and are not listed
    digits: int
    shares: list[ClientInRound]  # the largest contribution first
    removed: dict[str, str]  # by name: which limit
    pruned: bool
    missing_code: bool  # of the mechanism: it is not loaded here
    version: str  # ask with after = this


def explain(connection: Connection, number: int) -> Explained:
    rounds, clients = tables.rounds.c, tables.clients.c
    row = connection.execute(select(tables.rounds).where(rounds.number == number)).first()
    if row is None:
        last = connection.scalar(select(tables.federation.c.round)) or 0
        raise refuse("round", number, f"from 1 to {last}")
    body = read_body(connection, row.settings)
    digits = body["money_digits"]
    names = {
        client.id: client.name for client in connection.execute(select(clients.id, clients.name))
    }
    uploads = _rows(connection, tables.uploads, number)
    paid_units = {
        client: payment.amount_units
        for client, payment in _rows(connection, tables.payments, number).items()
    }
    payments = {client: from_units(units, digits) for client, units in paid_units.items()}
    offers = _rows(connection, tables.offers, number)
    removed = _removed(connection, number)
    summaries = tables.round_summaries
    summary = connection.execute(select(summaries).where(summaries.c.round == number)).first()
    active = {client: upload for client, upload in uploads.items() if upload.steps}
    nats: Mapping[int, float] = {}
    worth: Mapping[int, float] = {}
    pruned = missing_code = False
    try:
        settings = read_settings(connection, row.settings)
        opened = read_round(
            connection, settings, round=number, epoch=row.epoch, trigger=row.trigger,
            spent=0.0, out=(),
        )  # fmt: skip
        nats, worth = _measures(opened.round, payments)
    except Pruned:
        pruned = True
    except MissingCode:
        missing_code = True
    shares = []
    for client, upload in active.items():
        cost, paid = from_units(upload.cost_units, digits), payments.get(client)
        said = _why(
            cost, paid, worth.get(client), offers.get(client), removed.get(client), row.stage,
            digits,
        )  # fmt: skip
        shares.append(
            ClientInRound(
                client, names[client], upload.steps, cost, nats.get(client), worth.get(client),
                paid is not None, paid or 0.0, said,
            )
        )  # fmt: skip
    shares.sort(key=lambda share: (-(share.nats or 0.0), share.client))
    kind = body["mechanism"]
    return Explained(
        number=number,
        stage=row.stage,
        opened=row.opened,
        ended=row.ended,
        called_by=names[row.trigger],
        epoch=row.epoch,
        attempts=row.attempt,
        mechanism=str(kind["kind"]),
        beta=kind.get("beta"),
        ratio=None if summary is None else summary.ratio,
        communication=None if summary is None else summary.communication,
        payment=from_units(sum(paid_units.values()), digits),
        idle=len(uploads) - len(active),
        digits=digits,
        shares=shares,
        removed={names[client]: limit for client, limit in removed.items()},
        pruned=pruned,
        missing_code=missing_code,
        version=version_of(connection, number),
    )


def version_of(connection: Connection, number: int) -> str:
    """Another one if a round may have changed: one that has ended only does so if it is pruned."""
    rounds, uploads, epochs = tables.rounds.c, tables.uploads.c, tables.epochs.c
    gone = exists().where(uploads.round == rounds.number, uploads.numbers.is_(None))
    old = exists().where(epochs.number == rounds.epoch, epochs.V.is_(None))
    query = select(rounds.stage, (gone | old).label("pruned")).where(rounds.number == number)
    row = connection.execute(query).first()
    if row is None or row.stage in RUNNING:
        return version(connection)
    return f"{row.stage}{'-pruned' * bool(row.pruned)}"


def _rows(connection: Connection, table: Any, number: int) -> dict[int, Any]:
    query = select(table).where(table.c.round == number).order_by(table.c.client)
    if table is tables.payments:  # its key begins with the federation
        query = query.where(
            table.c.federation == select(tables.federation.c.name).scalar_subquery()
        )
    if table is tables.uploads:  # without what they hold
        names = ("client", "steps", "cost_units")
        query = query.with_only_columns(*(table.c[name] for name in names))
    return {row.client: row for row in connection.execute(query)}


def _removed(connection: Connection, number: int) -> dict[int, str]:
    """Whom the decisions of a round left out, and by which limit."""
    removals = tables.removals.c
    query = select(removals.client, removals.limit).where(removals.round == number)
    return {row.client: row.limit for row in connection.execute(query)}


def _measures(
    round: Round, payments: Mapping[int, float]
) -> tuple[dict[int, float], dict[int, float]]:
    """For each client with data: its contribution in nats, and its data incentive beside the
    participants."""
    S = np.isin(round.clients, list(payments))
    clients = round.clients.tolist()
    nats = dict(zip(clients, round.contributions(round.nobody).tolist(), strict=True))
    worth = dict(zip(clients, round.incentives(S).tolist(), strict=True))
    return nats, worth


def _why(
    cost: float, paid: float | None, worth: float | None, offer: Any, removed: str | None,
    stage: str, digits: int,
) -> str:  # fmt: skip
    def sum_of(amount: float) -> str:
        return f"{amount:,.{digits}f}"

    if paid is not None:
        if not cost:
            return "Sharing costs it nothing."
        data = "" if worth is None else f", and what the others shared is worth {sum_of(worth)}"
        if not paid:
            return f"Sharing costs it {sum_of(cost)}{data}: no money was needed."
        if worth is not None and worth >= cost:
            return f"Sharing costs it {sum_of(cost)}{data}; the mechanism pays it {sum_of(paid)}."
        return f"Sharing costs it {sum_of(cost)}{data}: {sum_of(paid)} in money covers the rest."
    if offer is not None and offer.failed:
        return f"It {FAILURES[offer.accepted]}."
    if removed == BARRED:
        return "Passed over: it is barred for a while, since it failed to deliver."
    if removed in ("least_sharers", "least_steps"):
        return "Too few clients or steps would have been shared in this round, so nothing was."
    if removed in ("largest_share", "steps_spread"):
        return "Passed over: too large a share of all data is its own. It waits for the others."
    if removed is not None:
        return f"Passed over: its price exceeds {LIMITS.get(removed, removed)}."
    if stage == VOID:
        return "The round ended without a decision."
    if stage != CLOSED:
        return "Not decided yet."
    return "Passed over: the others' data was enough, or cheaper."
