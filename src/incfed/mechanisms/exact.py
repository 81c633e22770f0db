"""The cheapest set that meets beta, by branch and bound."""

from __future__ import annotations

from dataclasses import dataclass

from ..support import inputs
from .base import Decision, Mechanism, Round
from .cost_aware import CostAware

MOST_NODES = 10**9


@dataclass(frozen=True)
class Exact(Mechanism):
    """Keeps det V_g(S) / det V_g(everyone) >= beta for the least money.

    nodes: how many nodes a round's search may visit. With 16 clients or fewer, the default is
    enough for a proof. Where it is not, the best set found is taken, and `gap` of the decision says
    how much cheaper another might be.
    """

    beta: float = 1.0
    nodes: int = 200_000

    def __post_init__(self) -> None:
        inputs.number("beta", self.beta, low=0.0, high=1.0)
        inputs.integer("nodes", self.nodes, low=1, high=MOST_NODES)

    def decide(self, round: Round) -> Decision:
        start = CostAware(self.beta).decide(round)
        if not start.payments.any():
            return start
        return round.cheapest(start, goal=round.goal(self.beta), nodes=int(self.nodes))
