"""Clients that differ: how much a client makes of what others have shared.

Client i's parameter is taken to be the common one plus a deviation of precision kappa, its *trust*
(in observations). With V_o, b_o what it has downloaded less what it sent itself, and V_own, b_own
all its own data:

    C = kappa (V_o + kappa I)^-1
    A = lambda I + C V_o + V_own        b = C b_o + b_own        theta_i = A^-1 b

C V_o is at most V_o and at most kappa I: what others know counts in full while little is known, and
never for more than kappa observations in any direction. kappa = infinity is the paper, V_i(lambda);
kappa = 0 is learning alone.

Only choices depend on it. What a client sends, the trigger and the mechanisms measure what the
server would learn. So these models are kept beside the statistics of the store.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..types import Floats, Ints
from .compiling import compiled, inlined, inner, inner_sum
from .factor import (
    ZERO,
    add,
    add_outer,
    add_scaled,
    copy,
    copy_square,
    dot,
    factorize,
    unwhiten,
    update,
    whiten,
)
from .store import BASE, BASE_PAIR, DENSE, OWN, PRIOR, SEEN, SERVER, TAIL, VERSION, Store
from .ucb import TIE, Bench, Rules, choose_dense, confidence, whiten_arms

# "auto": the values that clients compare, in multiples of the mean squared norm of the arms that
# were shared, and the number of events for which the mean score of all sharers counts.
GRID = (0.0, 1.0, 3.0, 10.0, 30.0, np.inf)
MODELS = len(GRID)
SCORES = MODELS + 1  # and the number of events; or, downloaded, the mean squared norm of arms
PRIOR_EVENTS = 50.0

# V_o is a difference: trust that is smaller than this, relative to the size of what it is the
# difference of, is lost in rounding, and taken for 0.
NEGLIGIBLE = 1e-13

REFRESH = 256  # own updates after which the models are recomputed


class Personal(NamedTuple):
    """The own data of N clients, and G models of each: one, or with "auto" one per value."""

    trust: Floats  # [N, G]
    auto: bool
    V: Floats  # [N, d, d] V_own
    b: Floats  # [N, d] b_own
    U: Floats  # [N, G, d, d] the factor of A
    t: Floats  # [N, G, d] U b
    logdet: Floats  # [N, G] log det A
    version: Ints  # [N] of the shared statistics in them; -1: the client has not acted yet
    age: Ints  # [N] own updates since they were recomputed
    # "auto" only: squared errors of each model's predictions, summed over a client's own events
    score: Floats  # [N, G]
    sent: Floats  # [N, G] what the client has shared of it
    pooled: Floats  # [G + 1] the sum over all that was shared, and the number of its events
    known: Floats  # [N, G + 1] the mean score and mean squared norm that the client downloaded
    places: Ints  # [d] 0, 1, 2, ...
    others: Floats  # [d + 1, d] scratch: V_o and b_o
    scratch: Floats  # [2 d + 3, d]

    @property
    def scalars(self) -> int:
        """That a client sends with its data, and gets with the model."""
        return SCORES if self.auto else 0


def personal(trust: Floats | None, count: int, dim: int) -> Personal:
    """Before the first step; `trust`: one per client, None: "auto"."""
    values = np.tile(GRID, (count, 1)) if trust is None else trust.reshape(count, 1)
    models = values.shape[1]
    return Personal(
        trust=np.ascontiguousarray(values, np.float64),
        auto=trust is None,
        V=np.zeros((count, dim, dim)),
        b=np.zeros((count, dim)),
        U=np.zeros((count, models, dim, dim)),
        t=np.zeros((count, models, dim)),
        logdet=np.zeros((count, models)),
        version=np.full(count, -1),
        age=np.zeros(count, np.int64),
        score=np.zeros((count, models)),
        sent=np.zeros((count, models)),
        pooled=np.zeros(models + 1),
        known=np.zeros((count, models + 1)),
        places=np.arange(dim),
        others=np.zeros((dim + 1, dim)),
        scratch=np.zeros((2 * dim + 3, dim)),
    )


@inner
def trace(V: Floats) -> float:
    total = 0.0
    for i in range(V.shape[0]):
        total += V[i, i]
    return total


@inner_sum
def add_unwhitened(A: Floats, scale: float, U: Floats, B: Floats) -> None:
    """A += scale B U: its lower half, which is all that is read of a symmetric matrix."""
    d = U.shape[0]
    whole = d - d % 4
    for i in range(d):
        for k in range(0, whole, 4):
            b0, b1, b2, b3 = (
                scale * B[i, k], scale * B[i, k + 1], scale * B[i, k + 2], scale * B[i, k + 3],
            )  # fmt: skip
            for j in range(min(i + 1, k + 4)):
                A[i, j] += b0 * U[k, j] + b1 * U[k + 1, j] + b2 * U[k + 2, j] + b3 * U[k + 3, j]
        for k in range(whole, d):
            b0 = scale * B[i, k]
            for j in range(min(i, k) + 1):
                A[i, j] += b0 * U[k, j]


@compiled
def personalize(
    V_o: Floats, b_o: Floats, V_own: Floats, b_own: Floats, trust: float, ridge: float,
    places: Ints, scratch: Floats, U: Floats, t: Floats,
) -> float:  # fmt: skip
    """U, t = U b and log det of A = lambda I + C V_o + V_own, with b = C b_o + b_own.

    places: 0, 1, ..., d - 1. scratch: [2 d + 3, d].
    """
    d = b_o.shape[0]
    A, L = scratch[:d], scratch[d : 2 * d]
    b, row, line = scratch[2 * d], scratch[2 * d + 1], scratch[2 * d + 2]
    copy_square(V_own, A)
    copy(b_own, b)
    if trust == np.inf:  # C = I
        add(A, V_o)
        add_scaled(b, 1.0, b_o)
    elif trust > NEGLIGIBLE * (abs(trace(V_o)) + trace(V_own)):
        factorize(V_o, trust, L, U)  # C = kappa U'U
        whiten(U, b_o, row)
        unwhiten(U, row, line)
        add_scaled(b, trust, line)
        whiten_arms(V_o, places, U, L, places)  # V_o U', as V_o is symmetric
        add_unwhitened(A, trust, U, L)  # A += V_o C = C V_o
    logdet = factorize(A, ridge, A, U)
    whiten(U, b, t)
    return logdet


@compiled
def preferred(score: Floats, known: Floats) -> int:
    """The model with the least squared error, the mean of all sharers counting as so many events of
    its own; among equals the one that trusts most."""
    least = np.inf
    for g in range(score.shape[0]):
        least = min(least, score[g] + PRIOR_EVENTS * known[g])
    best = ZERO
    for g in range(score.shape[0]):
        if score[g] + PRIOR_EVENTS * known[g] <= least + TIE * (1.0 + least):
            best = g
    return best


@compiled
def squared_error(x: Floats, y: float, U: Floats, t: Floats, p: Floats) -> float:
    """The squared error of a model's prediction of y."""
    whiten(U, x, p)
    return float((y - dot(p, t, x.shape[0])) ** 2)


@inlined
def enter(store: Store, own: Personal, client: int) -> None:
    """Before its first step a client knows nothing."""
    for g in range(own.trust.shape[1]):
        copy_square(store.blocks[PRIOR, 0], own.U[client, g])
        own.logdet[client, g] = store.logdet[SERVER, 1]
    own.version[client] = 0


@inlined
def catch_up(store: Store, own: Personal, client: int, ridge: float) -> None:
    """Take in what others have shared since the client last acted, if it may download it."""
    version = store.table[SERVER, VERSION]
    if own.version[client] != version and store.table[client, BASE] == 0:
        own.version[client] = version
        if store.table[client, SEEN] != store.table[SERVER, SEEN]:
            take_scores(store, own, client)
        renew(store, own, client, ridge)


@inlined
def take_scores(store: Store, own: Personal, client: int) -> None:
    """The mean score of all sharers, and the mean squared norm of their arms: downloaded with data
    that is new to the client."""
    last = own.pooled.shape[0] - 1
    events = own.pooled[last]
    if events > 0.0:
        for g in range(last):
            own.known[client, g] = own.pooled[g] / events
        own.known[client, last] = trace(store.blocks[0, 1]) / events


@inlined
def renew(store: Store, own: Personal, client: int, ridge: float) -> None:
    """Recompute the models from V_o = V_i - V_own."""
    d = own.b.shape[1]
    row, V_o, b_o = store.table[client], own.others[:d], own.others[d]
    copy_square(store.blocks[row[BASE], 1], V_o)
    copy(store.pairs[row[BASE_PAIR], 1], b_o)
    if row[OWN]:
        add_scaled(b_o, 1.0, store.pairs[row[OWN], 1])
    if row[DENSE]:
        add(V_o, store.blocks[row[DENSE], 1])
    pair = row[TAIL]
    while pair:
        add_outer(V_o, store.pairs[pair, 0])
        pair = store.before[pair]
    for i in range(d):
        add_scaled(V_o[i], -1.0, own.V[client, i])
    add_scaled(b_o, -1.0, own.b[client])
    models = own.trust.shape[1]
    for g in range(models):
        trust = own.trust[client, g]
        if own.auto and 0.0 < trust < np.inf:
            trust *= own.known[client, models]
        own.logdet[client, g] = personalize(
            V_o, b_o, own.V[client], own.b[client], trust, ridge, own.places,
            own.scratch, own.U[client, g], own.t[client, g],
        )  # fmt: skip
    own.age[client] = 0


@inlined
def choose_personal(
    own: Personal, client: int, items: Floats, ids: Ints, rules: Rules, b: Bench
) -> int:
    """Eq. 2 with A for V_i(lambda)."""
    g = preferred(own.score[client], own.known[client]) if own.auto else ZERO
    alpha = confidence(own.logdet[client, g], items.shape[1], rules)
    U, t = own.U[client, g], own.t[client, g]
    return choose_dense(items, ids, b.places, U, t, alpha, b.own, b.score)


@inlined
def learn_personal(
    store: Store, own: Personal, client: int, x: Floats, y: float, ridge: float, b: Bench
) -> None:
    """Add (x, y), which the store has learned already, to the client's own data and models."""
    add_outer(own.V[client], x)
    add_scaled(own.b[client], y, x)
    for g in range(own.trust.shape[1]):
        U, t = own.U[client, g], own.t[client, g]
        if own.auto:
            own.score[client, g] += squared_error(x, y, U, t, b.p)
        own.logdet[client, g] += np.log1p(update(U, x, y, t, b.p, b.v))
    own.age[client] += 1
    if own.age[client] == REFRESH:
        renew(store, own, client, ridge)


@compiled
def share_scores(own: Personal, clients: Ints, events: Ints) -> None:
    """With the data of these clients, `events` of each, their scores are shared."""
    last = own.pooled.shape[0] - 1
    for j in range(clients.shape[0]):
        client = clients[j]
        for g in range(last):
            own.pooled[g] += own.score[client, g] - own.sent[client, g]
            own.sent[client, g] = own.score[client, g]
        own.pooled[last] += events[j]
