"""What clients say between rounds, and whether a round should open: the rule of the simulator.

The server combines the uploads of the last round, of those that did not share, with what clients
said since. It forgets what clients said of data that they have shared.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from ...kernels.coalition import log_gains
from ...kernels.signals import know, worthwhile
from ...kernels.store import PENDING, SERVER, empty_store
from ...ledger import tables
from ...ledger.records import (
    CLOSED,
    Pruned,
    from_bytes,
    read_epoch,
    read_round_inputs,
    read_uploads,
    to_bytes,
)
from ...ledger.settings import Settings
from ...protocol.messages import Signal, Upload
from ...protocol.packing import FACTOR, Packed, add_rows, gather
from ...protocol.protocols import EVERYONE
from ...protocol.shared import Shared
from .errors import Conflict

_signals, _paid, _rounds = tables.signals, tables.payments.c, tables.rounds.c
LAST_ROUND = select(func.max(_rounds.number)).where(_rounds.stage == CLOSED)
LAST_SHARED = select(_paid.client, func.max(_paid.epoch).label("epoch")).group_by(_paid.client)


def hear(connection: Connection, client: int, signal: Signal, dim: int, rows: bool) -> bool:
    """Store it; is it of another step than the one before? Conflict if rows are missing."""
    own = _signals.c.client == client
    before = connection.execute(select(_signals).where(own)).first()
    dV = _stream(before, signal, dim) if rows else None
    values: dict[str, Any] = dict(zip(Signal._fields[:5], signal[:5], strict=True))
    if dV is not None:
        values |= {"form": dV.form, "numbers": to_bytes(dV.numbers)}
        values["taken"] = None if before is None else before.taken
    connection.execute(delete(_signals).where(own))
    connection.execute(insert(_signals).values(client=client, **values))
    return before is None or before.learned != signal.learned


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


def opens(connection: Connection, settings: Settings, epoch: int, clients: Collection[int]) -> bool:
    """Should a round of these clients open, by the rows that they streamed?"""
    uploads = streamed(connection, settings, epoch, clients)
    if not uploads:
        return False
    inputs = read_round_inputs(
        connection, settings, round=0, epoch=epoch, trigger=0, spent=0.0, out=()
    )
    return settings.rule.opens(inputs._replace(uploads=uploads).open()[1])


def streamed(
    connection: Connection, settings: Settings, epoch: int, clients: Collection[int]
) -> dict[int, Upload]:
    """What these clients have not shared yet, by the rows that they streamed: their uploads."""
    everyone = settings.download == EVERYONE
    return {
        client: Upload(
            0, epoch if everyone else one.epoch, one.steps, one.cost,
            Packed(one.form, settings.dim, from_bytes(one.numbers)),
        )
        for client, one in _said(connection, clients).items()
        if one.numbers is not None
    }  # fmt: skip


def take(connection: Connection, clients: Collection[int]) -> None:
    """What these clients streamed is their upload to the round that opens."""
    connection.execute(update(_signals).values(taken=None))
    taken = _signals.c.client.in_(sorted(clients))
    connection.execute(update(_signals).where(taken).values(taken=_signals.c.learned))


def calls(connection: Connection, settings: Settings, epoch: int, clients: Collection[int]) -> bool:
    """Should the server call these clients to a round, by the growth that they reported?"""
    said = _said(connection, clients)
    known = _known(connection, settings, clients)
    bases: dict[int, Shared] = {}

    def base(number: int) -> Shared:
        if number not in bases:
            bases[number] = Shared.of(*read_epoch(connection, number, settings.dim), settings.ridge)
        return bases[number]

    ids = sorted(said.keys() | known.keys())
    places = {client: place for place, client in enumerate(known)}
    pending = gather([upload.dV for upload in known.values()], settings.dim)
    costs, logdets, grown = np.zeros(len(ids)), np.zeros(len(ids)), np.zeros(len(ids))
    for k, client in enumerate(ids):
        upload, signal = known.get(client), said.get(client)
        of = epoch if signal is None else signal.epoch
        if upload is not None and (signal is None or signal.steps <= upload.steps):
            signal, of = None, epoch if settings.download == EVERYONE else upload.epoch
        shared, gains = base(of), np.zeros(len(known))
        if upload is not None:
            own = np.arange(len(known)) == places[client]
            log_gains(shared.V, shared.factor, shared.logdet, settings.ridge, pending, own, gains)
        gain = gains.sum()  # by what the server has of its data
        growth = gain if signal is None else max(gain, signal.growth)
        logdets[k], grown[k] = shared.logdet + growth, growth - gain
        costs[k] = signal.cost if signal is not None else upload.cost if upload is not None else 0.0
    signals = settings.rule.signals(len(ids), settings.dim, settings.ridge, costs)
    if signals is None or not ids:
        return False
    signals.grown[:] = grown
    where = np.array([places.get(ids[k], -1) for k in signals.order])
    now = base(epoch)
    know(
        signals, where, now.V.copy(), now.factor.copy(), now.logdet, settings.ridge, pending
    )  # fmt: skip
    store = empty_store(len(ids), settings.dim, settings.ridge)
    store.table[:SERVER, PENDING] = 1
    store.logdet[:SERVER, 0], store.logdet[SERVER, 0] = logdets, now.logdet
    return bool(worthwhile(store, signals))


def _said(connection: Connection, clients: Collection[int]) -> dict[int, Any]:
    """The last signal of each client, unless it has shared since."""
    shared = {row.client: row.epoch for row in connection.execute(LAST_SHARED)}
    return {
        row.client: row
        for row in connection.execute(select(_signals).where(_signals.c.steps > 0))
        if row.client in clients and row.epoch >= shared.get(row.client, 0)
    }


def _known(
    connection: Connection, settings: Settings, clients: Collection[int]
) -> dict[int, Upload]:
    """What the server has of pending data: the uploads of the last round that were not shared."""
    last = connection.scalar(LAST_ROUND)
    if last is None:
        return {}
    shared = set(connection.scalars(select(_paid.client).where(_paid.round == last)))
    try:
        uploads = read_uploads(connection, last, settings.dim)
    except Pruned:
        return {}
    return {
        client: one
        for client, one in uploads.items()
        if one.steps and client in clients and client not in shared
    }
