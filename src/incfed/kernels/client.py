"""The state of one client: refresh its model, learn, and keep a copy for stale reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..types import Floats, Ints
from .compiling import compiled, inlined, inner
from .factor import (
    ZERO,
    add,
    add_outer,
    add_scaled,
    copy,
    copy_square,
    dot,
    factorize,
    update,
    whiten,
)
from .store import (
    AGE,
    BASE,
    BASE_PAIR,
    DENSE,
    FIELDS,
    KNOWN,
    OLD,
    OLD_BLOCK,
    OWN,
    PENDING,
    PRIOR,
    SERVER,
    TAIL,
    VERSION,
    Store,
    free_chain,
    take_block,
    take_pair,
)
from .ucb import Bench

# A factor is recomputed from V after this many of the client's *own* updates: a count that does not
# depend on how a run is divided.
REFRESH = 256

# A pending step kept as a vector reduces x' V^-1 x to at most 1: the larger it was, the more digits
# are lost. Beyond this value a client gets its own factor at once.
STEEP = 1e4


@inlined
def outdated(store: Store, client: int) -> bool:
    """Whether it has pending data and others have shared data since it last acted, which it may
    download."""
    row = store.table[client]
    return bool(row[OWN] and row[VERSION] != store.table[SERVER, VERSION] and row[BASE] == 0)


@inlined
def refresh(store: Store, client: int, ridge: float, b: Bench) -> None:
    """Update t, log det and factor to the shared statistics downloaded since."""
    row, version = store.table[client], store.table[SERVER, VERSION]
    if row[DENSE]:
        logdet = refactor(row, store.pairs, store.blocks, ridge, b.R, b.v)
    else:
        pairs, before, tail, U = store.pairs, store.before, row[TAIL], store.blocks[0, 0]
        logdet = store.logdet[SERVER, 0]
        pair = tail
        while pair:  # recompute, one pending step at a time
            whiten(U, pairs[pair, 0], b.p)
            square = project(pairs, before, tail, pair, b.p, b.v)
            logdet += np.log1p(square)
            keep_step(pairs[pair, 1], square, b.v)
            pair = before[pair]
        own = pairs[row[OWN]]
        whiten(U, own[1], b.p)
        add_scaled(b.p, 1.0, pairs[0, 0])  # U b_i = U b_g + U db_i
        project(pairs, before, tail, ZERO, b.p, b.v)
        copy(b.v, own[0])
    store.logdet[client, 0] = logdet
    row[VERSION] = version
    row[KNOWN] = version


@inner
def refactor(
    row: Ints, pairs: Floats, blocks: Floats, ridge: float, R: Floats, scratch: Floats
) -> float:
    """Recompute a dense client's factor and t from V_i = its V_g + dV_i; returns log det V_i."""
    row[AGE] = 0
    own, block = pairs[row[OWN]], blocks[row[DENSE]]
    copy_square(blocks[row[BASE], 1], R)
    add(R, block[1])
    logdet = factorize(R, ridge, R, block[0])
    whiten_sum(block[0], pairs[row[BASE_PAIR], 1], own[1], scratch, own[0])
    return logdet


@inlined
def whiten_sum(U: Floats, b: Floats, db: Floats, scratch: Floats, t: Floats) -> None:
    """t = U b_i, with b_i = b_g + db_i."""
    copy(b, scratch)
    add_scaled(scratch, 1.0, db)
    whiten(U, scratch, t)


@inner
def project(pairs: Floats, before: Ints, tail: int, until: int, p: Floats, v: Floats) -> float:
    """v = (I - sum c c') p over the chain, newest first, up to but excluding pair `until`.

    Returns p'v, which for p = U x is x' V_i^-1 x.
    """
    d = p.shape[0]
    copy(p, v)
    pair = tail
    while pair != until:
        c = pairs[pair, 1]
        along = dot(c, p, d)
        add_scaled(v, -along, c)
        pair = before[pair]
    return max(0.0, dot(p, v, d))


@inner
def keep_step(c: Floats, square: float, v: Floats) -> None:
    """c = v / sqrt(1 + x' V_i^-1 x): this step subtracts c c' from the identity."""
    scale = 1.0 / np.sqrt(1.0 + square)
    for j in range(v.shape[0]):
        c[j] = v[j] * scale


@inlined
def learn(
    store: Store, client: int, x: Floats, y: float, limit: int, ridge: float, b: Bench
) -> float:
    """Alg. 1 lines 6-7: add (x, y) to the client's own and to its pending statistics.

    The caller must have refreshed the client, made room for a step, and set b.p = U x for the
    shared factor U if the client is not dense. Returns x' V_i^-1 x, for V_i before this step.
    """
    d = x.shape[0]
    row, pairs = store.table[client], store.pairs
    if row[OWN] == 0:
        set_out(store, client)
    square = 0.0
    if row[DENSE] == 0:
        square = project(pairs, store.before, row[TAIL], ZERO, b.p, b.v)
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
        keep_step(pairs[pair, 1], square, b.v)
        copy(x, pairs[pair, 0])
        store.before[pair] = row[TAIL]
        row[TAIL] = pair
        add_scaled(pairs[own, 0], gain, b.v)
    store.logdet[client, 0] += np.log1p(square)
    add_scaled(pairs[own, 1], y, x)
    row[PENDING] += 1
    if row[AGE] == REFRESH:
        store.logdet[client, 0] = refactor(row, pairs, store.blocks, ridge, b.R, b.v)
    return square


@inlined
def growth(store: Store, client: int) -> float:
    """log(det V_i / det(V_i - dV_i)): what its pending data adds to what it has downloaded."""
    if store.table[client, BASE]:
        return float(store.logdet[client, 0] - store.logdet[client, 2])
    return float(store.logdet[client, 0] - store.logdet[SERVER, 0])


@inlined
def set_out(store: Store, client: int) -> None:
    """Initialise a client without pending data from the shared statistics."""
    row, own = store.table[client], take_pair(store)
    row[OWN] = own
    row[VERSION] = row[KNOWN] = store.table[SERVER, VERSION]
    store.logdet[client, 0] = store.logdet[SERVER, 0]
    copy(store.pairs[0, 0], store.pairs[own, 0])
    copy(store.pairs[PRIOR, 1], store.pairs[own, 1])  # zeros


@inlined
def condense(store: Store, client: int, ridge: float, b: Bench) -> None:
    """Convert pairs to the matrix dV_i and the client's own factor."""
    block = take_block(store)
    store.table[client, DENSE] = block
    gram = store.blocks[block, 1]
    copy_square(store.blocks[PRIOR, 1], gram)  # zeros
    pair = store.table[client, TAIL]
    while pair:
        add_outer(gram, store.pairs[pair, 0])
        pair = store.before[pair]
    free_chain(store, client)
    row = store.table[client]
    store.logdet[client, 0] = refactor(row, store.pairs, store.blocks, ridge, b.R, b.v)


@inlined
def remember(store: Store, client: int, b: Bench) -> None:
    """Keep the model as it is after the client's own step, for stale reads."""
    row = store.table[client]
    if row[OLD] == 0:
        row[OLD] = take_pair(store)
        row[OLD_BLOCK] = take_block(store)
    store.logdet[client, 1] = store.logdet[client, 0]
    factor, t = store.blocks[row[OLD_BLOCK], 0], store.pairs[row[OLD], 0]
    copy_square(store.blocks[row[DENSE], 0], factor)
    pair = row[TAIL]
    while pair:
        update(factor, store.pairs[pair, 0], 0.0, t, b.p, b.v)
        pair = store.before[pair]
    base = store.pairs[row[BASE_PAIR], 1]
    whiten_sum(factor, base, store.pairs[row[OWN], 1], b.v, t)


@compiled
def keep_base(*flat: Any) -> None:
    """keep_base(*store, *bench, clients, ridge): these clients, which have pending data and do not
    lag yet, keep the shared statistics as they are now. Call it before the server's change."""
    store, b = Store(*flat[:FIELDS]), Bench(*flat[FIELDS:-2])
    clients, ridge = flat[-2:]
    for client in clients:
        row = store.table[client]
        if row[DENSE] == 0:
            condense(store, client, ridge, b)
        base, pair = take_block(store), take_pair(store)
        copy_square(store.blocks[0, 1], store.blocks[base, 1])
        copy(store.pairs[0, 1], store.pairs[pair, 1])
        store.logdet[client, 2] = store.logdet[SERVER, 0]
        row[BASE], row[BASE_PAIR] = base, pair
