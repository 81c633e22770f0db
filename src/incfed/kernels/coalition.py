"""Determinants of V_g(S) = V_g + the pending data of a set S, for mechanisms to reason with."""

from __future__ import annotations

import numpy as np

from .compiling import compiled
from .factor import ZERO, Floats, Ints, cholesky, factorize
from .pending import Mask, Pending, absorb, add_to, log_gain
from .ucb import TIE

MOST_MONEY = 1e300  # so that sums stay finite
WILLING = 1e-9  # READING 15: incentive >= cost - 1e-9 (1 + cost)
LARGEST = float(np.log(np.finfo(float).max))  # exp of more than this overflows


@compiled
def merge(
    V: Floats,
    b: Floats,
    pending: Pending,
    members: Mask,
    db: Floats,
    ridge: float,
    factor: Floats,
) -> float:
    """S shares: V_g and b_g (db: one row a member) grow in place, by id; returns log det V_g."""
    add_to(V, pending, members)
    for row in range(db.shape[0]):
        b += db[row]
    return factorize(V, ridge, np.empty_like(V), factor)


@compiled
def log_value(V: Floats, ridge: float, pending: Pending, members: Mask) -> float:
    """log det V_g(S)."""
    V = V.copy()
    add_to(V, pending, members)
    return cholesky(V, ridge, np.empty_like(V))


@compiled
def form(V: Floats, ridge: float, pending: Pending, members: Mask) -> tuple[Floats, Floats, float]:
    """V_g(S), its factor and log det."""
    V, U = V.copy(), np.empty_like(V)
    add_to(V, pending, members)
    return V, U, factorize(V, ridge, np.empty_like(V), U)


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
def stable(
    V: Floats, U: Floats, logdet: float, ridge: float, pending: Pending, needed: Floats
) -> tuple[Mask, float]:
    """Alg. 2: the largest S in which log det V_g(S) reaches what each member needs.

    It holds the clients that need least: the longest prefix, in that order, whose value reaches
    the need of its last. The prefixes are built up, one low-rank update a client; none can be worth
    more than everyone together, so whoever needs more than that is out at once. Returns S and
    log det V_g(everyone).
    """
    members = np.ones(needed.shape[0], np.bool_)
    full = log_value(V, ridge, pending, members)
    members[:] = False
    hopeful = np.flatnonzero(needed <= full)
    if hopeful.shape[0] == 0:
        return members, full
    order = hopeful[np.argsort(needed[hopeful], kind="mergesort")]
    V, U, R = V.copy(), U.copy(), np.empty_like(V)
    length = 0
    for k in range(order.shape[0]):
        logdet = absorb(V, U, logdet, ridge, pending, order[k], R)
        if logdet >= needed[order[k]]:
            length = k + 1
    for k in range(length):
        members[order[k]] = True
    return members, full


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
        top = ZERO - 1
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


@compiled
def recruit(
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
    convinced: bool,
    goal: float,
    picked: Mask,
) -> tuple[int, float]:
    """Turns of Alg. 4, lines 3-8, until log det V_g(S) reaches `goal` or nobody is left.

    Each turn the best of `among` joins, marked in `picked`, and then (if `convinced`) whom that
    convinces. Returns the number of turns and log det V_g(S).
    """
    turns = 0
    while turns == 0 or logdet < goal:
        j = best(V, U, logdet, ridge, pending, among & ~members, bound, exact)
        if j < 0:
            break
        turns += 1
        picked[j] = True
        logdet = join(V, U, logdet, ridge, pending, members, exact, j)
        if convinced:
            logdet = welcome(V, U, logdet, ridge, pending, members, among, bound, exact, needed)
    return turns, logdet


@compiled
def owed(costs: Floats, logdets: Floats, logdet: float, paid: Mask) -> Floats:
    """READING 5: what data leaves uncovered, max(0, D_i - I^d_i), for those in `paid`; else 0."""
    money = np.zeros(paid.shape[0])
    for i in range(paid.shape[0]):
        if paid[i]:
            money[i] = max(0.0, costs[i] - incentive(logdet - logdets[i]))
    return money


@compiled
def needs(costs: Floats, logdets: Floats) -> Floats:
    """tau_i: the log det V_g(S) at which data alone is worth client i's cost (1e-9 (1 + D) less).

    I^d >= D - 1e-9 (1 + D) is 1 + I^d >= (1 - 1e-9)(1 + D), and so a shift of logarithms.
    """
    needed: Floats = np.log1p(costs) + logdets + np.log1p(-WILLING)
    return needed


@compiled
def incentive(grown: float) -> float:
    """Eq. 3: the determinant's growth less 1, kept finite."""
    return float(np.expm1(min(max(0.0, grown), LARGEST)))


@compiled
def sound(members: Mask, payments: Floats) -> bool:
    """No payment is negative, NaN or beyond adding up, and none goes to anybody outside."""
    for j in range(payments.shape[0]):
        if not 0.0 <= payments[j] <= MOST_MONEY or (payments[j] > 0.0 and not members[j]):
            return False
    return True


@compiled
def untouched(clients: Ints, own_clients: Ints, costs: Floats, own_costs: Floats) -> bool:
    """Are the clients and costs of a round still what the server gave?"""
    if clients.shape[0] != own_clients.shape[0] or costs.shape[0] != own_costs.shape[0]:
        return False
    for j in range(own_clients.shape[0]):
        if clients[j] != own_clients[j] or costs[j] != own_costs[j]:
            return False
    return True
