"""Determinants of V_g(S) = V_g + the pending data of a set S, for mechanisms to reason with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .factor import Floats, cholesky, factorize
from .pending import Pending, absorb, add_to, log_gain
from .store import Ints
from .ucb import TIE

Mask = NDArray[np.bool_]


@compiled
def joined(V: Floats, pending: Pending, members: Mask) -> Floats:
    """V_g(S)."""
    total = V.copy()
    for j in range(members.shape[0]):
        if members[j]:
            add_to(total, pending, j)
    return total


@compiled
def log_value(V: Floats, ridge: float, pending: Pending, members: Mask) -> float:
    """log det V_g(S)."""
    return cholesky(joined(V, pending, members), ridge, np.empty_like(V))


@compiled
def form(V: Floats, ridge: float, pending: Pending, members: Mask) -> tuple[Floats, Floats, float]:
    """V_g(S), its factor and log det."""
    total = joined(V, pending, members)
    U = np.empty_like(V)
    return total, U, factorize(total, ridge, np.empty_like(V), U)


@compiled
def log_gains(
    V: Floats, U: Floats, logdet: float, ridge: float, pending: Pending, members: Mask
) -> Floats:
    """log c_j(S) of Eq. 6 for every j outside S, 0 for those inside."""
    gains = np.zeros(members.shape[0])
    R = np.empty_like(V)
    for j in range(members.shape[0]):
        if not members[j]:
            gains[j] = log_gain(V, U, logdet, ridge, pending, j, R)
    return gains


@compiled
def growth(
    V: Floats, U: Floats, logdet: float, ridge: float, pending: Pending, order: Ints
) -> Floats:
    """log det V_g(first k clients of `order`), k = 1, 2, ...: built up, one client at a time."""
    V, U = V.copy(), U.copy()
    R = np.empty_like(V)
    values = np.empty(order.shape[0])
    for k in range(order.shape[0]):
        logdet = absorb(V, U, logdet, ridge, pending, order[k], R)
        values[k] = logdet
    return values


@compiled
def best(
    V: Floats,
    U: Floats,
    logdet: float,
    ridge: float,
    pending: Pending,
    among: Mask,
    bound: Floats,
    exact: Mask,
) -> int:
    """The client of `among` with the largest contribution, ties (1e-9) to the lowest id; -1: none.

    log det is submodular: a contribution computed for a smaller S bounds the present one from
    above. So only clients whose `bound` could still win are computed again (made `exact`).
    """
    n = among.shape[0]
    R = np.empty_like(V)
    while True:
        top = -1
        for j in range(n):
            if among[j] and (top < 0 or bound[j] > bound[top]):
                top = j
        if top < 0:
            return -1
        if exact[top]:
            break
        bound[top] = log_gain(V, U, logdet, ridge, pending, top, R)
        exact[top] = True
    for j in range(n):  # whoever might be within the tie, by id
        if among[j] and bound[j] >= bound[top] - TIE:
            if not exact[j]:
                bound[j] = log_gain(V, U, logdet, ridge, pending, j, R)
                exact[j] = True
            if bound[j] >= bound[top] - TIE:
                return j
    return top


@compiled
def join(
    V: Floats,
    U: Floats,
    logdet: float,
    ridge: float,
    pending: Pending,
    members: Mask,
    exact: Mask,
    j: int,
) -> float:
    """S += {j}; every contribution computed so far becomes a bound. Returns log det V_g(S)."""
    members[j] = True
    exact[:] = False
    return absorb(V, U, logdet, ridge, pending, j, np.empty_like(V))


@compiled
def welcome(
    V: Floats,
    U: Floats,
    logdet: float,
    ridge: float,
    pending: Pending,
    members: Mask,
    among: Mask,
    bound: Floats,
    exact: Mask,
    needed: Floats,
) -> float:
    """Alg. 4 lines 5-8: in order of id, whoever of `among` now gains enough joins S, unpaid.

    j is willing when log det(V_g(S) + dV_j) >= needed[j]; the bound settles most without a
    determinant.
    """
    R = np.empty_like(V)
    for j in range(among.shape[0]):
        if not among[j] or members[j] or logdet + bound[j] < needed[j]:
            continue
        if not exact[j]:
            bound[j] = log_gain(V, U, logdet, ridge, pending, j, R)
            exact[j] = True
        if logdet + bound[j] >= needed[j]:
            logdet = join(V, U, logdet, ridge, pending, members, exact, j)
    return logdet
