"""Determinants of V_g(S) = V_g + the pending data of a set S, for mechanisms."""

from __future__ import annotations

import numpy as np

from ..types import Floats, Ints, Mask
from .compiling import compiled, inlined
from .factor import ZERO, add_scaled, cholesky, copy_square, factorize
from .pending import Pending, absorb, add_to, log_gain
from .ucb import TIE

MOST_MONEY = 1e300  # so that sums stay finite
WILLING = 1e-9  # incentive >= cost - 1e-9 (1 + cost)
LARGEST = float(np.log(np.finfo(float).max))  # exp of larger values overflows


@compiled
def form(V: Floats, ridge: float, pending: Pending, members: Mask, U: Floats) -> float:
    """Change V to V_g(S) in place, and U to its factor; returns log det V_g(S)."""
    add_to(V, pending, members)
    return factorize(V, ridge, pending.squares[0], U)


@compiled
def merge(
    V: Floats, b: Floats, ridge: float, pending: Pending, members: Mask, db: Floats, U: Floats
) -> float:
    """`form`, and b += each row of db, in order: those of the members."""
    for row in range(db.shape[0]):
        add_scaled(b, 1.0, db[row])
    return form(V, ridge, pending, members, U)


@compiled
def log_value(V: Floats, ridge: float, pending: Pending, members: Mask) -> float:
    """log det V_g(S)."""
    R = pending.squares[0]
    copy_square(V, R)
    add_to(R, pending, members)
    return cholesky(R, ridge, R)


@compiled
def log_gains(
    V: Floats,
    U: Floats,
    logdet: float,
    ridge: float,
    pending: Pending,
    among: Mask,
    gains: Floats,
) -> None:
    """gains[j] = log c_j(S) of Eq. 6 for every j in `among`."""
    for j in range(among.shape[0]):
        if among[j]:
            gains[j] = log_gain(V, U, logdet, ridge, pending, j)


@compiled
def stable(
    V: Floats,
    U: Floats,
    logdet: float,
    ridge: float,
    pending: Pending,
    needed: Floats,
    order: Ints,
    members: Mask,
) -> float:
    """Alg. 2: the largest S in which log det V_g(S) reaches what each member needs.

    S holds the clients that need least: the longest prefix of `order` (by ascending need) whose
    value reaches the need of its last client. The prefixes are built with one low-rank update per
    client. No prefix has a larger value than everyone together, so clients that need more than that
    are excluded at once. `members` holds everyone on entry and S on return; returns
    log det V_g(everyone).
    """
    full = log_value(V, ridge, pending, members)
    for j in range(members.shape[0]):
        members[j] = False
    grown, factor = pending.squares[2], pending.squares[3]
    copy_square(V, grown)
    copy_square(U, factor)
    length = ZERO
    for k in range(order.shape[0]):
        need = needed[order[k]]
        if not need <= full:
            break
        logdet = absorb(grown, factor, logdet, ridge, pending, order[k])
        if logdet >= need:
            length = k + 1
    for k in range(length):
        members[order[k]] = True
    return full


@compiled
def best(
    V: Floats,
    U: Floats,
    logdet: float,
    ridge: float,
    pending: Pending,
    members: Mask,
    among: Mask,
    bound: Floats,
    exact: Mask,
) -> int:
    """The client of `among` outside S with the largest contribution, ties (1e-9) to the lowest id;
    -1 if there is none.

    log det is submodular: a contribution computed for a smaller S is an upper bound of the current
    one. So only clients whose `bound` could still be the largest are recomputed (made `exact`).
    """
    while True:
        top = ZERO - 1
        for j in range(among.shape[0]):
            if among[j] and not members[j] and (top < 0 or bound[j] > bound[top]):
                top = j
        if top < 0 or exact[top]:
            break
        bound[top] = log_gain(V, U, logdet, ridge, pending, top)
        exact[top] = True
    for j in range(top):  # clients that may be tied, by id
        if among[j] and not members[j] and bound[j] >= bound[top] - TIE:
            if not exact[j]:
                bound[j] = log_gain(V, U, logdet, ridge, pending, j)
                exact[j] = True
            if bound[j] >= bound[top] - TIE:
                return j
    return top


@inlined
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
    """S += {j}; contributions computed so far become upper bounds. Returns log det V_g(S)."""
    members[j] = True
    for k in range(exact.shape[0]):
        exact[k] = False
    return absorb(V, U, logdet, ridge, pending, j)


@inlined
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
    """Alg. 4 lines 5-8: in order of id, clients of `among` that now gain enough join S, unpaid.

    j is willing if log det(V_g(S) + dV_j) >= needed[j]; for most clients the bound decides without
    a determinant.
    """
    for j in range(among.shape[0]):
        if not among[j] or members[j] or logdet + bound[j] < needed[j]:
            continue
        if not exact[j]:
            bound[j] = log_gain(V, U, logdet, ridge, pending, j)
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
    """Iterations of Alg. 4, lines 3-8, until log det V_g(S) reaches `goal` or no client is left.

    In each, the best of `among` joins and is marked in `picked`; then (if `convinced`) the clients
    whose cost data now covers join. Returns the number of iterations and log det V_g(S).
    """
    turns = 0
    while turns == 0 or logdet < goal:
        j = best(V, U, logdet, ridge, pending, members, among, bound, exact)
        if j < 0:
            break
        turns += 1
        picked[j] = True
        logdet = join(V, U, logdet, ridge, pending, members, exact, j)
        if convinced:
            logdet = welcome(V, U, logdet, ridge, pending, members, among, bound, exact, needed)
    return turns, logdet


@compiled
def owed(costs: Floats, logdets: Floats, logdet: float, paid: Mask, money: Floats) -> None:
    """Set `money` to what data does not cover, max(0, D_i - I^d_i), for `paid` clients; else 0."""
    for i in range(paid.shape[0]):
        money[i] = max(0.0, costs[i] - incentive(logdet - logdets[i])) if paid[i] else 0.0


@compiled
def needs(costs: Floats, logdets: Floats, needed: Floats) -> None:
    """tau_i: the log det V_g(S) at which data alone covers client i's cost (less 1e-9 (1 + D)).

    I^d >= D - 1e-9 (1 + D) is 1 + I^d >= (1 - 1e-9)(1 + D), and so a shift of logarithms.
    """
    for i in range(costs.shape[0]):
        needed[i] = np.log1p(costs[i]) + logdets[i] + np.log1p(-WILLING)


@compiled
def incentive(grown: float) -> float:
    """Eq. 4: the ratio of determinants minus 1, kept finite."""
    return float(np.expm1(min(max(0.0, grown), LARGEST)))


@compiled
def sound(members: Mask, payments: Floats) -> bool:
    """Whether no payment is negative, NaN or too large to sum, and only members are paid."""
    for j in range(payments.shape[0]):
        if not 0.0 <= payments[j] <= MOST_MONEY or (payments[j] > 0.0 and not members[j]):
            return False
    return True


@compiled
def untouched(clients: Ints, own_clients: Ints, costs: Floats, own_costs: Floats) -> bool:
    """Whether the clients and costs of a round are unchanged."""
    if clients.shape[0] != own_clients.shape[0] or costs.shape[0] != own_costs.shape[0]:
        return False
    for j in range(own_clients.shape[0]):
        if clients[j] != own_clients[j] or costs[j] != own_costs[j]:
            return False
    return True
