"""The cheapest set that meets beta, by branch and bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ..values import Number, Whole
from .base import Decision, Mechanism, Round
from .cost_aware import CostAware

MOST_NODES = 10**9


@dataclass(frozen=True)
class Exact(Mechanism):
    """Keeps det V_g(S) / det V_g(everyone) >= beta for the least money.

    beta: the share of det V_g(everyone) that every decision keeps, from 0 to 1.
    nodes: how many nodes a round's search may visit. With 16 clients or fewer, the default is
    enough for a proof. Where it is not, the best set found is taken, and `gap` of the decision says
    how much cheaper another might be.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.Exact(beta=0.7)
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.3, 356 paid
    """

    beta: Annotated[float, Number(0.0, 1.0)] = 1.0
    nodes: Annotated[int, Whole(1, MOST_NODES)] = 200_000

    def decide(self, round: Round) -> Decision:
        start = CostAware(self.beta).decide(round)
        if not start.payments.any():
            return start
        return round.cheapest(start, goal=round.goal(self.beta), nodes=int(self.nodes))
