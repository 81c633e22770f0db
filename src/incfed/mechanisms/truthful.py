"""An auction in which no client gains by misreporting its cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import ranges
from ..types import Floats, Mask
from ..values import Number
from .base import MEETS, Decision, Mechanism, Round

# What hoarding gains is bounded by measurement from this cover on, with a reserve of up to so many
# times the highest cost; see docs/strategic.md.
LEAST_COVER, NEAR = 0.7, 1.1


@dataclass(frozen=True)
class Truthful(Mechanism):
    """Buys the best information per cost, and pays each winner its critical value: the highest cost
    with which it would still have been picked.

    cover: the share of det V_g(eligible) that every decision reaches; above 0, at most 1.
    reserve: the most that is paid to a client in a round. Clients that report more are not
    eligible.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.Truthful(cover=0.7, reserve=30.0)
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.4, 631 paid
    """

    cover: Annotated[float, Number(0.0, 1.0, above=True)]
    reserve: ranges.Cost

    def promised(self, round: Round) -> float:
        """tau: what the eligible could reach together, less what `cover` forgoes.

        >>> mechanism.promised(round) <= round.full_value
        True
        """
        return round.value(round.costs <= self.reserve) + math.log(self.cover) - MEETS

    def decide(self, round: Round) -> Decision:
        eligible = round.costs <= self.reserve
        return round.auction(eligible, target=self.promised(round), reserve=float(self.reserve))

    def amend(
        self, round: Round, decision: Decision, S: Mask, offered: Floats | None = None
    ) -> Floats:
        """The new critical values; who is no longer chosen keeps its offer, which covers its cost.
        (Those who shared for data alone, where a budget was used up, get what it does not cover.)
        Nobody gets more than the reserve.

        >>> mechanism.amend(round, mechanism.decide(round), two)
        array([30., 30.,  0.])
        """
        owed = np.maximum(decision.payments, round.settle(S).payments)
        return np.minimum(float(self.reserve), owed)

    def lie_bound(self, highest: float) -> str | None:
        if self.cover < LEAST_COVER or self.reserve > NEAR * highest * (1.0 + 1e-3):
            return None
        return (
            "in a round a liar gains nothing (proved). Over a run, one that knows the best factor "
            "to ask for gained 6 % at uniform costs, and up to 33 % at lognormal ones (measured)"
        )
