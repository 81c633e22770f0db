"""What a client downloads: the difference where that is smaller, else everything."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection, select

from ...kernels.factor import Floats
from ...ledger import tables
from ...ledger.records import from_bytes, read_epoch
from ...protocol.messages import Download
from ...protocol.packing import FACTOR, Packed, pack_matrix, pack_rows


def make_download(
    connection: Connection, client: int, since: int | None, epoch: int, dim: int
) -> Download:
    """(V_g, b_g) of `epoch`, and the rounds after epoch `since` in which this client shared."""
    paid = tables.payments.c
    own = select(paid.round, paid.amount).where(paid.client == client, paid.epoch <= epoch)
    rows = connection.execute(own.where(paid.epoch > (since or 0)).order_by(paid.round))
    shared = {row.round: row.amount for row in rows}
    new = None if since is None else _difference(connection, since, epoch, dim)
    if new is not None:
        return Download(epoch, since, new[0], new[1], shared)
    V, b = read_epoch(connection, epoch, dim)
    return Download(epoch, None, pack_matrix(V), b, shared)


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
