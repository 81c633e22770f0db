"""One step = choose + learn + trigger (Alg. 1 lines 4-9), and the loop of steps between rounds."""

from __future__ import annotations

from typing import Any, NamedTuple

from .client import learn, outdated, refresh, remember
from .compiling import compiled_bare, compiled_within
from .factor import ZERO, Floats, Ints, copy, whiten
from .store import (
    BLOCKS_A_STEP,
    CLOCK,
    DENSE,
    OLD,
    OLD_BLOCK,
    OWN,
    PAIRS_A_STEP,
    PRIOR,
    SERVER,
    TAIL,
    VERSION,
    Store,
)
from .ucb import (
    Bench,
    add_confidence,
    along,
    confidence,
    estimate,
    look_up,
    narrow,
    pick,
    rivals,
    score,
)

DONE, TRIGGERED, FULL = 0, 1, 2


class Rules(NamedTuple):
    """The numbers of Alg. 1 that a client needs."""

    ridge: float
    noise: float
    surprise: float  # 2 log(1/delta)
    exploration: float  # NaN: the formula of Eq. 2
    threshold: float  # D_c
    stale: bool  # choose with the model as it was after the client's own last step
    limit: int  # pending steps kept as vectors


class Steps(NamedTuple):
    """A stretch of the world, and where its outcome is written."""

    clients: Ints  # [n]
    arms: Ints  # [n, K] rows of items
    items: Floats  # [M, d]
    rewards: Floats  # [n, K]
    expected: Floats  # [n, K]
    reward: Floats  # [n] out; NaN: nobody knows, the step was skipped
    regret: Floats  # [n] out


# Where the fields of each end among the flat arguments of `advance`.
_STEPS = len(Steps._fields)
_STORE = _STEPS + len(Store._fields)
_RULES = _STORE + len(Rules._fields)
_BENCH = _RULES + len(Bench._fields)


@compiled_within
def choose(store: Store, client: int, items: Floats, ids: Ints, rules: Rules, b: Bench) -> int:
    """Eq. 2 for one client, who is up to date."""
    row = store.table[client]
    pair, block = row[OWN], row[DENSE]  # where there are none: the server's
    logdet = store.logdet[client if row[OWN] else SERVER, 0]
    if rules.stale:  # the empty prior before its first step
        logdet = store.logdet[client, 1] if row[OLD] else store.logdet[SERVER, 1]
        pair, block = (row[OLD], row[OLD_BLOCK]) if row[OLD] else (PRIOR, PRIOR)
    d = items.shape[1]
    alpha = confidence(logdet, d, rules.ridge, rules.noise, rules.surprise, rules.exploration)
    if b.when.shape[0] and block == 0:
        return choose_lazily(store, client, items, ids, alpha, b)
    score(items, ids, store.blocks[block, 0], store.pairs[pair, 0], b)
    if block == 0:
        subtract_pending(store, client, b.own, b.places, b)
    return pick(add_confidence(alpha, b.places, b), b)


@compiled_within
def choose_lazily(
    store: Store, client: int, items: Floats, ids: Ints, alpha: float, b: Bench
) -> int:
    """The same for items that recur: only those that may win are looked at closely."""
    U, t = store.blocks[0, 0], store.pairs[store.table[client, OWN], 0]
    top = estimate(items, ids, U, t, alpha, b)
    b.runners[0], b.entries[0] = top, ids[top]
    best = weigh(store, client, items, alpha, ZERO + 1, b)
    n = rivals(ids, top, best, b)
    if n:
        best = max(best, weigh(store, client, items, alpha, n, b))
    return pick(best, b)


@compiled_within
def weigh(store: Store, client: int, items: Floats, alpha: float, n: int, b: Bench) -> float:
    """The scores of the n runners; returns the best of them."""
    arms, ids = b.runners[:n], b.entries[:n]
    look_up(items, ids, store.blocks[0, 0], store.table[SERVER, VERSION], b)
    along(b.shared, ids, store.pairs[store.table[client, OWN], 0], b.line)
    for k in range(n):
        b.score[arms[k]] = b.line[k]
    subtract_pending(store, client, b.shared, ids, b)
    return add_confidence(alpha, arms, b)


@compiled_within
def subtract_pending(store: Store, client: int, z: Floats, rows: Ints, b: Bench) -> None:
    """b.width under V_i instead of V_g."""
    pair = store.table[client, TAIL]
    while pair:
        narrow(z, rows, store.pairs[pair, 1], b)
        pair = store.before[pair]


@compiled_bare
def triggered(store: Store, client: int, threshold: float) -> bool:
    """Alg. 1 line 8: delta t * log(det V_i / det(V_i - dV_i)) > D_c; V_i - dV_i is V_g."""
    grown = store.logdet[client, 0] - store.logdet[SERVER, 0]
    return bool(store.table[client, CLOCK] * grown > threshold)


@compiled_bare
def largest(values: Floats) -> float:
    best = values[0]
    for k in range(1, values.shape[0]):
        best = max(best, values[k])
    return float(best)


@compiled_bare
def advance(*flat: Any) -> tuple[int, int]:
    """advance(*steps, *store, *rules, *bench, begin): run steps until one triggers a round.

    Returns (next step, DONE/TRIGGERED/FULL). FULL is answered before a step is taken: after room is
    made it runs as if nothing had been. The arguments come flat, because numba takes longer to
    recognise a NamedTuple than many arrays.
    """
    steps, store = Steps(*flat[:_STEPS]), Store(*flat[_STEPS:_STORE])
    rules, b, begin = Rules(*flat[_STORE:_RULES]), Bench(*flat[_RULES:_BENCH]), flat[_BENCH]
    for t in range(begin, steps.clients.shape[0]):
        if store.free[0] < PAIRS_A_STEP or store.free[1] < BLOCKS_A_STEP:
            return t, FULL
        client = steps.clients[t]
        if outdated(store, client):
            refresh(store, client, rules.ridge, b)
        k = choose(store, client, steps.items, steps.arms[t], rules, b)
        reward = steps.rewards[t, k]
        steps.reward[t] = reward
        steps.regret[t] = largest(steps.expected[t]) - steps.expected[t, k]
        if reward != reward:  # NaN, a pick that a log did not show: as if nobody had acted
            continue
        arm = steps.arms[t, k]
        x = steps.items[arm]
        if store.table[client, DENSE] == 0:
            if rules.stale:
                whiten(store.blocks[0, 0], x, b.p)
            elif b.when.shape[0]:
                copy(b.shared[arm], b.p)
            else:
                copy(b.own[k], b.p)
        learn(store, client, x, reward, rules.limit, rules.ridge, b)
        if rules.stale:
            remember(store, client, b)
        store.table[client, CLOCK] += 1
        if triggered(store, client, rules.threshold):
            return t + 1, TRIGGERED
    return steps.clients.shape[0], DONE
