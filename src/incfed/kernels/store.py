"""The storage of all statistics: a pool of vectors, a pool of matrices, and a table of clients.

A client's statistics are the shared ones plus its pending data. (A client that lags keeps older
shared ones as its base: it did not download what others have shared since.) Up to `thin_limit`
pending steps are stored as vectors x and c, one chain per client, with V_i^-1 = U'(I - sum c c')U
for the shared factor U; more steps as the matrix dV_i and the client's own factor. A client without
pending data is a row of zeros: it uses the server's vectors and matrices and needs no other memory.
So memory grows with pending data (with stale reads, also with the number of clients that have
acted). A model stores t instead of theta, with theta = U't.

    pairs[0] = (t_g = U b_g, b_g)     blocks[0] = (factor of V_g, V_g)     the server
    pairs[1] = (0, 0)                 blocks[1] = (factor of 0, 0)         the empty prior
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..types import Floats, Ints
from .compiling import compiled, inlined
from .factor import copy, copy_square, whiten

# Columns of the table, one row per client; the last row is the server's.
PENDING = 0  # own steps not yet shared
CLOCK = 1  # own steps since the last round: delta t of Alg. 1 line 8
OWN = 2  # its pair (t_i, db_i), 0: the server's
TAIL = 3  # its newest pair (x, c), 0: none
DENSE = 4  # its block (factor of V_i, dV_i), 0: stored as pairs
AGE = 5  # own updates since that factor was recomputed
VERSION = 6  # of the shared statistics that t, c and factor refer to
KNOWN = 7  # ... that log det refers to
OLD = 8  # stale reads: its pair (t, .) after its own last step
OLD_BLOCK = 9  # ... and its block (factor, .)
BASE = 10  # the block (., V) of the shared statistics that it has, 0: the server's
BASE_PAIR = 11  # ... and the pair (., b)
SEEN = 12  # shared observations that it has; of the server: all that were shared
COLUMNS = 13

SERVER = -1
PRIOR = 1

PAIRS_A_STEP, BLOCKS_A_STEP = 3, 2  # the most that one step takes


class Store(NamedTuple):
    table: Ints  # [N + 1, COLUMNS]
    logdet: Floats  # [N + 1, 3]  log det V_i(lambda): now, after its own last step, of its base
    pairs: Floats  # [., 2, d]
    before: Ints  # [.]  the next older pair of a client's chain, 0: none
    blocks: Floats  # [., 2, d, d]
    free_pairs: Ints  # stack
    free_blocks: Ints  # stack
    free: Ints  # [2]  the size of each stack


FIELDS = len(Store._fields)


def empty_store(count: int, dim: int, ridge: float) -> Store:
    store = Store(
        table=np.zeros((count + 1, COLUMNS), np.int64),
        logdet=np.zeros((count + 1, 3)),
        pairs=np.zeros((2, 2, dim)),
        before=np.zeros(2, np.int64),
        blocks=np.zeros((2, 2, dim, dim)),
        free_pairs=np.zeros(0, np.int64),
        free_blocks=np.zeros(0, np.int64),
        free=np.zeros(2, np.int64),
    )
    store.blocks[:, 0] = np.eye(dim) / np.sqrt(ridge)
    store.logdet[SERVER] = dim * np.log(ridge)
    return store


def thin_limit(dim: int) -> int:
    """The largest number of pending steps stored as vectors; for more, a matrix is better."""
    return max(1, dim // 2)


def make_room(store: Store, pairs: int = PAIRS_A_STEP, blocks: int = BLOCKS_A_STEP) -> Store:
    """Grow the pools that are too small for so many more, by half at least."""
    if store.free[0] < pairs:
        vectors, stack = _larger(store.pairs, store.free_pairs, store.free, 0, pairs)
        before = np.zeros(len(vectors), np.int64)
        before[: len(store.before)] = store.before
        store = store._replace(pairs=vectors, free_pairs=stack, before=before)
    if store.free[1] < blocks:
        matrices, stack = _larger(store.blocks, store.free_blocks, store.free, 1, blocks)
        store = store._replace(blocks=matrices, free_blocks=stack)
    return store


def _larger(pool: Floats, stack: Ints, free: Ints, kind: int, least: int) -> tuple[Floats, Ints]:
    old, top = len(pool), int(free[kind])
    new = old + max(8, old // 2, least)
    larger = np.zeros((new, *pool.shape[1:]))
    larger[:old] = pool
    places = np.concatenate([stack[:top], np.arange(new - 1, old - 1, -1)])
    free[kind] = len(places)
    return larger, np.concatenate([places, np.zeros(old, np.int64)])


def memory(store: Store) -> int:
    """Bytes allocated."""
    return sum(field.nbytes for field in store)


@inlined
def take_pair(store: Store) -> int:
    store.free[0] -= 1
    return int(store.free_pairs[store.free[0]])


@inlined
def take_block(store: Store) -> int:
    store.free[1] -= 1
    return int(store.free_blocks[store.free[1]])


@inlined
def free_pair(store: Store, pair: int) -> None:
    store.free_pairs[store.free[0]] = pair
    store.free[0] += 1


@inlined
def free_block(store: Store, block: int) -> None:
    store.free_blocks[store.free[1]] = block
    store.free[1] += 1


@inlined
def free_chain(store: Store, client: int) -> None:
    pair = store.table[client, TAIL]
    while pair:
        free_pair(store, pair)
        pair = store.before[pair]
    store.table[client, TAIL] = 0


@inlined
def release(store: Store, clients: Ints) -> None:
    """Free the storage of clients that have shared everything."""
    for client in clients:
        row = store.table[client]
        free_chain(store, client)
        free_pair(store, row[OWN])
        if row[DENSE]:
            free_block(store, row[DENSE])
        if row[BASE]:
            free_block(store, row[BASE])
            free_pair(store, row[BASE_PAIR])
        row[SEEN] += row[PENDING]
        store.table[SERVER, SEEN] += row[PENDING]
        row[OWN] = row[DENSE] = row[PENDING] = row[AGE] = row[BASE] = row[BASE_PAIR] = 0


@inlined
def download(store: Store, V: Floats, b: Floats, factor: Floats, logdet: float) -> None:
    """Alg. 1 lines 16-19: store the server's new statistics. Every client that does not lag uses
    them when it acts next."""
    whiten(factor, b, store.pairs[0, 0])
    copy(b, store.pairs[0, 1])
    copy_square(factor, store.blocks[0, 0])
    copy_square(V, store.blocks[0, 1])
    store.logdet[SERVER, 0] = logdet
    store.table[SERVER, VERSION] += 1


@inlined
def fetch(store: Store, client: int, fetched: Ints, t: int) -> None:
    """Count the observations that are new to a client that downloads in step t."""
    fetched[t] = store.table[SERVER, SEEN] - store.table[client, SEEN]
    store.table[client, SEEN] = store.table[SERVER, SEEN]


@inlined
def restart_clocks(store: Store, everyone: bool) -> None:
    """After a round, restart all clocks, or (Alg. 1 as printed) those of the participants."""
    for client in range(store.table.shape[0]):
        if everyone or store.table[client, PENDING] == 0:
            store.table[client, CLOCK] = 0


@compiled
def conclude(*flat: Any) -> None:
    """The end of a round: conclude(*store, sharing, V, b, factor, logdet, everyone).

    The arguments are flat, because unboxing NamedTuples would take numba longer than the work.
    """
    store = Store(*flat[:FIELDS])
    sharing, V, b, factor, logdet, everyone = flat[FIELDS:]
    release(store, sharing)
    if sharing.shape[0]:
        download(store, V, b, factor, logdet)
    restart_clocks(store, everyone)


@compiled
def put_back(*flat: Any) -> None:
    """put_back(*store, client, steps, V, b): this client, which has just shared, has these steps
    left. Call it after `conclude`, with room for a pair and a block."""
    store = Store(*flat[:FIELDS])
    client, steps, V, b = flat[FIELDS:]
    row = store.table[client]
    row[OWN], row[DENSE], row[PENDING] = take_pair(store), take_block(store), steps
    row[VERSION] = row[KNOWN] = -1  # its factor, t and log det are to be made
    row[SEEN] -= steps
    store.table[SERVER, SEEN] -= steps
    copy(b, store.pairs[row[OWN], 1])
    copy_square(V, store.blocks[row[DENSE], 1])
