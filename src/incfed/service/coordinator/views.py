"""Views: what clients and operators read. Each query is made once for all clients of a batch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, bindparam, select

from ...ledger import tables
from ...ledger.chain import digest
from ...ledger.clients import EnrolledClient
from ...ledger.records import RUNNING, from_bytes, read_epoch, read_own
from ...ledger.settings import Settings
from ...protocol.checks import Refusal
from ...protocol.messages import Download
from ...protocol.money import from_units
from ...protocol.packing import DIGEST, FACTOR, Packed, coordinates, pack_matrix, pack_rows
from ...protocol.triggers import ROWS
from ...rules.clients import ClientRules
from ...rules.rounds import EVERYONE
from ...rules.rule import served
from ...types import Floats
from ..requests import Start
from ..wire import ClientView, FederationView, OfferView, PrivacyView, RoundView, Stage, StateView
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
TAKEN = select(_signals.client, _signals.taken, _signals.taken_by).where(
    _signals.client.in_(CLIENTS)
)
_paid = tables.payments.c
PAYMENTS = (
    select(_paid.client, _paid.round, _paid.amount_units)
    .where(_paid.client.in_(CLIENTS))
    .where(_paid.epoch > bindparam("since"), _paid.epoch <= bindparam("epoch"))
    .order_by(_paid.round)
)
_uploads = tables.uploads.c
ADDED = (
    select(_paid.round, _paid.client, _uploads.steps)
    .where(_uploads.round == _paid.round, _uploads.client == _paid.client)
    .where(_paid.epoch > bindparam("since"), _paid.epoch <= bindparam("epoch"))
    .order_by(_paid.round, _paid.client)
)

_withdrawn = tables.withdrawals.c
WITHDRAWN = select(tables.withdrawals).where(_withdrawn.client.in_(CLIENTS))
WITHDRAWN_SINCE = select(_withdrawn.epoch).where(
    _withdrawn.epoch > bindparam("since"), _withdrawn.epoch <= bindparam("epoch")
)


def view_federation(
    settings: Settings, client: EnrolledClient, state: StateView, start: int = 0
) -> FederationView:
    """The settings that a client needs; `start`: the number of its last start."""
    body = settings.body()
    rules = {name: body[name] for name in served(ClientRules)}
    if rules["privacy"] is not None:
        rules["privacy"] = PrivacyView(**rules["privacy"])
    return FederationView(
        **rules,
        federation=settings.identity,
        client=ClientView(client.id, client.name),
        epoch=state.epoch,
        revision=state.revision,
        start=start,
        key=client.key,
        answer_within=min(settings.upload_time, settings.answer_time),
    )


def view_states(transaction: RoundTransaction, clients: Sequence[int]) -> list[StateView]:
    """The federation and its last round, as each of these clients sees them."""
    version, round = transaction.federation.version, transaction.round
    epochs = transaction.allowed_epochs(clients)
    revision = transaction.federation.settings
    if round is None:
        return [StateView(version, epochs[client], None, revision) for client in clients]
    values = {"number": round.number, "clients": sorted(set(clients))}
    uploaded = set(transaction.connection.scalars(OWN_UPLOADS, values))
    rows = transaction.connection.execute(OWN_ROWS[tables.offers], values)
    offers = {row.client: row for row in rows}
    delivered = set(transaction.connection.scalars(OWN_DELIVERIES, values)) if offers else set()
    taken = {}
    if transaction.settings.rule.streams == ROWS and transaction.running:
        taken = {row.client: row for row in transaction.connection.execute(TAKEN, values)}
    digits = transaction.settings.money_digits
    # a round that ended without a decision is closed, as far as a client is concerned
    stage: Stage = round.stage if round.stage in RUNNING else "closed"

    def view(client: int) -> RoundView:
        offer = offers.get(client)
        return RoundView(
            number=round.number,
            stage=stage,
            uploaded=client in uploaded,
            offer=_view_offer(offer, digits) if offer and not offer.failed else None,
            answered=offer is not None and offer.accepted is not None,
            delivered=client in delivered,
            taken=taken[client].taken if client in taken else None,
            taken_by=taken[client].taken_by if client in taken else None,
        )

    return [StateView(version, epochs[client], view(client), revision) for client in clients]


def _view_offer(offer: Any, digits: int) -> OfferView:
    payment = from_units(offer.payment_units, digits)
    return OfferView(offer.attempt, payment, offer.payment_units)


class Wanted(NamedTuple):
    """A client asks for a download."""

    client: int
    since: int | None  # the epoch that it has; None: none yet
    model: bool = True  # False: it only wants to know in which rounds it took part
    packed: bool = False  # whether it is sent packed: a factor is smaller then
    own: tuple[int, ...] = ()  # rounds whose data of its own it has: that is left out
    uploaded: tuple[int, str] | None = None  # the round that it uploaded to, and the digest of that
    start: Start | None = None  # of the client


class Downloads:
    """Downloads: what was added since the client's epoch where that is smaller, else everything."""

    def __init__(self) -> None:
        self._cache: dict[Any, tuple[int | None, Packed, Floats]] = {}
        self._added: dict[Any, list[Any] | None] = {}
        self._scores: dict[int, Floats | None] = {}  # by epoch

    def make(
        self, transaction: RoundTransaction, asked: Sequence[Wanted]
    ) -> list[Download | Refusal]:
        """(V_g, b_g) for each client, with the rounds in which it took part since the epoch that it
        has."""
        connection, current = transaction.connection, transaction.federation.epoch
        digits = transaction.settings.money_digits
        allowed = transaction.allowed_epochs(wanted.client for wanted in asked)
        if transaction.settings.download != EVERYONE:
            granted = {
                wanted.client: allowed[wanted.client]
                for wanted in asked
                if wanted.model
                and (wanted.since or 0) <= allowed[wanted.client]  # others are refused
            }
            grant(connection, granted)
        shared: dict[tuple[int, int | None], dict[int, float]] = {
            wanted[:2]: {} for wanted in asked
        }
        for since in {wanted.since for wanted in asked}:
            clients = sorted({client for client, known in shared if known == since})
            values = {"clients": clients, "since": since or 0, "epoch": current}
            for row in connection.execute(PAYMENTS, values):
                shared[row.client, since][row.round] = from_units(row.amount_units, digits)
        withdrawn = connection.execute(
            WITHDRAWN, {"clients": sorted({wanted.client for wanted in asked})}
        ).all()
        uploads = _digests(connection, (
            (wanted.uploaded[0], wanted.client) for wanted in asked
            if wanted.uploaded is not None
            and wanted.uploaded[0] in shared[wanted.client, wanted.since]
        ))  # fmt: skip
        found: list[Download | Refusal] = []
        for wanted in asked:
            epoch, rounds = allowed[wanted.client], shared[wanted.client, wanted.since]
            if wanted.since is not None and not 0 <= wanted.since <= epoch:
                found.append(Conflict("since", wanted.since, f"an epoch from 0 to {epoch}"))
                continue
            if wanted.uploaded is not None:
                round, named = wanted.uploaded
                if uploads.get((round, wanted.client), named) != named:
                    # a copy of its state may have been used meanwhile
                    expected = f"what you shared in round {round}: there it was something else"
                    found.append(Conflict("upload", None, expected))
                    continue
            if not wanted.model:
                nothing = pack_rows(np.empty((0, transaction.settings.dim)))
                zero, since = np.zeros(transaction.settings.dim), wanted.since or 0
                found.append(Download(since, since, nothing, zero, rounds, money_digits=digits))
                continue
            own = tuple(sorted(rounds.keys() & set(wanted.own)))
            wanted = wanted._replace(own=own)
            since, V, b = self._statistics(connection, wanted, epoch, transaction.settings.dim)
            without = own if since is not None else ()
            scored = None
            if len(V.numbers):  # without new data, nothing is new
                scored = self._mean_scores(connection, epoch, transaction.settings.dim)
            gone = [
                past.last for past in withdrawn
                if past.client == wanted.client and (wanted.since or 0) < past.epoch <= epoch
            ]  # fmt: skip
            last = max(gone, default=0)
            found.append(Download(epoch, since, V, b, rounds, without, scored, digits, last))
        return found

    def _mean_scores(self, connection: Connection, epoch: int, dim: int) -> Floats | None:
        if epoch not in self._scores:
            if len(self._scores) >= CACHED:
                self._scores.clear()
            self._scores[epoch] = scores.mean(connection, epoch, dim)
        return self._scores[epoch]

    def _statistics(
        self, connection: Connection, wanted: Wanted, epoch: int, dim: int
    ) -> tuple[int | None, Packed, Floats]:
        """Since when (None: ever), V and b. Clients that shared nothing get the same."""
        key = (wanted.since, epoch, wanted.packed)
        found = None if wanted.own else self._cache.get(key)
        if found is None:
            new = self._news(connection, wanted, epoch, dim)
            found = self._whole(connection, epoch, dim) if new is None else (wanted.since, *new)
            if not wanted.own:
                self._keep(key, found)
        return found

    def _news(
        self, connection: Connection, wanted: Wanted, epoch: int, dim: int
    ) -> tuple[Packed, Floats] | None:
        """The data that was added after `wanted.since`; None: the whole is smaller, or something
        was withdrawn."""
        if wanted.since is None:
            return None
        most = dim - 1 if wanted.packed else dim // 2  # rows: in JSON, zeros are sent too
        key = wanted.since, epoch, most
        if key not in self._added:
            if len(self._added) >= CACHED:
                self._added.clear()
            self._added[key] = _added(connection, *key)
        added = self._added[key]
        if added is None:
            return None
        others = [
            row for row in added if row.client != wanted.client or row.round not in wanted.own
        ]
        if sum(row.steps for row in others) > most:
            return None
        return _difference(connection, others, wanted.packed, dim)

    def _whole(
        self, connection: Connection, epoch: int, dim: int
    ) -> tuple[int | None, Packed, Floats]:
        found = self._cache.get(epoch)
        if found is None:
            V, b = read_epoch(connection, epoch, dim)
            found = None, pack_matrix(V), b
            self._keep(epoch, found)
        return found

    def _keep(self, key: Any, made: tuple[int | None, Packed, Floats]) -> None:
        if len(self._cache) >= CACHED:
            self._cache.clear()
        self._cache[key] = made


def _digests(
    connection: Connection, wanted: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], str]:
    """Digests of uploads, by round and client; without those that were pruned."""
    clients = defaultdict[int, set[int]](set)
    for round, client in wanted:
        clients[round].add(client)
    return {
        (row.round, row.client): digest(row.numbers)[:DIGEST]
        for round, some in clients.items()
        for row in connection.execute(
            OWN_ROWS[tables.uploads], {"number": round, "clients": sorted(some)}
        )
        if row.numbers is not None
    }


def _added(connection: Connection, since: int, epoch: int, most: int) -> list[Any] | None:
    """The rounds, clients and steps that were added after `since`. None: something was withdrawn,
    or it is more than `most` steps, whichever client's own are left out."""
    values = {"since": since, "epoch": epoch}
    if connection.scalar(WITHDRAWN_SINCE, values) is not None:
        return None
    added = connection.execute(ADDED, values).all()
    by_client = Counter[int]()
    for row in added:
        by_client[row.client] += row.steps
    return None if by_client.total() - max(by_client.values(), default=0) > most else list(added)


def _difference(
    connection: Connection, added: Iterable[Any], packed: bool, dim: int
) -> tuple[Packed, Floats] | None:
    """The sums of what was added; None: the whole is smaller.

    The factors of all participants are merged into one: if several shared, no client sees
    another's.
    """
    rows, total = [np.empty((0, dim))], np.zeros(dim)
    for round, client, _ in added:
        sent, delivered = (
            read_own(connection, table, round, client)
            for table in (tables.uploads, tables.deliveries)
        )
        if sent.form != FACTOR or sent.numbers is None or delivered.db is None:
            return None
        rows.append(from_bytes(sent.numbers).reshape(-1, dim))
        total = total + from_bytes(delivered.db)
    V = pack_rows(np.concatenate(rows))
    if packed and coordinates(V, total) is None:
        return None
    return V, total
