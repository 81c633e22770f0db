"""Algorithms 3 and 4: data first, then payments to as few clients as beta needs.

Readings are those of docs/paper.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ..kernels.ucb import TIE
from ..types import Mask
from ..values import Number, Word
from .base import Coalition, Decision, Mechanism, Round
from .choosing import ranking


@dataclass(frozen=True)
class PaymentEfficient(Mechanism):
    """Keeps det V_g(S) / det V_g(everyone) >= beta, paying the largest contributors first.

    beta: the share of det V_g(everyone) that every decision keeps, from 0 to 1.
    order: "descending" ranks the largest contributor first; "ascending" is Algorithm 3 as printed.
    payment_free: False is the ablation w/o PF: start from clients of cost 0, pay costs in full.
    iterative: False is the ablation w/o IS: rank once, against the first set.
    absorb: True also adds the clients that the last resort's data makes willing (not in the paper).

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.PaymentEfficient(beta=0.7)
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.3, 356 paid
    """

    beta: Annotated[float, Number(0.0, 1.0)] = 1.0
    order: Annotated[str, Word(("descending", "ascending"))] = "descending"
    payment_free: bool = True
    iterative: bool = True
    absorb: bool = False

    def decide(self, round: Round) -> Decision:
        first = round.stable_set() if self.payment_free else round.costs == 0
        others = ~first
        S = round.coalition(first)
        if S.meets(self.beta) or not np.count_nonzero(others):
            return Decision(first, np.zeros(len(round)))  # reading 4: data is enough
        resort, invalid = self._last_resort(S, others)
        if resort is None:  # no client meets beta alone: search among all
            return self._search(S, invalid)[0]
        if not np.count_nonzero(invalid):
            return self._alone(S, resort)
        found, better = self._search(S, invalid, self._price(S, resort))
        return found if better else self._alone(round.coalition(first), resort)

    def _last_resort(self, S: Coalition, others: Mask) -> tuple[int | None, Mask]:
        """Alg. 3 lines 3-5: a client that meets beta alone, and the invalid list ranked before it.

        Descending, that is the largest contributor, with none before it; if it does not meet beta,
        no client does, and all are invalid. As printed, it is the smallest that meets beta.
        """
        invalid = np.zeros(len(others), np.bool_)
        if self.order == "descending":
            largest = S.best(others)
            return (largest, invalid) if S.meets(self.beta, plus=largest) else (None, others)
        for j in ranking(-S.contributions(others), others):
            if S.meets(self.beta, plus=j):
                return j, invalid
            invalid[j] = True
        return None, invalid

    def _search(self, S: Coalition, invalid: Mask, last: float = np.inf) -> tuple[Decision, bool]:
        """Alg. 4: add the largest contributor and the clients that its data convinces, until beta
        is met.

        Returns the decision and whether it is better than the last resort: False if it costs more
        (reading 6), or if the list ended before beta was met. (With all clients in the list, only
        rounding can cause that, and the decision is used.)
        """
        paid = np.zeros(len(invalid), np.bool_)
        for _ in self._turns(S, invalid, paid, until=self.beta if last == np.inf else 0.0):
            if last < np.inf and self._pay(S, paid).payments.sum() > last + TIE * (1.0 + last):
                break
            if S.meets(self.beta):
                return self._pay(S, paid), True
        return self._pay(S, paid), False

    def _turns(self, S: Coalition, invalid: Mask, paid: Mask, until: float) -> Iterator[None]:
        """Alg. 4 lines 3-8, one iteration at a time or all up to `until`: S grows by the largest
        contributor, which is paid, and by the clients that its data convinces, which are not."""
        if self.iterative:
            while S.recruit(invalid, paid, until=until, welcome=self.payment_free):
                yield
        else:
            for j in ranking(S.contributions(invalid), invalid):
                if not S.members[j]:
                    S.add(j)
                    paid[j] = True
                    if self.payment_free:
                        S.welcome(invalid)
                    yield

    def _alone(self, S: Coalition, resort: int) -> Decision:
        """The decision in which the last resort joins and is paid."""
        S.add(resort)
        if self.absorb and self.payment_free:  # reading 10
            S.welcome(~S.members)
        paid = np.zeros(len(S.members), np.bool_)
        paid[resort] = True
        return self._pay(S, paid)

    def _pay(self, S: Coalition, paid: Mask) -> Decision:
        """Pay what data does not cover under the current S (reading 5); w/o PF, the whole cost."""
        money = S.owed(paid) if self.payment_free else np.where(paid, S.round.costs, 0.0)
        return Decision(S.members, money)

    def _price(self, S: Coalition, j: int) -> float:
        """The payment for client j if it alone joins S."""
        return S.price(j) if self.payment_free else float(S.round.costs[j])
