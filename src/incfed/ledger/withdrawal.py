"""Withdrawal: takes all that a client has shared out of V_g and b_g again.

What remains is added up from what the others sent, so that V_g stays positive semi-definite. The
sum starts from the latest epoch that holds nothing withdrawn. If some of it was pruned since an
earlier withdrawal, what the client shared is subtracted instead, and the entry says so. What was
paid stays paid.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, delete, insert, select, update

from ..errors import InputError, refuse
from ..protocol.global_statistics import GlobalStatistics
from ..support.inputs import counted
from ..types import Floats
from . import tables
from .chain import append, digest, said_by
from .past import forget_shared
from .records import (
    RUNNING,
    Pruned,
    from_bytes,
    pack_epoch,
    read_body,
    read_epoch,
    read_matrix,
    read_own,
    read_pooled_scores,
    to_bytes,
)
from .sketches import add_sketches
from .summaries import note_withdrawn


class Share(NamedTuple):
    """Data that a client shared in a round, and the epoch that this made."""

    epoch: int
    round: int
    client: int


class Withdrawal(NamedTuple):
    """From this epoch on, V_g and b_g hold nothing of what a client shared in these rounds."""

    epoch: int
    client: int
    first: int
    last: int

    def covers(self, share: Share) -> bool:
        return share.client == self.client and self.first <= share.round <= self.last


class Withdrawn(NamedTuple):
    """The outcome of a withdrawal."""

    epoch: int  # the new one
    rounds: list[int]  # whose data was taken out
    steps: int  # how many observations that was
    pruned: list[int]  # rounds whose data stays, because it was deleted


class RoundInProgress(InputError):
    """A withdrawal has to wait for the end of the round."""


def withdraw(
    connection: Connection, client: int, at: float, *, partial: bool = False, by: str | None = None
) -> Withdrawn:
    """Take out all that a client has shared, in the name of an operator. Refused if some of it was
    pruned, unless `partial`: then what was not pruned is taken out."""
    federation = connection.execute(select(tables.federation)).one()
    running = select(tables.rounds.c.number).where(tables.rounds.c.stage.in_(RUNNING))
    if (number := connection.scalar(running)) is not None:
        raise RoundInProgress(f"round {number} is in progress: withdraw when it is over")
    shares, earlier = _shares(connection), read_withdrawals(connection)
    own = [
        share for share in shares
        if share.client == client and not any(past.covers(share) for past in earlier)
    ]  # fmt: skip
    sent = {share.round: read_own(connection, tables.uploads, share.round, client) for share in own}
    pruned = [round for round, row in sent.items() if row.numbers is None]
    if pruned and not partial:
        raise InputError(
            f"client {client}: what it shared in {counted(len(pruned), 'round')} up to "
            f"{pruned[-1]} was pruned, and cannot be taken out any more. With --partial, only what "
            "it shared later is taken out"
        )
    rounds = [round for round in sent if round not in pruned]
    if not rounds:
        raise refuse("client", client, "one that has shared data which was not pruned or withdrawn")
    epoch = federation.epoch + 1
    new = Withdrawal(epoch, client, rounds[0], federation.round)
    settings, withdrawals = read_body(connection, federation.settings), [*earlier, new]
    subtracted = False
    try:
        left = remaining(connection, shares, withdrawals, settings)
    except Pruned:
        subtracted = True
        left = remaining(connection, shares, withdrawals, settings, subtracted)
    V, b = pack_epoch(*left)
    row = {"number": epoch, "round": federation.round, "V": V, "b": b}
    connection.execute(insert(tables.epochs).values(row))
    add_sketches(connection)
    connection.execute(insert(tables.withdrawals).values(new._asdict()))
    forget_shared(connection, client)
    steps = sum(sent[round].steps for round in rounds)
    note_withdrawn(connection, client, len(rounds), steps)
    _pool_scores(connection, epoch, *_terms(shares, withdrawals, subtracted))
    connection.execute(delete(tables.grants))  # one for one: everybody gets the corrected model
    connection.execute(
        update(tables.federation).values(epoch=epoch, version=federation.version + 1)
    )
    append(connection, "withdrawn", at, client=client, first=new.first, round=new.last,
           epoch=epoch, V=digest(V), b=digest(b), **said_by(by),
           **({"subtracted": True} if subtracted else {}))  # fmt: skip
    return Withdrawn(epoch, rounds, steps, pruned)


def read_withdrawals(connection: Connection) -> list[Withdrawal]:
    """All of them, in order."""
    query = select(tables.withdrawals).order_by(tables.withdrawals.c.epoch)
    return [Withdrawal(*row) for row in connection.execute(query)]


def remaining(
    connection: Connection,
    shares: Sequence[Share],
    withdrawals: Sequence[Withdrawal],
    settings: Mapping[str, Any],
    subtract: bool = False,
) -> tuple[Floats, Floats]:
    """V_g and b_g after the last of these withdrawals, by `settings` in force: V_g stays positive
    semi-definite, as where a round closes. Pruned if that cannot be computed."""
    dim = settings["dim"]
    base, sign, terms = _terms(shares, withdrawals, subtract)
    V, b = read_epoch(connection, base, dim)
    for share in terms:
        sent, delivered = (
            read_own(connection, table, share.round, share.client)
            for table in (tables.uploads, tables.deliveries)
        )
        if delivered.db is None:
            raise Pruned(f"the delivery of client {share.client} in round {share.round}")
        V = V + sign * read_matrix(sent, dim).matrix()
        b = b + sign * from_bytes(delivered.db)
    return GlobalStatistics.of(V, b, settings["ridge"]).repaired(settings["ridge"]).V, b


def _terms(
    shares: Sequence[Share], withdrawals: Sequence[Withdrawal], subtract: bool
) -> tuple[int, float, list[Share]]:
    """An epoch, and what was shared that is to be added to it; with -1, to be subtracted."""
    if not subtract:
        base, kept = _split(shares, withdrawals)
        return base, 1.0, kept
    *earlier, new = withdrawals
    out = [
        share for share in shares if new.covers(share) and not any(w.covers(share) for w in earlier)
    ]
    return new.epoch - 1, -1.0, sorted(out)


def _split(shares: Sequence[Share], withdrawals: Sequence[Withdrawal]) -> tuple[int, list[Share]]:
    """The latest epoch that holds nothing withdrawn, and what was shared after it and stays."""
    out = [(share, past) for past in withdrawals for share in shares if past.covers(share)]
    base = withdrawals[-1].epoch - 1
    for past in reversed(withdrawals):
        first = min((share.epoch for share, by in out if by == past), default=past.epoch)
        if first <= base < past.epoch:
            base = first - 1
    gone = {share for share, _ in out}
    return base, sorted(share for share in shares if share.epoch > base and share not in gone)


def _shares(connection: Connection) -> list[Share]:
    paid = tables.payments.c
    rows = connection.execute(select(paid.epoch, paid.round, paid.client).order_by(paid.round))
    return [Share(*row) for row in rows]


def _pool_scores(
    connection: Connection, epoch: int, base: int, sign: float, terms: Collection[Share]
) -> None:
    """The sum of the scores (trust "auto") over what remains."""
    if connection.scalar(select(tables.pooled_scores.c.epoch).limit(1)) is None:
        return
    rows = (read_own(connection, tables.scores, share.round, share.client) for share in terms)
    scores = [sign * from_bytes(row.numbers) for row in rows if row is not None]
    total = np.sum([read_pooled_scores(connection, base), *scores], axis=0)
    row = {"epoch": epoch, "numbers": to_bytes(total)}
    connection.execute(insert(tables.pooled_scores).values(row))
