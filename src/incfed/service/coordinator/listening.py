"""Signals of clients between rounds, and whether a round should open: the rule of the simulator.

The server combines the uploads of the last round, of those that did not share, with what clients
said since. It forgets what clients said of data that they have shared.

Every signal is judged, so what one needs of the others is kept in memory. The database stays the
only truth: another coordinator may write to it, and a transaction may be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, delete, func, insert, select, update

from ...kernels.coalition import log_gains
from ...kernels.signals import Signals, know, worthwhile_of
from ...ledger import tables
from ...ledger.clients import members
from ...ledger.past import read_past
from ...ledger.records import (
    CLOSED,
    Pruned,
    from_bytes,
    open_round,
    read_epoch,
    read_uploads,
    to_bytes,
)
from ...ledger.settings import Settings
from ...protocol import deciding
from ...protocol.global_statistics import GlobalStatistics
from ...protocol.messages import Signal, Upload
from ...protocol.money import from_units, to_units
from ...protocol.packing import FACTOR, Packed, add_rows, gather
from ...protocol.triggers import ROWS
from ...rules.rounds import EVERYONE
from ...types import Floats
from .batching import CLIENTS
from .errors import Conflict

CACHED = 64  # epochs, and orders of clients, that are kept in memory

# Statements are built once: building one takes longer than running it.
_signals, _paid, _rounds = tables.signals, tables.payments.c, tables.rounds.c
LAST_ROUND = select(func.max(_rounds.number)).where(_rounds.stage == CLOSED)
PENDING_OF = (_signals.c.steps > 0) & _signals.c.client.in_(CLIENTS)
FIGURE_NAMES = ("epoch", "learned", "steps", "growth")
FIGURES = select(*(_signals.c[name] for name in ("client", *FIGURE_NAMES, "cost_units"))).where(
    PENDING_OF
)
LAST_EPOCH = (
    select(func.max(_paid.epoch))
    .where(_paid.client == _signals.c.client)
    .correlate(_signals)  # which SQLAlchemy does by itself for one level only
    .scalar_subquery()
)
SINCE = select(tables.epochs.c.round).where(tables.epochs.c.number == LAST_EPOCH).scalar_subquery()
STREAMS = select(_signals, SINCE.label("since")).where(PENDING_OF, _signals.c.numbers.is_not(None))
KEPT = _signals.c.epoch.in_(select(tables.epochs.c.number).where(tables.epochs.c.V.is_not(None)))
FIGURES_KEPT, STREAMS_KEPT = FIGURES.where(KEPT), STREAMS.where(KEPT)


def hear(
    connection: Connection, client: int, signal: Signal, settings: Settings,
    nonce: str | None = None, check: Callable[[Packed], None] = lambda dV: None,
) -> bool:  # fmt: skip
    """Store it; is it of a later step than the one before? Conflict if rows are missing. `nonce`:
    of the client's start, whose rows continue none of another one's. `check`: of all that it has
    streamed and not shared, which may become its upload."""
    own = _signals.c.client == client
    before = connection.execute(select(_signals).where(own)).first()
    same = before is not None and before.nonce == nonce
    rows = settings.rule.streams == ROWS
    dV = _stream(before if same else None, signal, settings.dim) if rows else None
    if dV is not None and signal.steps:
        check(dV)
    values: dict[str, Any] = {name: getattr(signal, name) for name in FIGURE_NAMES}
    values["cost_units"] = to_units(signal.cost, settings.money_digits)
    if dV is not None:
        values |= {"form": dV.form, "numbers": to_bytes(dV.numbers)}
        values |= {"nonce": nonce, "signature": signal.signature}
        if before is not None:
            values |= {"taken": before.taken, "taken_by": before.taken_by}
    connection.execute(delete(_signals).where(own))
    connection.execute(insert(_signals).values(client=client, **values))
    return before is None or signal.learned > before.learned


def _stream(before: Any, signal: Signal, dim: int) -> Packed:
    """All that the client has not shared yet: what it said before, and its new rows."""
    if signal.dV is not None:
        return signal.dV
    if not signal.steps:
        return Packed(FACTOR, dim, np.empty(0))
    if before is not None and before.numbers is not None and signal.rows is not None:
        new = signal.learned - before.learned
        if signal.steps == before.steps + new and 0 <= new <= len(signal.rows):
            said = Packed(before.form, dim, from_bytes(before.numbers))
            return add_rows(said, signal.rows[len(signal.rows) - new :]) if new else said
    raise Conflict("rows", None, "those of all steps since your last signal: send dV instead")


class Streamed(NamedTuple):
    """The data of a client that was not shared yet, made of the rows that it streamed."""

    upload: Upload
    since: int  # the round in which it last shared; 0: it has not
    known: int  # the epoch that it has
    learned: int

    @property
    def said(self) -> dict[str, Any]:
        """The fields of the upload's entry about the stream that it was made of."""
        signed = {} if self.upload.signature is None else {"signature": self.upload.signature}
        names = ("since", "known", "learned")
        return {name: getattr(self, name) for name in names} | signed


def streamed(
    connection: Connection, settings: Settings, epoch: int, clients: Collection[int]
) -> dict[int, Streamed]:
    """Read the data that may become the uploads of these clients."""
    everyone = settings.download == EVERYONE
    rows = _by_client(connection, STREAMS if everyone else STREAMS_KEPT, clients)
    return {
        client: Streamed(
            Upload(
                0, epoch if everyone else row.epoch, row.steps, _cost(row, settings),
                Packed(row.form, settings.dim, from_bytes(row.numbers)), row.signature,
            ),
            row.since or 0, row.epoch, row.learned,
        )
        for client, row in rows.items()
    }  # fmt: skip


def claim(connection: Connection, client: int) -> Any:
    """The `epoch` and the `growth` of the last signal of this client, if there is one."""
    columns = _signals.c.epoch, _signals.c.growth
    return connection.execute(select(*columns).where(_signals.c.client == client)).first()


def speakers(connection: Connection) -> list[int]:
    """The clients that have said something which is not shared."""
    return list(connection.scalars(select(_signals.c.client).where(_signals.c.steps > 0)))


def forget(connection: Connection, clients: Collection[int]) -> None:
    """Delete the signals of these clients: their data is shared, or cannot be taken."""
    connection.execute(delete(_signals).where(_signals.c.client.in_(sorted(clients))))


def take(connection: Connection, clients: Collection[int]) -> None:
    """Note that the rows of these clients are their uploads to the round that opens."""
    connection.execute(update(_signals).values(taken=None, taken_by=None))
    taken = _signals.c.client.in_(sorted(clients))
    connection.execute(
        update(_signals).where(taken).values(taken=_signals.c.learned, taken_by=_signals.c.nonce)
    )


class _Stream(NamedTuple):
    """The data that a client streamed and has not shared."""

    said: tuple[Any, ...]  # the figures of its signal: as long as they are the same, so is this
    base: int  # the epoch that it has
    dV: Floats
    logdet: float  # log det V_i


class Judge:
    """Whether a round should open; asked after every signal."""

    def __init__(self) -> None:
        self._epochs: dict[int, GlobalStatistics] = {}
        self._streams: dict[int, _Stream] = {}
        self._last = 0  # the last round that was closed, to which the following belongs:
        self._known: dict[int, Upload] = {}  # its uploads that were not shared
        self._gains: dict[tuple[int, int], float] = {}  # by them, by client and the epoch it has
        self._exact: dict[tuple[int, ...], Floats] = {}  # `Signals.exact`, by epoch and clients

    def opens(
        self, connection: Connection, settings: Settings, epoch: int, clients: Collection[int]
    ) -> bool:
        """Should a round of these clients open, by the rows that they streamed?"""
        said = _figures(connection, settings, clients)
        if not self._promising(connection, settings, epoch, said):
            return False
        sent = streamed(connection, settings, epoch, clients)
        uploads = {client: stream.upload for client, stream in sent.items()}
        opened = open_round(
            connection, settings, uploads, epoch=epoch, trigger=0, spent=0.0, out=(),
            past=read_past(connection, settings.money_digits), members=_members(connection),
        )  # fmt: skip
        return deciding.worthwhile(opened)

    def calls(
        self, connection: Connection, settings: Settings, epoch: int, clients: Collection[int]
    ) -> bool:
        """Should the server call these clients to a round, by the growth that they reported?"""
        said, everyone = _figures(connection, settings, clients), settings.download == EVERYONE
        pending = self._pending(connection, settings)
        known = {client: upload for client, upload in pending.items() if client in clients}
        ids = sorted(said.keys() | known.keys())
        if not ids:
            return False
        steps = {client: message.steps for client, message in [*known.items(), *said.items()]}
        if settings.limits.shortfall(_members(connection), steps.values()) is not None:
            return False
        costs, logdets, grown = np.zeros(len(ids)), np.zeros(len(ids)), np.zeros(len(ids))
        for k, client in enumerate(ids):
            upload, signal = known.get(client), said.get(client)
            of = epoch if everyone or signal is None else signal.epoch
            if upload is not None and (signal is None or signal.steps <= upload.steps):
                signal, of = None, epoch if everyone else upload.epoch
            of = self._kept(connection, settings, of, epoch)
            gain = 0.0  # by what the server has of its data
            if upload is not None:
                gain = self._gain(connection, settings, client, upload, of)
            growth = gain if signal is None else max(gain, signal.growth)
            logdets[k] = self._shared(connection, settings, of).logdet + growth
            grown[k] = growth - gain
            costs[k] = _cost(signal, settings) if signal else upload.cost if upload else 0.0
        signals = settings.rule.signals(len(ids), settings.dim, settings.ridge, costs)
        assert signals is not None
        signals.grown[:] = grown
        now = self._shared(connection, settings, epoch)
        ordered = [ids[k] for k in signals.order]
        signals.exact[:] = self._figures(settings, epoch, now, signals, ordered, known)
        signals.figure[0] = signals.exact[-1] + grown.sum()
        return worthwhile_of(signals, logdets, np.ones(len(logdets), np.int64), now.logdet)

    def _promising(
        self, connection: Connection, settings: Settings, epoch: int, said: dict[int, Any]
    ) -> bool:
        """The conditions that are quickly checked: enough news, and somebody who needs no more."""
        everyone, old, streams = settings.download == EVERYONE, self._streams, {}
        for client, signal in said.items():
            base = epoch if everyone else signal.epoch
            found = old.get(client)
            if found is not None and (found.said, found.base) == (tuple(signal), base):
                streams[client] = found
        missing = said.keys() - streams.keys()
        for client, (upload, *_) in streamed(connection, settings, epoch, missing).items():
            base, dV = self._shared(connection, settings, upload.epoch), upload.dV.matrix()
            logdet = GlobalStatistics.of(base.V + dV, base.b, settings.ridge).logdet
            streams[client] = _Stream(tuple(said[client]), upload.epoch, dV, logdet)
        self._streams = streams
        if not streams:
            return False
        ids = sorted(streams)
        costs = np.array([_cost(said[client], settings) for client in ids])
        signals = settings.rule.signals(len(ids), settings.dim, settings.ridge, costs)
        assert signals is not None
        now = self._shared(connection, settings, epoch)
        total = now.V.copy()
        for stream in streams.values():
            total += stream.dV
        signals.figure[0] = GlobalStatistics.of(total, now.b, settings.ridge).logdet
        logdets = np.array([streams[client].logdet for client in ids])
        return worthwhile_of(signals, logdets, np.ones(len(logdets), np.int64), now.logdet)

    def _shared(self, connection: Connection, settings: Settings, epoch: int) -> GlobalStatistics:
        if epoch not in self._epochs:
            if len(self._epochs) >= CACHED:
                self._epochs.clear()
            kept = read_epoch(connection, epoch, settings.dim)
            self._epochs[epoch] = GlobalStatistics.of(*kept, settings.ridge)
        return self._epochs[epoch]

    def _kept(self, connection: Connection, settings: Settings, epoch: int, current: int) -> int:
        """This epoch; the current one if it was pruned: who has it must download first."""
        try:
            self._shared(connection, settings, epoch)
        except Pruned:
            return current
        return epoch

    def _pending(self, connection: Connection, settings: Settings) -> dict[int, Upload]:
        """The pending data that the server has: the uploads of the last round that were not
        shared."""
        last = connection.scalar(LAST_ROUND) or 0
        if last != self._last:
            shared = set(connection.scalars(select(_paid.client).where(_paid.round == last)))
            try:
                uploads = read_uploads(connection, last, settings)
            except Pruned:
                uploads = {}
            pending = {
                client: up for client, up in uploads.items() if up.steps and client not in shared
            }
            self._last, self._known = last, pending
            self._gains.clear()
            self._exact.clear()
        return self._known

    def _gain(
        self, connection: Connection, settings: Settings, client: int, upload: Upload, epoch: int
    ) -> float:
        """The growth of the log det of an epoch by this upload."""
        if (client, epoch) not in self._gains:
            old, gain = self._shared(connection, settings, epoch), np.zeros(1)
            pending, own = gather([upload.dV], settings.dim), np.ones(1, np.bool_)
            log_gains(old.V, old.factor, old.logdet, settings.ridge, pending, own, gain)
            self._gains[client, epoch] = float(gain[0])
        return self._gains[client, epoch]

    def _figures(
        self, settings: Settings, epoch: int, now: GlobalStatistics, signals: Signals,
        ordered: list[int], known: dict[int, Upload],
    ) -> Floats:  # fmt: skip
        """`Signals.exact` for clients in this order."""
        key = (epoch, *ordered)
        if key not in self._exact:
            if len(self._exact) >= CACHED:
                self._exact.clear()
            pending = gather([upload.dV for upload in known.values()], settings.dim)
            places = {client: place for place, client in enumerate(known)}
            where = np.array([places.get(client, -1) for client in ordered])
            V, factor = now.V.copy(), now.factor.copy()
            know(signals, where, V, factor, now.logdet, settings.ridge, pending)
            self._exact[key] = signals.exact.copy()
        return self._exact[key]


def _cost(signal: Any, settings: Settings) -> float:
    """The client's cost in a row of `signals`."""
    return from_units(signal.cost_units, settings.money_digits)


def _members(connection: Connection) -> int:
    return sum(not client.revoked for client in members(connection))


def warm_up(settings: Settings, shared: GlobalStatistics, uploads: Mapping[int, Upload]) -> None:
    """Compile what a judge needs, by asking it about these uploads."""
    ids = list(uploads)
    costs = np.array([uploads[client].cost for client in ids])
    signals = settings.rule.signals(len(ids), settings.dim, settings.ridge, costs)
    assert signals is not None
    Judge()._figures(settings, 0, shared, signals, ids, dict(uploads))
    everybody = np.ones(len(ids), np.int64)
    worthwhile_of(signals, np.full(len(ids), shared.logdet), everybody, shared.logdet)


def _figures(
    connection: Connection, settings: Settings, clients: Collection[int]
) -> dict[int, Any]:
    """The signals of these clients, without their rows. One for one, a client counts on top of the
    epoch that it has: if that was pruned, not before it downloads."""
    statement = FIGURES if settings.download == EVERYONE else FIGURES_KEPT
    return _by_client(connection, statement, clients)


def _by_client(
    connection: Connection, statement: Select[Any], clients: Collection[int]
) -> dict[int, Any]:
    """Signals of these clients."""
    rows = connection.execute(statement, {"clients": sorted(clients)})
    return {row.client: row for row in rows}
