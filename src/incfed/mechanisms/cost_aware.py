"""Buys where data leaves least to be paid, and compares with other ways to meet beta."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ..kernels.cheapest import cheaper
from ..types import Floats, Mask
from ..values import Number
from .base import Coalition, Decision, Mechanism, Round
from .choosing import by_need, leading, per_money
from .payment_efficient import PaymentEfficient


@dataclass(frozen=True)
class CostAware(Mechanism):
    """Keeps det V_g(S) / det V_g(everyone) >= beta for little money; never for more than
    PaymentEfficient or PayEveryone.

    beta: the share of det V_g(everyone) that every decision keeps, from 0 to 1.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.CostAware(beta=0.7)
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.3, 356 paid
    """

    beta: Annotated[float, Number(0.0, 1.0)] = 1.0

    def decide(self, round: Round) -> Decision:
        first = round.stable_set()
        if round.meets(first, self.beta):
            return Decision(first, np.zeros(len(round)))
        best = PaymentEfficient(self.beta).decide(round)
        for offer in self._offers(round, first):
            if cheaper(offer.payments.sum(), best.payments.sum()):
                best = offer
        return best

    def _offers(self, round: Round, first: Mask) -> Iterator[Decision]:
        for S in (self._by_rate(round, first), self._cheapest_by_need(round)):
            yield self._improved(round, round.settle(S))
        yield round.settle(round.everyone)

    def _by_rate(self, round: Round, first: Mask) -> Mask:
        """From the stable set, add the best gain (up to what beta needs) per money owed. Of all
        sets on the way that one more client completes, the cheapest."""
        S, goal = round.coalition(first), round.goal(self.beta)
        best, least = round.everyone, math.inf
        while True:
            S.welcome(~S.members)
            outside = ~S.members
            if S.meets(self.beta) or not outside.any():
                return S.members if cheaper(S.owed(S.members).sum(), least) else best
            gains = S.contributions(outside)
            total, completed = self._completed(S, gains)
            if cheaper(total, least):
                best, least = completed, total
            prices = np.ones(len(round))
            prices[outside] = [S.price(j) for j in np.flatnonzero(outside).tolist()]
            useful = np.minimum(gains, goal - S.value)
            S.add(leading(per_money(useful, prices), outside))

    def _cheapest_by_need(self, round: Round) -> Mask:
        """The cheapest set that meets beta, of those of the clients that need least to share."""
        best, least = round.everyone, math.inf
        for S in by_need(round):
            if S.meets(self.beta) and cheaper(total := float(S.owed(S.members).sum()), least):
                best, least = S.members.copy(), total
        return best

    def _improved(self, round: Round, offer: Decision) -> Decision:
        """Drop or replace the dearest while beta holds and the total falls."""
        paid = offer.payments > 0.0
        while paid.any():
            j = leading(offer.payments, paid)
            paid[j] = False
            smaller = offer.participants.copy()
            smaller[j] = False
            S = round.coalition(smaller)
            if S.meets(self.beta):
                total, members = float(S.owed(smaller).sum()), smaller
            else:
                total, members = self._completed(S, S.contributions(~smaller))
            if cheaper(total, offer.payments.sum()):
                offer = round.settle(members)
                paid = offer.payments > 0.0
        return offer

    def _completed(self, S: Coalition, gains: Floats) -> tuple[float, Mask]:
        """The cheapest way to meet beta with one more client, and what it costs in total."""
        best, least = S.members, math.inf
        reached = S.value + gains >= S.round.goal(self.beta)
        for j in np.flatnonzero(~S.members & reached).tolist():
            grown = S.members.copy()
            grown[j] = True
            total = float(S.owed(grown, plus=j).sum())
            if cheaper(total, least):
                best, least = grown, total
        return least, best
