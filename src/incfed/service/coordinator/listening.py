"""What clients say between rounds, and whether a round should open: the rule of the simulator.

The server combines the uploads of the last round, of those that did not share, with what clients
said since. It forgets what clients said of data that they have shared.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, func, insert, select

from ...kernels.coalition import log_gains
from ...kernels.signals import know, worthwhile
from ...kernels.store import PENDING, SERVER, empty_store
from ...ledger import tables
from ...ledger.records import CLOSED, Pruned, read_epoch, read_uploads
from ...ledger.settings import Settings
from ...protocol.messages import Signal, Upload
from ...protocol.packing import gather
from ...protocol.protocols import EVERYONE
from ...protocol.shared import Shared

_signals, _paid, _rounds = tables.signals, tables.payments.c, tables.rounds.c
LAST_ROUND = select(func.max(_rounds.number)).where(_rounds.stage == CLOSED)
LAST_SHARED = select(_paid.client, func.max(_paid.epoch).label("epoch")).group_by(_paid.client)


def hear(connection: Connection, client: int, signal: Signal) -> bool:
    """Store it; is it of another step than the one before?"""
    own = _signals.c.client == client
    before = connection.execute(select(_signals.c.learned).where(own)).scalar()
    connection.execute(delete(_signals).where(own))
    connection.execute(insert(_signals).values(client=client, **signal._asdict()))
    return before != signal.learned


def calls(connection: Connection, settings: Settings, epoch: int, clients: Collection[int]) -> bool:
    """Should the server call these clients to a round, by what they said?"""
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
