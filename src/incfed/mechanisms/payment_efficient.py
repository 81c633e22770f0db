"""Algorithms 3 and 4: data first, then money for as few as the promised beta needs."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from .. import inputs
from ..kernels.factor import Floats
from ..kernels.ucb import TIE
from .base import WILLING, Coalition, Decision, Mask, Mechanism, Round
from .payment_free import stable_set


@dataclass(frozen=True)
class PaymentEfficient(Mechanism):
    """Keeps det V_g(S) / det V_g(everyone) >= beta, paying the largest contributors first.

    order: "descending" ranks the largest contributor first; "ascending" is Algorithm 3 as printed.
    payment_free: False is the ablation w/o PF: start from clients of cost 0, pay costs in full.
    iterative: False is the ablation w/o IS: rank once, against the first set.
    absorb: True also takes in whoever the last resort's data has made willing (not in the paper).
    """

    beta: float = 1.0
    order: str = "descending"
    payment_free: bool = True
    iterative: bool = True
    absorb: bool = False

    def __post_init__(self) -> None:
        inputs.number("beta", self.beta, low=0.0, high=1.0)
        inputs.choice("order", self.order, ("descending", "ascending"))
        inputs.flag("payment_free", self.payment_free)
        inputs.flag("iterative", self.iterative)
        inputs.flag("absorb", self.absorb)

    def decide(self, round: Round) -> Decision:
        first = stable_set(round) if self.payment_free else round.costs == 0
        S = round.coalition(first)
        if S.meets(self.beta):  # READING 4: data suffices, nobody is paid
            return Decision(first, np.zeros(len(round)))
        resort, invalid = self._last_resort(S, ~first)
        last = np.inf if resort is None else self._alone(round, first, resort).payments.sum()
        found = self._search(S, invalid, float(last))
        if found is None:
            assert resort is not None  # a search over everybody ends in a find
            return self._alone(round, first, resort, absorb=self.absorb)
        return found

    def _last_resort(self, S: Coalition, others: Mask) -> tuple[int | None, Mask]:
        """Alg. 3 lines 3-5: a client that meets beta alone, and the invalid list ranked before it.

        Descending, that is the largest contributor or nobody; as printed, the smallest that does.
        """
        if self.order == "descending":
            largest = S.best(others)
            return (largest, ~S.all) if S.meets(self.beta, plus=largest) else (None, others)
        invalid = ~S.all
        for j in ranking(-S.contributions(others), others):
            if S.meets(self.beta, plus=j):
                return j, invalid
            invalid[j] = True
        return None, invalid

    def _search(self, S: Coalition, invalid: Mask, last: float) -> Decision | None:
        """Alg. 4: add the largest contributor and whom its data convinces, until beta is met (the
        decision) or it costs more than the last resort (None, as when nobody is left)."""
        paid = ~S.all
        ranked = [] if self.iterative else ranking(S.contributions(invalid), invalid)
        queue = iter(ranked)
        while (left := invalid & ~S.members).any():
            j = S.best(left) if self.iterative else next(j for j in queue if left[j])
            S.add(j)
            paid[j] = True
            if self.payment_free:
                S.welcome(invalid)
            decision = self._pay(S, paid)
            if decision.payments.sum() > last + WILLING * (1.0 + last):  # READING 6
                return None
            if S.meets(self.beta):
                return decision
        return None

    def _alone(self, round: Round, first: Mask, j: int, absorb: bool = False) -> Decision:
        """The last resort: the first set and client j, who is paid."""
        S = round.coalition(first)
        S.add(j)
        paid = S.members & ~first
        if absorb and self.payment_free:
            S.welcome(S.all)
        return self._pay(S, paid)

    def _pay(self, S: Coalition, paid: Mask) -> Decision:
        """READING 5: what data leaves uncovered with S as it is; w/o PF the whole cost."""
        owed = S.owed if self.payment_free else S.round.costs
        return Decision(S.members, np.where(paid, owed, 0.0))


def ranking(contributions: Floats, among: Mask) -> list[int]:
    """Clients by falling contribution; within 1e-9 of the largest left, the lowest id first."""
    clients = np.flatnonzero(among)
    falling = clients[np.argsort(-contributions[clients], kind="stable")].tolist()
    ranked: list[int] = []
    tied: list[int] = []  # a heap of ids
    done = ~among
    largest = entered = 0
    for _ in falling:
        while done[falling[largest]]:
            largest += 1
        floor = contributions[falling[largest]] - TIE
        while entered < len(falling) and contributions[falling[entered]] >= floor:
            heapq.heappush(tied, falling[entered])
            entered += 1
        j = heapq.heappop(tied)
        done[j] = True
        ranked.append(j)
    return ranked
