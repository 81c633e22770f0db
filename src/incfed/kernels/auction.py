"""The auction of `Truthful`: greedy selection by gain per cost, and each winner's critical value.

Gains only fall as S grows (log det is submodular, and stays so when capped at the target), so that
a gain computed earlier is an upper bound: only clients that could still be the best are computed
again. The run without a winner equals the main one up to where that winner was picked, and starts
there.

Clients with many rows are asked with a Cholesky factor of V_g(S) + dV_j. With few rows it is
quicker to keep each row x as U x. In these coordinates V_g is the identity, and client j with rows
X gains log det(I + X X'). Once S has a row p, V_g(S) is I + p p'; it is the identity again in
coordinates that are multiplied by I - p p' / (q (q + 1)), where q^2 = 1 + p'p, which is O(d) for a
row. Rows catch up with S when they are asked for; a rerun copies only those.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..types import Floats, Ints, Mask
from .compiling import compiled, inner, inner_sum
from .factor import ZERO, add, add_outer, cholesky, copy, copy_square, dot, whiten
from .pending import Pending

TIED = 1e-9  # relative, of gain per cost
NOISE = 1e-12  # a gain below this is rounding, and so is such a difference
MAIN, RERUN = 0, 1


class Auction(NamedTuple):
    """The state of the main run (0) and of a run without one of its winners (1)."""

    costs: Floats  # [n]
    ridge: float
    start: Ints  # [n + 1]
    seen: Ints  # [2, n]    how many of the rows `taken` those of each client account for
    bound: Floats  # [2, n]    upper bounds of gains
    exact: Mask  # [2, n]    whether they are the gains
    out: Mask  # [2, n]    clients that cannot be picked (again)
    own: Mask  # [n]       whether a rerun has rows of its own
    rows: Floats  # [2, R, d] U x, up to date with the first `seen` rows of S; or R = 0, and
    grams: Floats  # [n, d, d] dV_j
    taken: Floats  # [R, d]    what S has taken
    weight: Floats  # [R]
    V: Floats  # [2, d, d] V_g(S), if there are `grams`
    square: Floats  # [d, d]

    @classmethod
    def of(
        cls, V: Floats, U: Floats, ridge: float, pending: Pending, costs: Floats, eligible: Mask
    ) -> Auction:
        n, d, R = len(costs), V.shape[0], len(pending.rows)
        many = bool((pending.dense >= 0).any()) or n * d < 6 * R  # measured at d = 25
        R = 0 if many else R
        auction = cls(
            costs, ridge, pending.start, np.zeros((2, n), np.int64), np.full((2, n), np.inf),
            np.zeros((2, n), np.bool_), np.array([~eligible, ~eligible]), np.zeros(n, np.bool_),
            np.empty((2, R, d)), np.zeros((n if many else 0, d, d)), np.empty((R, d)), np.empty(R),
            np.empty((2, d, d)), np.empty((d, d)),
        )  # fmt: skip
        prepare(V, U, *pending, auction.rows, auction.grams, auction.V)
        return auction


FIELDS = len(Auction._fields)


@compiled
def prepare(
    V: Floats, U: Floats, rows: Floats, start: Ints, grams: Floats, dense: Ints, columns: Floats,
    squares: Floats, white: Floats, whole: Floats, own_V: Floats,
) -> None:  # fmt: skip
    """Rows as U x, or everybody's data as a matrix."""
    if whole.shape[0] == 0:
        for row in range(rows.shape[0]):
            whiten(U, rows[row], white[MAIN, row])
        return
    copy_square(V, own_V[MAIN])
    for j in range(dense.shape[0]):
        if dense[j] >= 0:
            copy_square(grams[dense[j]], whole[j])
        for row in range(start[j], start[j + 1]):
            add_outer(whole[j], rows[row])


@compiled
def run_auction(*flat: Any) -> None:
    """run_auction(*auction, value, target, reserve, members, payments): from log det V_g = `value`,
    pick until `target` is reached; marks the winners and sets their payments."""
    a = Auction(*flat[:FIELDS])
    value, target, reserve, members, payments = flat[FIELDS:]
    now = ZERO
    while value < target:
        i = best(a, MAIN, now, value, target - value)
        if i < 0:
            break
        for j in range(a.costs.shape[0]):  # once for all reruns
            if not a.out[MAIN, j]:
                refresh(a, MAIN, j, now)
        members[i] = True
        payments[i] = critical(a, i, now, value, target, reserve)
        now, value = pick(a, MAIN, i, now, value)


@inner
def critical(a: Auction, i: int, now: int, value: float, target: float, reserve: float) -> float:
    """The highest report with which i would still have been picked, from the run without i.

    Picks before i's own add nothing: i lost to them, so that they are worth at most its cost.
    """
    for j in range(a.costs.shape[0]):
        a.seen[RERUN, j] = a.seen[MAIN, j]
        a.bound[RERUN, j] = a.bound[MAIN, j]
        a.exact[RERUN, j] = a.exact[MAIN, j]
        a.out[RERUN, j] = a.out[MAIN, j]
        a.own[j] = False
    if a.grams.shape[0]:
        copy_square(a.V[MAIN], a.V[RERUN])
    a.out[RERUN, i] = True
    price = 0.0
    while value < target:
        left = target - value
        j = best(a, RERUN, now, value, left)
        if j < 0:  # nobody takes its place
            return reserve
        if a.costs[j] > 0.0:
            won = min(a.bound[RERUN, j], left)
            if a.costs[j] * min(a.bound[RERUN, i], left) > price * won:
                evaluate(a, RERUN, i, now, value)
                price = max(price, a.costs[j] * min(a.bound[RERUN, i], left) / won)
                if price >= reserve:
                    return reserve
        now, value = pick(a, RERUN, j, now, value)
    return price


@inner
def best(a: Auction, run: int, now: int, value: float, left: float) -> int:
    """The client with the best gain per cost, the gain capped at `left`; ties to the lowest id.
    Clients without a cost come first. -1 if nobody is left who adds anything."""
    n = a.costs.shape[0]
    for j in range(n):
        if not a.out[run, j] and a.costs[j] == 0.0:
            return j
    while True:
        top = ZERO - 1
        most = price = 0.0
        for j in range(n):
            if not a.out[run, j]:
                gain = min(a.bound[run, j], left)
                if top < 0 or gain * price > most * a.costs[j]:
                    top, most, price = j, gain, a.costs[j]
        if top < 0 or a.exact[run, top]:
            break
        evaluate(a, run, top, now, value)
    if most <= 0.0:
        return ZERO - 1
    for j in range(top):  # clients that may be tied, by id
        enough = most * a.costs[j] * (1.0 - TIED) - NOISE * price
        if not a.out[run, j] and min(a.bound[run, j], left) * price >= enough:
            evaluate(a, run, j, now, value)
            gain = min(a.bound[run, j], left)
            if gain > 0.0 and gain * price >= enough:
                return j
    return top


@inner
def evaluate(a: Auction, run: int, j: int, now: int, value: float) -> None:
    """Make the bound of j its gain."""
    if a.exact[run, j]:
        return
    first, last, square = a.start[j], a.start[j + 1], a.square
    if a.grams.shape[0]:
        gain = log_det_sum(a.V[run], a.grams[j], a.ridge, square) - value
    else:
        refresh(a, run, j, now)
        gain = own_gain(a.rows[run], first, last, square)
    a.bound[run, j] = gain if gain > NOISE else 0.0
    a.exact[run, j] = True


@inner_sum
def log_det_sum(V: Floats, G: Floats, ridge: float, L: Floats) -> float:
    """log det of V + G + ridge I: as `cholesky`, with one logarithm for many pivots."""
    d = V.shape[0]
    logdet, product = 0.0, 1.0
    for j in range(d):
        s0 = 0.0
        for k in range(j):
            s0 += L[j, k] * L[j, k]
        pivot = max(V[j, j] + G[j, j] + ridge - s0, ridge)
        product *= pivot
        if not 1e-50 < product < 1e50:  # before it overflows
            logdet += np.log(product)
            product = 1.0
        inverse = 1.0 / np.sqrt(pivot)
        whole = d - (d - j - 1) % 4
        for i in range(j + 1, whole, 4):
            s0 = s1 = s2 = s3 = 0.0
            for k in range(j):
                u = L[j, k]
                s0 += u * L[i, k]
                s1 += u * L[i + 1, k]
                s2 += u * L[i + 2, k]
                s3 += u * L[i + 3, k]
            L[i, j] = (V[i, j] + G[i, j] - s0) * inverse
            L[i + 1, j] = (V[i + 1, j] + G[i + 1, j] - s1) * inverse
            L[i + 2, j] = (V[i + 2, j] + G[i + 2, j] - s2) * inverse
            L[i + 3, j] = (V[i + 3, j] + G[i + 3, j] - s3) * inverse
        for i in range(whole, d):
            L[i, j] = (V[i, j] + G[i, j] - dot(L[j], L[i], j)) * inverse
    return float(logdet + np.log(product))


@inner
def pick(a: Auction, run: int, j: int, now: int, value: float) -> tuple[int, float]:
    """S += {j}. Returns how many rows S has, and log det V_g(S)."""
    first, last = a.start[j], a.start[j + 1]
    if a.grams.shape[0]:
        evaluate(a, run, j, now, value)
        add(a.V[run], a.grams[j])
        value += a.bound[run, j]
    else:
        refresh(a, run, j, now)
        value += take(a.rows[run], first, last, a.taken, a.weight, now)
    a.out[run, j] = True
    for k in range(a.costs.shape[0]):
        a.exact[run, k] = False
    return now + last - first, value


@inner
def refresh(a: Auction, run: int, j: int, now: int) -> None:
    """Bring the rows of j up to date; a rerun does that with a copy."""
    if a.grams.shape[0]:
        return
    first, last = a.start[j], a.start[j + 1]
    if run == RERUN and not a.own[j]:
        for row in range(first, last):
            copy(a.rows[MAIN, row], a.rows[RERUN, row])
        a.own[j] = True
    catch_up(a.rows[run], first, last, a.taken, a.weight, a.seen[run, j], now)
    a.seen[run, j] = now


@inner_sum
def catch_up(
    rows: Floats, first: int, last: int, taken: Floats, weight: Floats, seen: int, now: int
) -> None:
    """Bring rows `first` to `last` up to date with the rows `seen` to `now` of S."""
    d = rows.shape[1]
    for row in range(first, last):
        for k in range(seen, now):
            along = weight[k] * dot(taken[k], rows[row], d)
            for i in range(d):
                rows[row, i] -= along * taken[k, i]


@inner
def own_gain(rows: Floats, first: int, last: int, square: Floats) -> float:
    """log det(I + X X') of the rows of a client that are up to date."""
    d, r = rows.shape[1], last - first
    if r == 1:
        return float(np.log1p(dot(rows[first], rows[first], d)))
    for i in range(r):
        for k in range(i + 1):
            square[i, k] = dot(rows[first + i], rows[first + k], d)
    corner = square[:r]
    return float(cholesky(corner, 1.0, corner))


@inner
def take(rows: Floats, first: int, last: int, taken: Floats, weight: Floats, now: int) -> float:
    """S takes the rows of a client that are up to date, as rows `now` and on of `taken`. Returns
    their gain."""
    d, gain = rows.shape[1], 0.0
    for row in range(first, last):
        at = now + row - first
        copy(rows[row], taken[at])
        square = dot(taken[at], taken[at], d)
        root = np.sqrt(1.0 + square)
        weight[at] = 1.0 / (root * (root + 1.0))
        gain += np.log1p(square)
        catch_up(rows, row + 1, last, taken, weight, at, at + 1)
    return gain
