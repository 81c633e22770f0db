"""One step = choose + learn + trigger (Alg. 1 lines 4-9), and the loop of steps between rounds."""

from __future__ import annotations

from typing import Any, NamedTuple

from .client import learn, outdated, refresh, remember
from .compiling import compiled_bare
from .factor import Floats, Ints, copy, whiten
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
from .ucb import Bench, along, confidence, narrow, pick, score, score_shared

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


@compiled_bare
def choose(store: Store, client: int, items: Floats, ids: Ints, rules: Rules, b: Bench) -> int:
    """Eq. 2 for one client, who is up to date."""
    row = store.table[client]
    if rules.stale:  # the empty prior before its first step
        logdet = store.logdet[client, 1] if row[OLD] else store.logdet[SERVER, 1]
        pair, block = (row[OLD], row[OLD_BLOCK]) if row[OLD] else (PRIOR, PRIOR)
        score(items, ids, store.blocks[block, 0], store.pairs[pair, 0], b)
    elif row[DENSE]:
        logdet = store.logdet[client, 0]
        score(items, ids, store.blocks[row[DENSE], 0], store.pairs[row[OWN], 0], b)
    else:
        logdet = store.logdet[client if row[OWN] else SERVER, 0]
        U, t = store.blocks[0, 0], store.pairs[0, 0]
        if b.when.shape[0]:
            z, rows = b.shared, ids
            score_shared(items, ids, U, t, store.table[SERVER, VERSION], b)
        else:
            z, rows = b.own, b.places
            score(items, ids, U, t, b)
        if row[OWN]:
            along(z, rows, store.pairs[row[OWN], 0], b.score)
        pair = row[TAIL]
        while pair:
            narrow(z, rows, store.pairs[pair, 1], b)
            pair = store.before[pair]
    d = items.shape[1]
    alpha = confidence(logdet, d, rules.ridge, rules.noise, rules.surprise, rules.exploration)
    return pick(alpha, b)


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
