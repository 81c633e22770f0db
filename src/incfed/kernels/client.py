"""What one client knows and does: bring its model up to date, learn, remember."""

from __future__ import annotations

import numpy as np

from .compiling import compiled_bare, compiled_within
from .factor import ZERO, Floats, add_outer, copy, dot, factorize, update, whiten
from .store import (
    AGE,
    DENSE,
    KNOWN,
    OLD,
    OLD_BLOCK,
    OWN,
    PENDING,
    SERVER,
    TAIL,
    VERSION,
    Store,
    free_chain,
    take_block,
    take_pair,
)
from .ucb import Bench

# A factor is made afresh from V after so many of the client's *own* updates: a count that does not
# depend on how a run is cut into pieces.
REFRESH = 256

# A pending step kept as a vector takes x' V^-1 x from what it was to at most 1: the larger it was,
# the more digits go. Beyond this a client gets a factor of its own at once.
STEEP = 1e4


@compiled_bare
def outdated(store: Store, client: int) -> bool:
    """Has it data of its own, and others' data come in since it last acted?"""
    row = store.table[client]
    return bool(row[OWN] and row[VERSION] != store.table[SERVER, VERSION])


@compiled_within
def refresh(store: Store, client: int, ridge: float, b: Bench) -> None:
    """Bring t, log det and factor up to the shared statistics downloaded since."""
    row, version = store.table[client], store.table[SERVER, VERSION]
    if row[DENSE]:
        refactor(store, client, ridge, b)
    else:
        logdet = store.logdet[SERVER, 0]
        pair = row[TAIL]
        while pair:  # once more, one pending step at a time
            whiten(store.blocks[0, 0], store.pairs[pair, 0], b.p)
            square = project(store, client, pair, b)
            logdet += np.log1p(square)
            keep_step(store, pair, square, b)
            pair = store.before[pair]
        store.logdet[client, 0] = logdet
        whiten(store.blocks[0, 0], store.pairs[row[OWN], 1], b.p)
        for j in range(b.p.shape[0]):
            b.p[j] += store.pairs[0, 0, j]  # U b_i = U b_g + U db_i
        project(store, client, ZERO, b)
        copy(b.v, store.pairs[row[OWN], 0])
    row[VERSION] = version
    row[KNOWN] = version


@compiled_bare
def refactor(store: Store, client: int, ridge: float, b: Bench) -> None:
    """A dense client's factor, log det and t from V_i = V_g + dV_i itself."""
    row = store.table[client]
    block, V_g = store.blocks[row[DENSE]], store.blocks[0, 1]
    for i in range(b.R.shape[0]):
        for j in range(i + 1):
            b.R[i, j] = V_g[i, j] + block[1, i, j]
    store.logdet[client, 0] = factorize(b.R, ridge, b.R, block[0])
    whiten_rewards(store, client, block[0], store.pairs[row[OWN], 0], b)
    row[AGE] = 0


@compiled_bare
def whiten_rewards(store: Store, client: int, U: Floats, t: Floats, b: Bench) -> None:
    """t = U b_i, with b_i = b_g + db_i."""
    own = store.table[client, OWN]
    for j in range(b.v.shape[0]):
        b.v[j] = store.pairs[0, 1, j] + store.pairs[own, 1, j]
    whiten(U, b.v, t)


@compiled_within
def project(store: Store, client: int, until: int, b: Bench) -> float:
    """b.v = (I - sum c c') b.p over the chain, newest first, up to but without pair `until`.

    Returns p'v, which for p = U x is x' V_i^-1 x.
    """
    d = b.p.shape[0]
    copy(b.p, b.v)
    pair = store.table[client, TAIL]
    while pair != until:
        c = store.pairs[pair, 1]
        along = dot(c, b.p, d)
        for j in range(d):
            b.v[j] -= along * c[j]
        pair = store.before[pair]
    return max(0.0, dot(b.p, b.v, d))


@compiled_bare
def keep_step(store: Store, pair: int, square: float, b: Bench) -> None:
    """c = v / sqrt(1 + x' V_i^-1 x): what this step takes from the identity is c c'."""
    scale = 1.0 / np.sqrt(1.0 + square)
    for j in range(b.v.shape[0]):
        store.pairs[pair, 1, j] = b.v[j] * scale


@compiled_within
def learn(
    store: Store, client: int, x: Floats, y: float, limit: int, ridge: float, b: Bench
) -> None:
    """Alg. 1 lines 6-7: add (x, y) to the client's own and to its pending statistics.

    The caller has refreshed the client, made sure that there is room for a step, and set
    b.p = U x for the shared factor U if the client is not dense.
    """
    d = x.shape[0]
    row, pairs = store.table[client], store.pairs
    if row[OWN] == 0:
        set_out(store, client)
    square = 0.0
    if row[DENSE] == 0:
        square = project(store, client, ZERO, b)
        if row[PENDING] == limit or square > STEEP:
            condense(store, client, ridge, b)
    own = row[OWN]
    if row[DENSE]:
        block = store.blocks[row[DENSE]]
        add_outer(block[1], x)
        square = update(block[0], x, y, pairs[own, 0], b.p, b.v)
        row[AGE] += 1
    else:
        gain = (y - dot(pairs[own, 0], b.p, d)) / (1.0 + square)
        pair = take_pair(store)
        keep_step(store, pair, square, b)
        copy(x, pairs[pair, 0])
        store.before[pair] = row[TAIL]
        row[TAIL] = pair
        for j in range(d):
            pairs[own, 0, j] += gain * b.v[j]
    store.logdet[client, 0] += np.log1p(square)
    for j in range(d):
        pairs[own, 1, j] += y * x[j]
    row[PENDING] += 1
    if row[AGE] == REFRESH:
        refactor(store, client, ridge, b)


@compiled_bare
def set_out(store: Store, client: int) -> None:
    """A client with nothing pending starts from the shared statistics."""
    row, own = store.table[client], take_pair(store)
    row[OWN] = own
    row[VERSION] = row[KNOWN] = store.table[SERVER, VERSION]
    store.logdet[client, 0] = store.logdet[SERVER, 0]
    for j in range(store.pairs.shape[2]):
        store.pairs[own, 0, j] = store.pairs[0, 0, j]
        store.pairs[own, 1, j] = 0.0


@compiled_bare
def condense(store: Store, client: int, ridge: float, b: Bench) -> None:
    """From pairs to the matrix dV_i and a factor of the client's own."""
    block = take_block(store)
    store.table[client, DENSE] = block
    gram = store.blocks[block, 1]
    for i in range(gram.shape[0]):
        for j in range(gram.shape[1]):
            gram[i, j] = 0.0
    pair = store.table[client, TAIL]
    while pair:
        add_outer(gram, store.pairs[pair, 0])
        pair = store.before[pair]
    free_chain(store, client)
    refactor(store, client, ridge, b)


@compiled_bare
def remember(store: Store, client: int, b: Bench) -> None:
    """Keep the model as it stands after the client's own step (stale reads choose with it)."""
    row = store.table[client]
    if row[OLD] == 0:
        row[OLD] = take_pair(store)
        row[OLD_BLOCK] = take_block(store)
    store.logdet[client, 1] = store.logdet[client, 0]
    factor, t = store.blocks[row[OLD_BLOCK], 0], store.pairs[row[OLD], 0]
    for i in range(factor.shape[0]):
        copy(store.blocks[row[DENSE], 0, i], factor[i])
    pair = row[TAIL]
    while pair:
        update(factor, store.pairs[pair, 0], 0.0, t, b.p, b.v)
        pair = store.before[pair]
    whiten_rewards(store, client, factor, t, b)
