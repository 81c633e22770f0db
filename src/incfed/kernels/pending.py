"""What clients have not shared yet, as a round sees it: rows where few, a matrix where many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, compiled_sum
from .factor import ZERO, Floats, Ints, add_outer, cholesky, dot, factorize, update, whiten
from .store import DENSE, FIELDS, KNOWN, PENDING, SERVER, TAIL, VERSION, Store

Mask = NDArray[np.bool_]


class Pending(NamedTuple):
    """The uploads dV_j of n clients."""

    rows: Floats  # [sum r, d]   dV_j = sum over its rows of x x'
    start: Ints  # [n + 1]      client j has rows start[j] to start[j + 1]
    grams: Floats  # [q, d, d]
    dense: Ints  # [n]          dV_j = grams[dense[j]], -1: kept as rows


@compiled
def collect(*flat: Any) -> tuple[Ints, Floats, Floats, Ints, Floats, Ints]:
    """collect(*store, ridge): clients with pending data, in ascending order.

    Returns their ids, log det V_i, and the fields of Pending: flat in and out, which is faster.
    """
    store, ridge = Store(*flat[:FIELDS]), flat[FIELDS]
    table, version = store.table, store.table[SERVER, VERSION]
    n = q = total = 0
    for client in range(table.shape[0] - 1):
        if table[client, PENDING]:
            n += 1
            if table[client, DENSE]:
                q += 1
            else:
                total += table[client, PENDING]
    d = store.pairs.shape[2]
    ids, start, dense = np.empty(n, np.int64), np.zeros(n + 1, np.int64), np.full(n, -1)
    logdets, rows, grams = np.empty(n), np.empty((total, d)), np.empty((q, d, d))
    pending = Pending(rows, start, grams, dense)
    V, U, logdet = store.blocks[0, 1], store.blocks[0, 0], store.logdet[SERVER, 0]
    R = np.empty((d, d))
    j = q = ZERO
    for client in range(table.shape[0] - 1):
        row = table[client]
        if row[PENDING] == 0:
            continue
        ids[j] = client
        start[j + 1] = start[j]
        if row[DENSE]:
            dense[j] = q
            grams[q] = store.blocks[row[DENSE], 1]
            q += 1
        else:
            start[j + 1] += row[PENDING]
        pair = row[TAIL]
        for place in range(start[j + 1] - 1, start[j] - 1, -1):  # oldest first
            rows[place] = store.pairs[pair, 0]
            pair = store.before[pair]
        if row[KNOWN] != version:  # others' data came in since it last acted
            store.logdet[client, 0] = logdet + log_gain(V, U, logdet, ridge, pending, j, R)
            row[KNOWN] = version
        logdets[j] = store.logdet[client, 0]
        j += 1
    return ids, logdets, rows, start, grams, dense


@compiled
def add_to(V: Floats, pending: Pending, members: Mask) -> None:
    """V += sum of dV_j over the members."""
    columns = np.empty((V.shape[0], pending.rows.shape[0]))
    n = ZERO
    for j in range(members.shape[0]):
        if members[j]:
            if pending.dense[j] >= 0:
                V += pending.grams[pending.dense[j]]
            for row in range(pending.start[j], pending.start[j + 1]):
                for i in range(V.shape[0]):
                    columns[i, n] = pending.rows[row, i]
                n += 1
    add_square(V, columns, n)


@compiled_sum
def add_square(V: Floats, columns: Floats, n: int) -> None:
    """V += sum of x x' over the first n columns: half of it, four entries at a time, mirrored."""
    for i in range(V.shape[0]):
        whole = i + 1 - (i + 1) % 4
        for j in range(0, whole, 4):
            s0 = s1 = s2 = s3 = 0.0
            for k in range(n):
                x = columns[i, k]
                s0 += x * columns[j, k]
                s1 += x * columns[j + 1, k]
                s2 += x * columns[j + 2, k]
                s3 += x * columns[j + 3, k]
            V[i, j] += s0
            V[i, j + 1] += s1
            V[i, j + 2] += s2
            V[i, j + 3] += s3
        for j in range(whole, i + 1):
            V[i, j] += dot(columns[i], columns[j], n)
        for j in range(i):
            V[j, i] = V[i, j]


@compiled
def log_gain(
    V: Floats, U: Floats, logdet: float, ridge: float, pending: Pending, j: int, R: Floats
) -> float:
    """log det(V + dV_j) - log det V: for r rows X it is log det(I_r + X V^-1 X'), r by r."""
    if pending.dense[j] >= 0:
        total = cholesky(V + pending.grams[pending.dense[j]], ridge, R)
        return max(0.0, total - logdet)
    first = pending.start[j]
    r = pending.start[j + 1] - first
    d = V.shape[0]
    if r == 1:
        return float(np.log1p(whiten(U, pending.rows[first], R[0])))
    white = np.empty((r, d))
    for i in range(r):
        whiten(U, pending.rows[first + i], white[i])
    outer = np.empty((r, r))
    for i in range(r):
        for k in range(i + 1):
            outer[k, i] = outer[i, k] = dot(white[i], white[k], d)
    return max(0.0, cholesky(outer, 1.0, np.empty((r, r))))


@compiled
def absorb(
    V: Floats, U: Floats, logdet: float, ridge: float, pending: Pending, j: int, R: Floats
) -> float:
    """V += dV_j in V and its factor U; returns the new log det. Only ever adds: nothing drifts."""
    first, last = pending.start[j], pending.start[j + 1]
    if pending.dense[j] >= 0:
        V += pending.grams[pending.dense[j]]
    for row in range(first, last):
        add_outer(V, pending.rows[row])
    if pending.dense[j] >= 0 or 3 * (last - first) > V.shape[0]:  # so d >= 3 below
        return factorize(V, ridge, R, U)
    for row in range(first, last):
        logdet += np.log1p(update(U, pending.rows[row], 0.0, R[0], R[1], R[2]))
    return logdet
