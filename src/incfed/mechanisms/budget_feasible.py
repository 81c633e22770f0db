"""The most information that a budget buys."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .. import ranges
from ..types import Floats, Mask
from .base import CLEARLY, Coalition, Decision, Mechanism, Round
from .choosing import by_need, leading, per_money


@dataclass(frozen=True)
class BudgetFeasible(Mechanism):
    """As large a determinant as the budget allows.

    per_round: the most that is paid in a round.
    total: the most that is paid in all rounds together; None: no limit.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.BudgetFeasible(per_round=25.0)
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.3, 364 paid
    """

    per_round: ranges.Budget
    total: ranges.Budget | None = None

    def _limit(self, round: Round) -> float:
        """The most that this round may cost."""
        limit = min(float(self.per_round), round.budget_left)
        if self.total is not None:
            limit = min(limit, max(0.0, self.total - round.spent))
        return limit

    def decide(self, round: Round) -> Decision:
        limit = self._limit(round)
        stable = round.stable_set()
        S = self._bought(round.coalition(stable), limit)
        for other in (
            self._bought(round.coalition(stable), limit, largest_first=True),
            self._bought(round.coalition(self._most_by_need(round, limit)), limit),
        ):
            if other.value > S.value + CLEARLY:
                S = other
        payments = S.owed(S.members)
        spent = math.fsum(payments.tolist())
        return Decision(S.members, payments * min(1.0, limit / spent) if spent else payments)

    def amend(
        self, round: Round, decision: Decision, S: Mask, offered: Floats | None = None
    ) -> Floats:
        """Payments of what data does not cover, beyond what was offered, to as many clients as the
        rest of the budget allows. Other clients get no more than they were offered.

        >>> mechanism.amend(round, mechanism.decide(round), two).round(2)
        array([ 0., 10.,  0.])
        """
        payments = np.zeros(len(round)) if offered is None else offered.copy()
        left = self._limit(round) - math.fsum(payments.tolist())
        owed = round.settle(S).payments
        for j in np.argsort(owed - payments, kind="stable").tolist():
            short = owed[j] - payments[j]
            if 0.0 < short <= left:
                payments[j], left = owed[j], left - short
        return payments

    def _most_by_need(self, round: Round, limit: float) -> Mask:
        """The most clients that the budget pays, in the order of what they need to share."""
        best = round.nobody
        for S in by_need(round):
            if S.owed(S.members).sum() <= limit * (1.0 + CLEARLY):
                best = S.members.copy()
        return best

    def _bought(self, S: Coalition, limit: float, largest_first: bool = False) -> Coalition:
        """Add the best gain per money owed (the first: the largest gain) that the budget allows."""
        while True:
            S.welcome(~S.members)
            useful, prices = self._affordable(S, limit)
            if not useful.any():
                return S
            gains = S.contributions(useful)
            S.add(leading(gains if largest_first else per_money(gains, prices), useful))
            largest_first = False

    def _affordable(self, S: Coalition, limit: float) -> tuple[Mask, Floats]:
        """The clients that could join, and what they would be owed."""
        prices, useful = np.ones(len(S.members)), S.round.nobody
        for j in np.flatnonzero(~S.members).tolist():
            grown = S.members.copy()
            grown[j] = True
            useful[j] = S.owed(grown, plus=j).sum() <= limit * (1.0 + CLEARLY)
            prices[j] = S.price(j)
        return useful, prices
