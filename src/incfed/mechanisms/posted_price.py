"""One price for everybody: take it or leave it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import ranges
from ..types import Floats, Mask
from .base import Decision, Mechanism, Round


@dataclass(frozen=True)
class PostedPrice(Mechanism):
    """The largest set in which data and `price` together cover every member's cost; each is paid
    the price.

    price: what each participant is paid in a round.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.PostedPrice(price=12.0)
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.4, 792 paid
    """

    price: ranges.Cost

    def decide(self, round: Round) -> Decision:
        S = round.stable_set(float(self.price))
        return Decision(S, np.where(S, float(self.price), 0.0))

    def amend(
        self, round: Round, decision: Decision, S: Mask, offered: Floats | None = None
    ) -> Floats:
        """The price, also to those who counted on the data of a client that failed.

        >>> mechanism.amend(round, mechanism.decide(round), two)
        array([12., 12.,  0.])
        """
        return np.where(S, float(self.price), 0.0)

    def lie_bound(self, highest: float) -> str:
        if self.price < highest:
            return (
                "nobody is paid more than the price. A liar whose cost is above it may spare "
                f"itself the difference, up to {highest - self.price:.4g} in a round (proved)"
            )
        return (
            "in a round a liar gains nothing, as the price covers every cost and no report changes "
            "it (proved); nor did any of those tried over whole runs (measured)"
        )
