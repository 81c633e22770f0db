"""Views: what clients and operators read. Each query is made once for all clients of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, select

from ...kernels.factor import Floats
from ...ledger import tables
from ...ledger.clients import Member
from ...ledger.records import RUNNING, from_bytes, read_epoch
from ...ledger.settings import Settings
from ...protocol.checks import Refusal
from ...protocol.messages import Download
from ...protocol.packing import FACTOR, Packed, pack_matrix, pack_rows
from ...protocol.protocols import EVERYONE
from ...protocol.triggers import ROWS
from ..wire import ClientView, FederationView, OfferView, RoundView, Stage, StateView
from . import scores
from .batching import CLIENTS, OWN_ROWS
from .entitlements import grant
from .errors import Conflict
from .round import DELIVERED, UPLOADED, RoundTransaction

CACHED = 8  # downloads that are kept in memory: after a round, all clients ask for the same

# Statements are built once: building one takes longer than running it.
OWN_UPLOADS = UPLOADED.where(tables.uploads.c.client.in_(CLIENTS))
OWN_DELIVERIES = DELIVERED.where(tables.deliveries.c.client.in_(CLIENTS))
_signals = tables.signals.c
TAKEN = select(_signals.client, _signals.taken).where(_signals.client.in_(CLIENTS))
_paid = tables.payments.c
PAYMENTS = (
    select(_paid.client, _paid.round, _paid.amount)
    .where(_paid.client.in_(CLIENTS))
    .where(_paid.epoch > bindparam("since"), _paid.epoch <= bindparam("epoch"))
    .order_by(_paid.round)
)


def view_federation(settings: Settings, client: Member, epoch: int) -> FederationView:
    return FederationView(
        federation=settings.identity,
        dim=settings.dim,
        ridge=settings.ridge,
        noise=settings.noise,
        delta=settings.delta,
        exploration=settings.exploration,
        threshold=settings.threshold,
        arm_norm=settings.arm_norm,
        reward_bound=settings.reward_bound,
        cost_limit=settings.cost_limit,
        client=ClientView(client.id, client.name),
        epoch=epoch,
        trigger=None if settings.trigger is None else settings.trigger.settings(),
        download=settings.download,
        width=settings.width,
        width_scale=settings.width_scale,
        trust=settings.trust,
    )


def view_states(transaction: RoundTransaction, clients: Sequence[int]) -> list[StateView]:
    """The federation and its last round, as each of these clients sees them."""
    version, round = transaction.federation.version, transaction.round
    epochs = transaction.allowed_epochs(clients)
    if round is None:
        return [StateView(version, epochs[client], None) for client in clients]
    values = {"number": round.number, "clients": sorted(set(clients))}
    uploaded = set(transaction.connection.scalars(OWN_UPLOADS, values))
    rows = transaction.connection.execute(OWN_ROWS[tables.offers], values)
    offers = {row.client: row for row in rows}
    delivered = set(transaction.connection.scalars(OWN_DELIVERIES, values)) if offers else set()
    taken = {}
    if transaction.settings.rule.streams == ROWS and transaction.running:
        taken = {row.client: row.taken for row in transaction.connection.execute(TAKEN, values)}
    # a round that ended without a decision is closed, as far as a client is concerned
    stage: Stage = round.stage if round.stage in RUNNING else "closed"

    def view(client: int) -> RoundView:
        offer = offers.get(client)
        return RoundView(
            number=round.number,
            stage=stage,
            uploaded=client in uploaded,
            offer=OfferView(offer.attempt, offer.payment) if offer and not offer.failed else None,
            answered=offer is not None and offer.accepted is not None,
            delivered=client in delivered,
            taken=taken.get(client),
        )

    return [StateView(version, epochs[client], view(client)) for client in clients]


class Wanted(NamedTuple):
    """A client asks for a download."""

    client: int
    since: int | None  # the epoch that it has; None: none yet
    model: bool = True  # False: it only wants to know in which rounds it took part


# Since when (None: ever), V and b, and scores.
Statistics = tuple[int | None, Packed, Floats, Floats | None]


class Downloads:
    """Downloads: what was added since the client's epoch where that is smaller, else everything."""

    def __init__(self) -> None:
        self._cache: dict[tuple[int | None, int], Statistics] = {}

    def make(
        self, transaction: RoundTransaction, asked: Sequence[Wanted]
    ) -> list[Download | Refusal]:
        """(V_g, b_g) for each client, with the rounds in which it took part since the epoch that it
        has."""
        connection, current = transaction.connection, transaction.federation.epoch
        allowed = transaction.allowed_epochs(one.client for one in asked)
        if transaction.settings.download != EVERYONE:
            grant(connection, {one.client: allowed[one.client] for one in asked if one.model})
        shared: dict[tuple[int, int | None], dict[int, float]] = {one[:2]: {} for one in asked}
        for since in {one.since for one in asked}:
            clients = sorted({client for client, known in shared if known == since})
            values = {"clients": clients, "since": since or 0, "epoch": current}
            for row in connection.execute(PAYMENTS, values):
                shared[row.client, since][row.round] = row.amount
        found: list[Download | Refusal] = []
        for client, since, model in asked:
            epoch = allowed[client]
            if since is not None and not 0 <= since <= epoch:
                found.append(Conflict("since", since, f"an epoch from 0 to {epoch}"))
                continue
            if not model:
                epoch = since or 0
            statistics = self._statistics(connection, since, epoch, transaction.settings.dim)
            known, V, b, scored = statistics
            found.append(Download(epoch, known, V, b, shared[client, since], scored))
        return found

    def _statistics(
        self, connection: Connection, since: int | None, epoch: int, dim: int
    ) -> Statistics:
        found = self._cache.get((since, epoch))
        if found is None:
            new = None if since is None else _difference(connection, since, epoch, dim)
            scored = scores.mean(connection, epoch, dim)
            if new is None:
                V, b = read_epoch(connection, epoch, dim)
                found = None, pack_matrix(V), b, scored
            else:
                found = since, *new, scored
            if len(self._cache) >= CACHED:
                self._cache.clear()
            self._cache[since, epoch] = found
        return found


def _difference(
    connection: Connection, since: int, epoch: int, dim: int
) -> tuple[Packed, Floats] | None:
    """What was added after `since`; None: the whole is smaller.

    The factors of all participants are merged into one, so that no client sees another's.
    """
    paid, uploads, deliveries = tables.payments.c, tables.uploads.c, tables.deliveries.c
    query = (
        select(uploads.form, uploads.numbers, deliveries.db)
        .where(uploads.round == paid.round, uploads.client == paid.client)
        .where(deliveries.round == paid.round, deliveries.client == paid.client)
        .where(paid.epoch > since, paid.epoch <= epoch)
        .order_by(paid.round, paid.client)
    )
    rows, total, count = [np.empty((0, dim))], np.zeros(dim), 0
    for row in connection.execute(query):
        if row.form != FACTOR or row.numbers is None or row.db is None:
            return None
        rows.append(from_bytes(row.numbers).reshape(-1, dim))
        total = total + from_bytes(row.db)
        count += len(rows[-1])
        if 2 * count >= dim + 1:
            return None
    return pack_rows(np.concatenate(rows)), total
