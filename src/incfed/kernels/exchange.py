"""The loop of steps of asynchronous protocols: a client and the server exchange data alone.

Every client has a base of its own (V_i - dV_i: what it has downloaded and uploaded), and is dense.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..types import Floats, Ints
from .client import growth, learn, refactor
from .coalition import incentive
from .compiling import compiled, inlined
from .factor import add, add_scaled, copy, copy_square, factorize, whiten
from .step import DONE, FULL, Steps, largest
from .store import (
    AGE,
    BASE,
    BASE_PAIR,
    DENSE,
    OWN,
    PENDING,
    PRIOR,
    SEEN,
    SERVER,
    Store,
    fetch,
    take_block,
    take_pair,
)
from .trust import (
    Personal,
    choose_personal,
    enter,
    learn_personal,
    renew,
    share_scores,
    take_scores,
)
from .ucb import Bench, Rules, choose


class Exchanges(NamedTuple):
    """The rules of exchanges, and what was exchanged in each step."""

    upload: float  # log gamma_U: the growth of log det V_i at which a client uploads
    download: float  # log gamma_D: see `behind`; NaN: every upload brings the model
    costs: Floats  # [N] D^p
    sent: Ints  # [n] out, zeros on entry; observations that the client uploaded after the step
    paid: Floats  # [n] out, zeros on entry; what it was paid for that


_STEPS = len(Steps._fields)
_EXCHANGES = _STEPS + len(Exchanges._fields)
_STORE = _EXCHANGES + len(Store._fields)
_RULES = _STORE + len(Rules._fields)
_BENCH = _RULES + len(Bench._fields)


@compiled
def advance_asynchronous(personal: Personal | None, *flat: Any) -> tuple[int, int]:
    """advance_asynchronous(personal, *steps, *exchanges, *store, *rules, *bench, begin): run all
    steps; `personal` as in `advance`.

    Returns (next step, DONE/FULL) as `advance` does.
    """
    steps, exchanges = Steps(*flat[:_STEPS]), Exchanges(*flat[_STEPS:_EXCHANGES])
    store, rules = Store(*flat[_EXCHANGES:_STORE]), Rules(*flat[_STORE:_RULES])
    b, begin = Bench(*flat[_RULES:_BENCH]), flat[_BENCH]
    for t in range(begin, steps.clients.shape[0]):
        if store.free[0] < 2 or store.free[1] < 2:
            return t, FULL
        client = steps.clients[t]
        if store.table[client, OWN] == 0:
            join(store, client)
            if personal is not None:
                enter(store, personal, client)
        if behind(store, client, exchanges.download):
            fetch(store, client, steps.fetched, t)
            take_in(store, client, rules.ridge, b)
            if personal is not None:
                take_scores(store, personal, client)
                renew(store, personal, client, rules.ridge)
        if personal is None:
            k = choose(store, client, steps.items, steps.arms[t], rules, None, b)
        else:
            k = choose_personal(personal, client, steps.items, steps.arms[t], rules, b)
        reward = steps.rewards[t, k]
        steps.reward[t] = reward
        steps.regret[t] = largest(steps.expected[t]) - steps.expected[t, k]
        if reward != reward:  # NaN: unknown, the step is skipped
            continue
        x = steps.items[steps.arms[t, k]]
        learn(store, client, x, reward, rules.limit, rules.ridge, b)
        if personal is not None:
            learn_personal(store, personal, client, x, reward, rules.ridge, b)
        if growth(store, client) > exchanges.upload:
            exchanges.sent[t] = store.table[client, PENDING]
            if personal is not None:
                share_scores(personal, steps.clients[t : t + 1], exchanges.sent[t : t + 1])
            give(store, client, rules.ridge, b)
            exchanges.paid[t] = exchanges.costs[client]
            if np.isnan(exchanges.download):
                gained = incentive(store.logdet[SERVER, 0] - store.logdet[client, 0])
                exchanges.paid[t] = max(0.0, exchanges.costs[client] - gained)
                fetch(store, client, steps.fetched, t)
                take_in(store, client, rules.ridge, b)
                if personal is not None and steps.fetched[t]:
                    take_scores(store, personal, client)
                    renew(store, personal, client, rules.ridge)
    return steps.clients.shape[0], DONE


@inlined
def behind(store: Store, client: int, download: float) -> bool:
    """Whether det V_g > gamma_D times the determinant of what the client has of it."""
    return bool(store.logdet[SERVER, 0] - store.logdet[client, 2] > download)


@inlined
def join(store: Store, client: int) -> None:
    """Start with nothing."""
    row = store.table[client]
    row[OWN], row[BASE_PAIR] = take_pair(store), take_pair(store)
    row[DENSE], row[BASE] = take_block(store), take_block(store)
    for pair in (row[OWN], row[BASE_PAIR]):
        copy(store.pairs[PRIOR, 0], store.pairs[pair, 0])
        copy(store.pairs[PRIOR, 1], store.pairs[pair, 1])
    for block in (row[DENSE], row[BASE]):
        copy_square(store.blocks[PRIOR, 0], store.blocks[block, 0])
        copy_square(store.blocks[PRIOR, 1], store.blocks[block, 1])
    store.logdet[client, 0] = store.logdet[client, 2] = store.logdet[SERVER, 1]


@inlined
def take_in(store: Store, client: int, ridge: float, b: Bench) -> None:
    """Download: V_i = V_g + dV_i."""
    row = store.table[client]
    copy_square(store.blocks[0, 1], store.blocks[row[BASE], 1])
    copy(store.pairs[0, 1], store.pairs[row[BASE_PAIR], 1])
    store.logdet[client, 0] = store.logdet[client, 2] = store.logdet[SERVER, 0]
    if row[PENDING]:
        store.logdet[client, 0] = refactor(row, store.pairs, store.blocks, ridge, b.R, b.v)
    else:
        copy_square(store.blocks[0, 0], store.blocks[row[DENSE], 0])
        copy(store.pairs[0, 0], store.pairs[row[OWN], 0])
    row[AGE] = 0


@inlined
def give(store: Store, client: int, ridge: float, b: Bench) -> None:
    """Upload: V_g and the client's base grow by dV_i, and nothing is pending."""
    row, server = store.table[client], store.blocks[0]
    dV, db = store.blocks[row[DENSE], 1], store.pairs[row[OWN], 1]
    add(server[1], dV)
    add(store.blocks[row[BASE], 1], dV)
    add_scaled(store.pairs[0, 1], 1.0, db)
    add_scaled(store.pairs[row[BASE_PAIR], 1], 1.0, db)
    store.logdet[SERVER, 0] = factorize(server[1], ridge, b.R, server[0])
    whiten(server[0], store.pairs[0, 1], store.pairs[0, 0])
    store.logdet[client, 2] = store.logdet[client, 0]
    row[SEEN] += row[PENDING]
    store.table[SERVER, SEEN] += row[PENDING]
    row[PENDING] = 0
    copy_square(store.blocks[PRIOR, 1], dV)  # zeros
    copy(store.pairs[PRIOR, 1], db)
