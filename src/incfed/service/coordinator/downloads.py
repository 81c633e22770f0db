"""What a client downloads: the difference where that is smaller, else everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from ...kernels.factor import Floats
from ...ledger import tables
from ...ledger.records import from_bytes, read_epoch
from ...protocol.messages import Download
from ...protocol.packing import FACTOR, Packed, pack_matrix, pack_rows

New = tuple[int | None, Packed, Floats]  # since when, V, b
KEPT = 8  # answers in mind: after a round, everybody asks the same

_paid = tables.payments.c
SHARED = select(_paid.client, _paid.round, _paid.amount).where(
    _paid.client.in_(bindparam("clients", expanding=True)),
    _paid.epoch > bindparam("since"),
    _paid.epoch <= bindparam("epoch"),
)


class Downloads:
    def __init__(self) -> None:
        self._known: dict[tuple[int | None, int], New] = {}

    def make(
        self,
        connection: Connection,
        asked: Sequence[tuple[int, int | None]],
        epoch: int,
        dim: int,
    ) -> list[Download | None]:
        """(V_g, b_g) of `epoch`, and the rounds since in which the client shared; for each client
        and the epoch that it has. None: there was no such epoch."""
        shared: dict[tuple[int, int | None], dict[int, float]] = {one: {} for one in asked}
        for since in {since for _, since in asked}:
            clients = sorted({client for client, known in shared if known == since})
            those = {"clients": clients, "since": since or 0, "epoch": epoch}
            for row in connection.execute(SHARED.order_by(_paid.round), those):
                shared[row.client, since][row.round] = row.amount
        found: list[Download | None] = []
        for client, since in asked:
            if since is not None and not 0 <= since <= epoch:
                found.append(None)
                continue
            known, V, b = self._new(connection, since, epoch, dim)
            found.append(Download(epoch, known, V, b, shared[client, since]))
        return found

    def _new(self, connection: Connection, since: int | None, epoch: int, dim: int) -> New:
        found = self._known.get((since, epoch))
        if found is None:
            new = None if since is None else _difference(connection, since, epoch, dim)
            if new is None:
                V, b = read_epoch(connection, epoch, dim)
                found = None, pack_matrix(V), b
            else:
                found = since, *new
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[since, epoch] = found
        return found


def _difference(
    connection: Connection, since: int, epoch: int, dim: int
) -> tuple[Packed, Floats] | None:
    """What was added after `since`; None: the whole is smaller.

    The factors of all who shared, made one again, so that nobody's is shown for itself.
    """
    rows, total, count = [np.empty((0, dim))], np.zeros(dim), 0
    if since < epoch:
        paid, sent, given = tables.payments, tables.uploads, tables.deliveries
        theirs = (paid.c.round == sent.c.round) & (paid.c.client == sent.c.client)
        also = (paid.c.round == given.c.round) & (paid.c.client == given.c.client)
        query = select(sent.c.form, sent.c.steps, sent.c.numbers, given.c.db).select_from(
            paid.join(sent, theirs).join(given, also)
        )
        after = query.where(paid.c.epoch > since, paid.c.epoch <= epoch)
        for row in connection.execute(after.order_by(paid.c.round, paid.c.client)):
            if row.form != FACTOR or row.numbers is None or row.db is None:
                return None
            rows.append(from_bytes(row.numbers).reshape(-1, dim))
            total = total + from_bytes(row.db)
            count += len(rows[-1])
            if 2 * count >= dim + 1:
                return None
    return pack_rows(np.concatenate(rows)), total
