"""The pending data of clients in a round: rows for few steps, a matrix for many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..types import Floats, Ints, Mask
from .compiling import compiled, inner, inner_sum
from .factor import (
    ZERO,
    add,
    add_outer,
    cholesky,
    copy,
    copy_square,
    dot,
    factorize,
    update,
    whiten,
)
from .store import BASE, DENSE, FIELDS, KNOWN, OWN, PENDING, SERVER, TAIL, VERSION, Store


class Pending(NamedTuple):
    """The uploads dV_j of n clients, and scratch space to compute with them."""

    rows: Floats  # [sum r, d]   dV_j = sum over its rows of x x'
    start: Ints  # [n + 1]      client j has rows start[j] to start[j + 1], at most d
    grams: Floats  # [q, d, d]
    dense: Ints  # [n]          dV_j = grams[dense[j]], -1: stored as rows
    columns: Floats  # [d, sum r]
    squares: Floats  # [4, d, d]

    @classmethod
    def of(cls, rows: Floats, start: Ints, grams: Floats, dense: Ints) -> Pending:
        if (np.diff(start) > rows.shape[1]).any():
            raise ValueError("more rows than dimensions: pass them as a matrix")
        d = rows.shape[1]
        return cls(rows, start, grams, dense, np.empty((d, len(rows))), squares_of(d))

    @classmethod
    def of_matrices(cls, grams: Floats) -> Pending:
        """Of these matrices, one a client."""
        n, d = len(grams), grams.shape[-1]
        return cls.of(np.empty((0, d)), np.zeros(n + 1, np.int64), grams, np.arange(n))

    def matrix(self, j: int) -> Floats:
        """dV_j. Not to be changed."""
        if self.dense[j] >= 0:
            return np.asarray(self.grams[self.dense[j]])
        rows = self.rows[self.start[j] : self.start[j + 1]]
        return np.asarray(rows.T @ rows)

    def only(self, members: Mask) -> Pending:
        """The uploads of some of the clients."""
        counts, matrices = np.diff(self.start), members & (self.dense >= 0)
        dense = np.full(len(members), -1)
        dense[matrices] = np.arange(np.count_nonzero(matrices))
        return Pending.of(
            rows=self.rows[np.repeat(members, counts)],
            start=np.append(0, np.cumsum(counts[members])),
            grams=self.grams[self.dense[matrices]],
            dense=dense[members],
        )


def squares_of(dim: int) -> Floats:
    """Scratch space, which the rounds of a run may share."""
    return np.empty((4, dim, dim))


class PendingClients(NamedTuple):
    """The clients with pending data, in ascending order."""

    ids: Ints  # [n]
    steps: Ints  # [n] of each that are pending
    logdets: Floats  # [n] log det V_i
    db: Floats  # [n, d]


def collect(store: Store, ridge: float, squares: Floats) -> tuple[PendingClients, Pending]:
    """The clients with pending data, and their dV_i; `squares`: of `squares_of`."""
    n, matrices, rows = count(store.table)
    d = store.pairs.shape[2]
    found = PendingClients(
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty((n, d))
    )
    pending = Pending(
        np.empty((rows, d)),
        np.empty(n + 1, np.int64),
        np.empty((matrices, d, d)),
        np.empty(n, np.int64),
        np.empty((d, rows)),
        squares,
    )
    fill(*store, *pending, *found, ridge)
    return found, pending


@compiled
def count(table: Ints) -> tuple[int, int, int]:
    """The number of clients with pending data, of those stored as a matrix, and of rows."""
    n = matrices = rows = ZERO
    for client in range(table.shape[0] - 1):
        if table[client, PENDING]:
            n += 1
            if table[client, DENSE]:
                matrices += 1
            else:
                rows += table[client, PENDING]
    return n, matrices, rows


@compiled
def fill(*flat: Any) -> None:
    """fill(*store, *pending, *clients, ridge): compute what `collect` returns.

    The arguments are flat, because unboxing NamedTuples would take numba longer than the work.
    """
    store, pending = Store(*flat[:FIELDS]), Pending(*flat[FIELDS:-5])
    ids, steps, logdets, db, ridge = flat[-5:]
    table, version = store.table, store.table[SERVER, VERSION]
    V, U, logdet = store.blocks[0, 1], store.blocks[0, 0], store.logdet[SERVER, 0]
    j = q = last = ZERO
    pending.start[0] = 0
    for client in range(table.shape[0] - 1):
        row = table[client]
        if row[PENDING] == 0:
            continue
        ids[j], steps[j] = client, row[PENDING]
        copy(store.pairs[row[OWN], 1], db[j])
        pending.dense[j] = -1
        if row[DENSE]:
            pending.dense[j] = q
            copy_square(store.blocks[row[DENSE], 1], pending.grams[q])
            q += 1
        else:
            last += row[PENDING]
        pending.start[j + 1] = last
        place, pair = last, row[TAIL]
        while pair:  # the newest comes last
            place -= 1
            copy(store.pairs[pair, 0], pending.rows[place])
            pair = store.before[pair]
        if row[KNOWN] != version and row[BASE] == 0:  # others have shared since it last acted
            store.logdet[client, 0] = logdet + log_gain(V, U, logdet, ridge, pending, j)
            row[KNOWN] = version
        logdets[j] = store.logdet[client, 0]
        j += 1


@inner
def add_to(V: Floats, pending: Pending, members: Mask) -> None:
    """V += sum of dV_j over the members."""
    n = ZERO
    for j in range(members.shape[0]):
        if members[j]:
            if pending.dense[j] >= 0:
                add(V, pending.grams[pending.dense[j]])
            for row in range(pending.start[j], pending.start[j + 1]):
                for i in range(V.shape[0]):
                    pending.columns[i, n] = pending.rows[row, i]
                n += 1
    add_square(V, pending.columns, n)


@inner_sum
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


@inner
def log_gain(V: Floats, U: Floats, logdet: float, ridge: float, pending: Pending, j: int) -> float:
    """log det(V + dV_j) - log det V: for r rows X it is log det(I_r + X V^-1 X'), r by r."""
    white, outer = pending.squares[0], pending.squares[1]
    if pending.dense[j] >= 0:
        copy_square(V, outer)
        add(outer, pending.grams[pending.dense[j]])
        return max(0.0, cholesky(outer, ridge, outer) - logdet)
    first, d = pending.start[j], V.shape[0]
    r = pending.start[j + 1] - first
    if r == 1:
        return float(np.log1p(whiten(U, pending.rows[first], white[0])))
    for i in range(r):
        whiten(U, pending.rows[first + i], white[i])
        for k in range(i + 1):
            outer[i, k] = dot(white[i], white[k], d)
    corner = outer[:r]
    return max(0.0, cholesky(corner, 1.0, corner))


@compiled
def absorb(V: Floats, U: Floats, logdet: float, ridge: float, pending: Pending, j: int) -> float:
    """V += dV_j in V and its factor U; returns the new log det. It only adds, so nothing drifts."""
    first, last = pending.start[j], pending.start[j + 1]
    R = pending.squares[0]
    if pending.dense[j] >= 0:
        add(V, pending.grams[pending.dense[j]])
    for row in range(first, last):
        add_outer(V, pending.rows[row])
    if pending.dense[j] >= 0 or 3 * (last - first) > V.shape[0]:  # so d >= 3 below
        return factorize(V, ridge, R, U)
    for row in range(first, last):
        logdet += np.log1p(update(U, pending.rows[row], 0.0, R[0], R[1], R[2]))
    return logdet
