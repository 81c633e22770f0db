"""The search of `Exact`: the set that meets a goal for the least money, by branch and bound.

A node has clients that are in, clients that are out, and undecided ones. Three facts prune it.
Whoever is willing to join for data alone may be taken in: the value rises, so nobody costs more.
No member costs less than it would if all who are not out were in. And log det is submodular, so the
goal is only reached by undecided clients whose gains, taken against those who are in, add up to
what is missing: what the cheapest of them cost (in fractions, as in a knapsack) is a lower bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..types import Floats, Ints, Mask
from .coalition import incentive
from .compiling import compiled, inner
from .factor import ZERO, cholesky, copy_square
from .pending import Pending, absorb, add_to, log_gain

UNDECIDED, IN, OUT = 0, 1, 2
LESS = 1e-9  # relative: a total must be less by this much to count as less


class SearchTree(NamedTuple):
    """The nodes from the root to the current one: one for each depth."""

    V: Floats  # [n + 1, d, d]  V_g(those in)
    U: Floats  # [n + 1, d, d]
    value: Floats  # [n + 1]        log det of it
    top: Floats  # [n + 1]        the same with all that are not out
    state: Ints  # [n + 1, n]
    gains: Floats  # [n + 1, n]     of those undecided
    bound: Floats  # [n + 1]        no set below the node costs less
    branch: Ints  # [n + 1]        who is decided next
    tried: Ints  # [n + 1]        how many of its two branches were begun
    prices: Floats  # [n]            scratch
    used: Mask  # [n]            scratch

    @classmethod
    def of(cls, n: int, d: int) -> SearchTree:
        depth = n + 1
        whole = np.zeros((depth, n), np.int64)
        return cls(
            np.empty((depth, d, d)), np.empty((depth, d, d)), np.empty(depth), np.empty(depth),
            whole, np.empty((depth, n)), np.empty(depth), np.zeros(depth, np.int64),
            np.zeros(depth, np.int64), np.empty(n), np.empty(n, np.bool_),
        )  # fmt: skip


FIELDS = len(SearchTree._fields)
REST = FIELDS + len(Pending._fields)


@compiled
def search_cheapest(*flat: Any) -> tuple[int, float, float]:
    """search_cheapest(*tree, *pending, V, U, logdet, ridge, costs, logdets, needed, goal, nodes,
    best, members): improve on `members`, which cost `best`, until that is proved to be the least or
    so many nodes were visited. Returns the nodes visited, the least total found, and a lower bound
    of all."""
    tree, pending = SearchTree(*flat[:FIELDS]), Pending(*flat[FIELDS:REST])
    V, U, logdet, ridge, costs, logdets, needed, goal, nodes, best, members = flat[REST:]
    copy_square(V, tree.V[0])
    copy_square(U, tree.U[0])
    tree.value[0] = logdet
    for j in range(costs.shape[0]):
        tree.gains[0, j] = log_gain(V, U, logdet, ridge, pending, j)
    tree.top[0] = reach(tree, pending, ridge, 0)
    visited, depth = ZERO + 1, ZERO
    best = visit(tree, pending, ridge, costs, logdets, needed, goal, best, members, depth)
    while depth >= 0:
        j = tree.branch[depth]
        if j < 0 or tree.tried[depth] == 2 or not cheaper(tree.bound[depth], best):
            depth -= 1
            continue
        if visited >= nodes:
            break
        tree.tried[depth] += 1
        descend(tree, pending, ridge, depth, j)
        depth += 1
        visited += 1
        best = visit(tree, pending, ridge, costs, logdets, needed, goal, best, members, depth)
    least = best
    for k in range(depth + 1):  # what was left open
        if tree.branch[k] >= 0 and tree.tried[k] < 2:
            least = min(least, tree.bound[k])
    return visited, best, least


@compiled
def cheaper(total: float, best: float) -> bool:
    """Whether one total is less than another, by more than rounding."""
    return best - total > LESS * (1.0 + abs(total))


@inner
def owes(cost: float, logdet: float, value: float) -> float:
    """The part of a cost that data does not cover if log det V_g(S) = `value`."""
    return max(0.0, cost - incentive(value - logdet))


@inner
def reach(tree: SearchTree, pending: Pending, ridge: float, k: int) -> float:
    """log det V_g of all that are not out."""
    for j in range(tree.used.shape[0]):
        tree.used[j] = tree.state[k, j] == UNDECIDED
    R = pending.squares[0]
    copy_square(tree.V[k], R)
    add_to(R, pending, tree.used)
    return cholesky(R, ridge, R)


@inner
def descend(tree: SearchTree, pending: Pending, ridge: float, k: int, j: int) -> None:
    """Node k + 1: node k with j in (its first branch) or out."""
    copy_square(tree.V[k], tree.V[k + 1])
    copy_square(tree.U[k], tree.U[k + 1])
    for i in range(tree.used.shape[0]):
        tree.state[k + 1, i] = tree.state[k, i]
        tree.gains[k + 1, i] = tree.gains[k, i]
    tree.value[k + 1], tree.top[k + 1] = tree.value[k], tree.top[k]
    if tree.tried[k] == 1:
        enter(tree, pending, ridge, k + 1, j)
    else:
        tree.state[k + 1, j] = OUT
        tree.top[k + 1] = reach(tree, pending, ridge, k + 1)


@inner
def enter(tree: SearchTree, pending: Pending, ridge: float, k: int, j: int) -> None:
    """j is in, at node k."""
    tree.state[k, j] = IN
    value = absorb(tree.V[k], tree.U[k], tree.value[k], ridge, pending, j)
    tree.value[k] = value
    for i in range(tree.used.shape[0]):
        if tree.state[k, i] == UNDECIDED:
            tree.gains[k, i] = log_gain(tree.V[k], tree.U[k], value, ridge, pending, i)


@inner
def visit(
    tree: SearchTree, pending: Pending, ridge: float, costs: Floats, logdets: Floats,
    needed: Floats, goal: float, best: float, members: Mask, k: int,
) -> float:  # fmt: skip
    """Compare node k with the best set found, bound it, and say who is decided next (-1: there is
    nothing to find below). Returns the least total found."""
    n = costs.shape[0]
    joined = True
    while joined:
        joined = False
        for j in range(n):
            if tree.state[k, j] == UNDECIDED and tree.value[k] + tree.gains[k, j] >= needed[j]:
                enter(tree, pending, ridge, k, j)
                joined = True
    value = tree.value[k]
    if value >= goal:
        total = 0.0
        for j in range(n):
            if tree.state[k, j] == IN:
                total += owes(costs[j], logdets[j], value)
        if cheaper(total, best):
            best = total
            for j in range(n):
                members[j] = tree.state[k, j] == IN
    tree.tried[k] = 0
    tree.branch[k] = -1
    top = max(tree.top[k], value)
    if top < goal:
        return best
    least = 0.0
    for j in range(n):
        if tree.state[k, j] != OUT:
            tree.prices[j] = owes(costs[j], logdets[j], top)
            if tree.state[k, j] == IN:
                least += tree.prices[j]
    first = ZERO - 1
    missing = goal - value
    for j in range(n):
        tree.used[j] = tree.state[k, j] != UNDECIDED
    while True:  # the knapsack; its first client is the one to branch on
        most = price = 0.0
        j = ZERO - 1
        for i in range(n):
            if not tree.used[i]:
                gain = tree.gains[k, i]
                if j < 0 or gain * price > most * tree.prices[i]:
                    j, most, price = i, gain, tree.prices[i]
        if j < 0:
            break
        if first < 0:
            first = j
        if missing <= 0.0:
            break
        tree.used[j] = True
        least += price * (min(1.0, missing / most) if most > 0.0 else 0.0)
        missing -= most
    tree.bound[k] = least
    tree.branch[k] = first
    return best
