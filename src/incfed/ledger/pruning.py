"""Forgetting statistics after a stated time. Digests, decisions and payments stay."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, func, select, update

from . import tables
from .chain import append
from .records import RUNNING, read_settings


class Forgotten(NamedTuple):
    """Uploads and deliveries up to this round are gone, and V_g, b_g before this epoch."""

    round: int
    epoch: int


def prune(connection: Connection, before: float, at: float) -> Forgotten:
    """Forget what clients sent in rounds that ended before that moment.

    Epochs stay that a kept round, or a client that lags as far as it may, still needs.
    """
    federation = connection.execute(select(tables.federation)).one()
    rounds, epochs = tables.rounds.c, tables.epochs.c
    kept = connection.scalar(  # the first round that is not old
        select(func.min(rounds.number)).where(rounds.stage.in_(RUNNING) | (rounds.ended >= before))
    )
    last = federation.round if kept is None else kept - 1
    needed = federation.epoch
    if kept is not None:
        needed = connection.scalar(select(rounds.epoch).where(rounds.number == kept)) or 0
    used = set() if kept is None else set(
        connection.scalars(select(rounds.settings).where(rounds.number >= kept))
    )  # fmt: skip
    lags = [read_settings(connection, number).lag for number in {federation.settings, *used}]
    first = max(0, needed - max(lags))
    done = connection.scalar(
        select(func.count()).select_from(tables.uploads).where(
            tables.uploads.c.round <= last, tables.uploads.c.numbers.is_not(None)
        )
    )  # fmt: skip
    if done or connection.scalar(
        select(epochs.number).where(epochs.number < first, epochs.V.is_not(None)).limit(1)
    ) is not None:  # fmt: skip
        uploads, deliveries = tables.uploads, tables.deliveries
        connection.execute(update(uploads).where(uploads.c.round <= last).values(numbers=None))
        connection.execute(update(deliveries).where(deliveries.c.round <= last).values(db=None))
        connection.execute(
            update(tables.epochs).where(epochs.number < first).values(V=None, b=None)
        )
        append(connection, "pruned", at, round=last, epoch=first)
    return Forgotten(last, first)
