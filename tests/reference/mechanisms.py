"""The mechanisms written out literally, the paper's as printed: the yardstick of the fast ones.

Everything is a full d x d matrix and a plain `slogdet`; no low-rank algebra, no sorting trick, no
lazy evaluation. It imports nothing of the package, so that the two can only agree by both being
right. A set S of clients is a boolean mask over the clients that have something to share, in
ascending order of their ids.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

TOLERANCE = 1e-9  # for ties and for rounding; docs/paper.md, readings 7, 9 and 15
LARGEST_EXPONENT = float(np.log(np.finfo(np.float64).max))


def logdet(matrices: FloatArray, ridge: float) -> FloatArray:
    """log det(V + ridge I) of one matrix, or of each in a stack (reading 1)."""
    return np.asarray(np.linalg.slogdet(matrices + ridge * np.eye(matrices.shape[-1]))[1])


def enough(incentive: FloatArray, cost: FloatArray) -> BoolArray:
    """Does the incentive cover the cost, rounding aside (readings 9 and 15)?"""
    return np.asarray(incentive >= cost - TOLERANCE * (1.0 + cost))


def including(S: BoolArray, client: int) -> BoolArray:
    """S with one more client."""
    larger = S.copy()
    larger[client] = True
    return larger


@dataclass(frozen=True)
class Table:
    """What lies on the server's table in one round."""

    V_g: FloatArray  # [d, d]     what is shared already
    dV: FloatArray  # [n, d, d]  what each client could add
    V_i: FloatArray  # [n, d, d]  what each client knows
    costs: FloatArray  # [n]        D^p
    ridge: float
    behind: FloatArray | float = 0.0  # [n, d, d]  what each client has yet to download

    @cached_property
    def known(self) -> FloatArray:
        """log det V_i of every client."""
        return logdet(self.V_i, self.ridge)

    @cached_property
    def everything(self) -> FloatArray:
        """log det V_g(everyone)."""
        return logdet(self.shared(np.ones(len(self.costs), dtype=bool)), self.ridge)

    def shared(self, S: BoolArray) -> FloatArray:
        """V_g(S) = V_g + sum over S (Eq. 6)."""
        return np.asarray(self.V_g + self.dV[S].sum(axis=0))

    def incentives(self, who: BoolArray, S: BoolArray) -> FloatArray:
        """Data incentive (Eq. 4) of each client in `who`, given S: det(V_i + D_i(S)) / det V_i - 1.

        D_i(S) sums the *others*: i's own data is left out of the sum rather than subtracted from
        it, so that an offer of nothing is worth exactly nothing. With it comes what i has missed.
        """
        n, d = len(self.costs), self.V_g.shape[0]
        others = (S & ~np.eye(n, dtype=bool)[who]).astype(np.float64)
        offered = (others @ self.dV.reshape(n, d * d)).reshape(-1, d, d)
        offered = offered + (self.behind[who] if isinstance(self.behind, np.ndarray) else 0.0)
        gain = logdet(self.V_i[who] + offered, self.ridge) - self.known[who]
        return np.asarray(np.expm1(np.clip(gain, 0.0, LARGEST_EXPONENT)))

    def willing(self, client: int, S: BoolArray) -> bool:
        """Would this client share for the data of the others in S alone?"""
        who = including(np.zeros_like(S), client)
        return bool(enough(self.incentives(who, S), self.costs[who])[0])

    def contributions(self, who: BoolArray, S: BoolArray) -> FloatArray:
        """log of Eq. 6: what each client in `who` would add to the server's determinant.

        Returned in full length, NaN for the clients nobody asked about.
        """
        base = self.shared(S)
        gains = np.full(len(self.costs), np.nan)
        gains[who] = logdet(base + self.dV[who], self.ridge) - logdet(base, self.ridge)
        return gains

    def meets(self, S: BoolArray, beta: float) -> bool:
        """det V_g(S) / det V_g(everyone) >= beta (reading 7)."""
        if beta == 0.0:
            return True
        ratio = logdet(self.shared(S), self.ridge) - self.everything
        return bool(ratio >= np.log(beta) - TOLERANCE)

    def payments(self, paid: BoolArray, S: BoolArray, data_counts: bool = True) -> FloatArray:
        """What the clients in `paid` must get on top of the data (Eq. 5), in full length."""
        money = np.zeros(len(self.costs))
        data = self.incentives(paid, S) if data_counts else 0.0  # w/o PF: money only (reading 13)
        money[paid] = np.maximum(0.0, self.costs[paid] - data)
        return money


def largest(gains: FloatArray, among: BoolArray) -> int:
    """The lowest id whose gain is within the tolerance of the largest (reading 15)."""
    return int(np.flatnonzero(among & (gains >= gains[among].max() - TOLERANCE))[0])


def smallest(gains: FloatArray, among: BoolArray) -> int:
    """The lowest id whose gain is within the tolerance of the smallest."""
    return int(np.flatnonzero(among & (gains <= gains[among].min() + TOLERANCE))[0])


def stable_set(table: Table) -> BoolArray:
    """Algorithm 2: begin with everybody, remove one unwilling client at a time."""
    S = np.ones(len(table.costs), dtype=bool)
    while S.any():
        members = np.flatnonzero(S)
        unwilling = members[~enough(table.incentives(S, S), table.costs[S])]
        if len(unwilling) == 0:
            break
        S[unwilling[0]] = False
    return S


def segment(
    table: Table, start: BoolArray, beta: float, order: str
) -> tuple[int | None, BoolArray]:
    """Algorithm 3, lines 1-5: the last resort, if there is one, and the invalid list before it."""
    others = ~start
    gains = table.contributions(others, start)
    if order == "descending":  # reading 3: if the best alone does not meet beta, nobody does
        best = largest(gains, others)
        if table.meets(including(start, best), beta):
            return best, np.zeros_like(others)
        return None, others
    if order != "ascending":
        raise ValueError(f"order: {order!r}")
    invalid = np.zeros_like(others)  # the list as printed, the smallest contribution first
    while (left := others & ~invalid).any():
        client = smallest(gains, left)
        if table.meets(including(start, client), beta):
            return client, invalid
        invalid[client] = True
    return None, invalid


def search(
    table: Table,
    start: BoolArray,
    invalid: BoolArray,
    last_cost: float,
    beta: float,
    payment_free: bool,
    iterative: bool,
) -> tuple[BoolArray, FloatArray] | None:
    """Algorithm 4, Heuristic Search; None means: take the last resort."""
    S, left, paid = start.copy(), invalid.copy(), np.zeros_like(start)
    fixed = table.contributions(invalid, start)  # w/o IS: ranked once (reading 14)
    while left.any():
        gains = table.contributions(left, S) if iterative else fixed  # line 3
        pick = largest(gains, left)
        S[pick] = paid[pick] = True  # line 4
        left[pick] = False
        if payment_free:  # lines 5-8: the others, one after the other, S growing
            for client in np.flatnonzero(left).tolist():
                if table.willing(client, S):
                    S[client] = True
                    left[client] = False
        money = table.payments(paid, S, data_counts=payment_free)  # line 9, reading 5
        if money.sum() > last_cost + TOLERANCE * (1.0 + last_cost):  # line 10, reading 6
            return None
        if table.meets(S, beta):  # line 12
            return S, money
    return None


def pay_everyone(table: Table) -> tuple[BoolArray, FloatArray]:
    """Everybody takes part; money tops up what the data of the others leaves uncovered."""
    everyone = np.ones(len(table.costs), dtype=bool)
    return everyone, table.payments(everyone, everyone)


def payment_free_only(table: Table) -> tuple[BoolArray, FloatArray]:
    """Algorithm 2 alone: data is the only currency."""
    return stable_set(table), np.zeros(len(table.costs))


def payment_efficient(
    table: Table,
    *,
    beta: float,
    order: str = "descending",
    payment_free: bool = True,
    iterative: bool = True,
    absorb: bool = False,
) -> tuple[BoolArray, FloatArray]:
    """Algorithms 3 and 4, with the ablations (w/o PF, w/o IS) and the literal order as options."""
    start = stable_set(table) if payment_free else table.costs == 0.0
    if table.meets(start, beta):  # reading 4
        return start, np.zeros(len(table.costs))
    last, invalid = segment(table, start, beta, order)
    alone = np.zeros_like(start) if last is None else including(np.zeros_like(start), last)
    last_cost = np.inf if last is None else table.payments(alone, start, payment_free).sum()
    found = search(table, start, invalid, float(last_cost), beta, payment_free, iterative)
    if found is not None:
        return found
    assert last is not None, "everybody together always meets beta"
    S = including(start, last)
    if absorb and payment_free:  # reading 10: not printed
        for client in np.flatnonzero(~S).tolist():
            if table.willing(client, S):
                S[client] = True
    return S, table.payments(alone, S, payment_free)


NOISE = 1e-12  # a gain below this is rounding, and so is such a difference


def gain(table: Table, client: int, S: BoolArray) -> float:
    """What the client would add to log det V_g(S): small gains to their last digits too."""
    base = table.shared(S) + table.ridge * np.eye(len(table.V_g))
    half = np.linalg.inv(np.linalg.cholesky(base))
    added = np.linalg.eigvalsh(half @ table.dV[client] @ half.T)
    total = float(np.log1p(np.maximum(added, 0.0)).sum())
    return total if total > NOISE else 0.0


def auction(
    table: Table, among: BoolArray, target: float
) -> tuple[BoolArray, list[tuple[int, BoolArray]]]:
    """Add the best of `among` per cost until `target`: everybody added, and each with the set that
    it was added to."""
    S = np.zeros_like(among)
    picks: list[tuple[int, BoolArray]] = []
    while logdet(table.shared(S), table.ridge) < target:
        left = np.flatnonzero(among & ~S).tolist()
        free = [j for j in left if table.costs[j] == 0.0]
        room = target - float(logdet(table.shared(S), table.ridge))
        gains = {j: min(gain(table, j, S), room) for j in left}
        useful = [j for j in left if gains[j] > 0.0]
        if free:
            chosen = free[0]
        elif useful:
            top = useful[0]
            for j in useful:
                if gains[j] * table.costs[top] > gains[top] * table.costs[j]:
                    top = j
            chosen = next(
                j
                for j in useful
                if (gains[j] + NOISE) * table.costs[top]
                >= gains[top] * table.costs[j] * (1.0 - TOLERANCE)
            )
        else:
            break
        picks.append((chosen, S.copy()))
        S[chosen] = True
    return S, picks


def truthful(table: Table, *, cover: float, reserve: float) -> tuple[BoolArray, FloatArray]:
    """The greedy auction towards a share of what the eligible have; every winner's run is done
    again without it, from the start."""
    eligible = table.costs <= reserve
    target = float(logdet(table.shared(eligible), table.ridge)) + np.log(cover) - TOLERANCE
    S, _ = auction(table, eligible, target)
    money = np.zeros(len(table.costs))
    for i in np.flatnonzero(S).tolist():
        without = eligible.copy()
        without[i] = False
        reached, picks = auction(table, without, target)
        price = 0.0
        for j, before in picks:
            room = target - float(logdet(table.shared(before), table.ridge))
            won = min(gain(table, j, before), room)
            if won > 0.0:
                price = max(price, table.costs[j] * min(gain(table, i, before), room) / won)
        essential = logdet(table.shared(reached), table.ridge) < target
        money[i] = reserve if essential else min(reserve, price)
    return S, money


KINDS: dict[str, Callable[..., tuple[BoolArray, FloatArray]]] = {
    "pay_everyone": pay_everyone,
    "payment_free": payment_free_only,
    "payment_efficient": payment_efficient,
    "truthful": truthful,
}


def decide(
    kind: str,
    V_g: FloatArray,
    dV: FloatArray,
    V_i: FloatArray,
    costs: FloatArray,
    ridge: float,
    behind: FloatArray | float = 0.0,
    **options: Any,
) -> tuple[BoolArray, FloatArray]:
    """Participants (a mask) and payments, over clients with something to share, ids ascending.

    The matrices come without the ridge. Options are those of the mechanism.
    """
    table = Table(V_g, dV, V_i, np.asarray(costs, np.float64), ridge, behind)
    return KINDS[kind](table, **options)
