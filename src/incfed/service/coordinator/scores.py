"""Scores: where clients find out by themselves how far to trust others (trust "auto").

Each sharer sends how far its models were off, summed over what it shares; every download has the
mean over all that was shared. They are no evidence: nobody is chosen or paid by them.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from sqlalchemy import Connection, exists, func, insert, select

from ...kernels.trust import MODELS
from ...ledger import tables
from ...ledger.records import from_bytes, read_epoch, read_pooled_scores, to_bytes
from ...types import Floats

_scores, _withdrawn = tables.scores.c, tables.withdrawals.c
_paid, _uploads = tables.payments.c, tables.uploads.c


def capped(scores: Floats, reward_bound: float) -> Floats:
    """Scores as they are kept: the error of an event counts as that of a prediction as large as a
    reward may be, at most. So nobody can decide for all others."""
    most = scores[MODELS] * (2.0 * reward_bound) ** 2
    return np.append(np.minimum(scores[:MODELS], most), scores[MODELS])


def pool(connection: Connection, round: int, epoch: int, participants: Collection[int]) -> None:
    """Add the scores of a round's participants to the sum over all that was shared before."""
    query = select(_scores.numbers).where(
        _scores.round == round, _scores.client.in_(sorted(participants))
    )
    new = [from_bytes(numbers) for numbers in connection.scalars(query)]
    if new:
        total = read_pooled_scores(connection, epoch) + np.sum(new, axis=0)
        row = {"epoch": epoch, "numbers": to_bytes(total)}
        connection.execute(insert(tables.pooled_scores).values(row))


def mean(connection: Connection, epoch: int, dim: int) -> Floats | None:
    """The mean score of each model, and the mean squared norm of the arms that were shared."""
    total = read_pooled_scores(connection, epoch)
    if not total[MODELS]:
        return None
    withdrawn = exists().where(
        _withdrawn.client == _paid.client,
        _paid.round.between(_withdrawn.first, _withdrawn.last),
        _withdrawn.epoch <= epoch,
    )
    query = select(func.sum(_uploads.steps)).where(
        _uploads.round == _paid.round, _uploads.client == _paid.client, _paid.epoch <= epoch,
        ~withdrawn,
    )  # fmt: skip
    V, _ = read_epoch(connection, epoch, dim)
    return np.append(total[:MODELS] / total[MODELS], np.trace(V) / int(connection.scalar(query)))
