"""The stream of clients between rounds, from which the server tells if a round is worth it.

With `rows` the server gets x of every step and knows L_all = log det(V_g + all pending data). Data
moves from pending to V_g and is never lost, so V_g + all pending data is the sum over all steps,
whatever rounds there were.

Otherwise it gets one number a step, the growth of the client's own log det. By submodularity the
growth of L_all is at most that: the sum is an upper bound U, exact again when clients upload. The
data of clients that did not answer is left out of U until they do: it would call again and again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..types import Floats, Ints
from .compiling import compiled, inlined
from .factor import add_outer, factorize, update
from .pending import Pending, absorb
from .store import PENDING, SERVER, Store, empty_store
from .ucb import Bench

REFRESH = 256  # rows after which the factor is recomputed
LOOSE = 1e-7  # by which a bound here may be below the exact figure, which decides


class Signals(NamedTuple):
    """The server's knowledge of N clients between rounds."""

    rows: bool  # rows are streamed
    least: float  # the news L_all - L_g that a round must bring
    patient: bool  # and clients must be willing to share for data alone
    need: Floats  # [N] log(1 + D_i), or more: by how much log det V_g(S) must exceed log det V_i
    figure: Floats  # [1] L_all, or its upper bound U
    age: Ints  # [1] rows since the factor was recomputed
    all: Floats  # [2, d, d] the factor of V_g + all pending data, and that itself
    # Only growth is known. `order`: clients by cost; a level ends where the cost changes.
    order: Ints  # [N]
    ends: Ints  # [N] 1 where a level ends
    exact: Floats  # [N] log det(V_g + pending data of order[:k + 1]), when it was last known
    grown: Floats  # [N] growth reported by each client since then


def signals(
    count: int, dim: int, ridge: float, *, rows: bool, least: float, patient: bool,
    costs: Floats, factor: float = 1.0,
) -> Signals:  # fmt: skip
    """Before the first step. `factor` multiplies what clients need, where only bounds are known."""
    start = dim * float(np.log(ridge))
    order = np.argsort(costs, kind="stable")
    ends = np.append(np.diff(costs[order]) > 0.0, True).astype(np.int64)
    size = dim if rows else 0
    both = np.zeros((2, size, size))
    both[0] = np.eye(size) / np.sqrt(ridge)
    return Signals(
        rows=rows,
        least=least,
        patient=patient,
        need=factor * np.log1p(costs),
        figure=np.array([start]),
        age=np.zeros(1, np.int64),
        all=both,
        order=order,
        ends=ends,
        exact=np.full(count, start),
        grown=np.zeros(count),
    )


@inlined
def report(signals: Signals, client: int, x: Floats, square: float, ridge: float, b: Bench) -> None:
    """The signal of one step; `square` is x' V_i^-1 x before it."""
    if signals.rows:
        U, V = signals.all[0], signals.all[1]
        add_outer(V, x)
        signals.figure[0] += np.log1p(update(U, x, 0.0, b.v, b.p, b.R[0]))
        signals.age[0] += 1
        if signals.age[0] == REFRESH:
            signals.age[0] = 0
            signals.figure[0] = factorize(V, ridge, b.R, U)
    else:
        signals.grown[client] += np.log1p(square)
        signals.figure[0] += np.log1p(square)


@inlined
def worthwhile(store: Store, signals: Signals) -> bool:
    """Whether the server should look closer, with exact figures (`rows`), or call the clients.

    log det V_i of all clients with pending data must be up to date.
    """
    base, least = store.logdet[SERVER, 0], signals.least - LOOSE
    if signals.figure[0] - base < least:
        return False
    if not signals.patient:
        return True
    if signals.rows:  # no set reaches more than L_all: does anybody need less?
        for client in range(signals.need.shape[0]):
            needed = store.logdet[client, 0] + signals.need[client]
            if store.table[client, PENDING] and needed <= signals.figure[0] + LOOSE:
                return True
        return False
    return ready(store, signals, base, least)


@inlined
def ready(store: Store, signals: Signals, base: float, least: float) -> bool:
    """Whether the bound of the growth suffices for two clients or more with pending data.

    It must suffice for every client; those that cost more than the rest are passed over once it
    would suffice for the rest even if it were smaller by the news of a whole round.
    """
    last = signals.order.shape[0] - 1
    total, most, pending = 0.0, -np.inf, 0
    for k in range(last + 1):
        client = signals.order[k]
        total += signals.grown[client]
        if store.table[client, PENDING]:
            pending += 1
            most = max(most, store.logdet[client, 0] + signals.need[client])
        if signals.ends[k] and pending > 1:
            bound = signals.exact[k] + total
            if k < last:
                bound -= signals.least
            if bound - base >= least and bound >= most - LOOSE:
                return True
    return False


def worthwhile_of(signals: Signals, logdets: Floats, pending: Ints, shared: float) -> bool:
    """Whether a round is worth it for clients that no store has: with these log det V_i and
    pending steps, where log det V_g is `shared`."""
    store = empty_store(len(logdets), 1, 1.0)
    store.table[:SERVER, PENDING] = pending
    store.logdet[:SERVER, 0], store.logdet[SERVER, 0] = logdets, shared
    return bool(worthwhile(store, signals))


@compiled
def know(
    signals: Signals, places: Ints, V: Floats, U: Floats, logdet: float, ridge: float,
    pending: Pending,
) -> None:  # fmt: skip
    """Compute the figures from the uploads: places[k] is that of client order[k], -1: none.

    V and U are copies of V_g's, and are changed. `grown` holds what clients reported beyond that.
    """
    for k in range(places.shape[0]):
        if places[k] >= 0:
            logdet = absorb(V, U, logdet, ridge, pending, places[k])
        signals.exact[k] = logdet
    signals.figure[0] = logdet
    for k in range(places.shape[0]):
        signals.figure[0] += signals.grown[k]
