"""Algorithm 2: data is the only payment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Decision, Mechanism, Round


@dataclass(frozen=True)
class PaymentFree(Mechanism):
    """The largest set in which data covers every member's cost; nobody is paid.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.PaymentFree()
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 3.7, 0 paid
    """

    def decide(self, round: Round) -> Decision:
        return Decision(round.stable_set(), np.zeros(len(round)))

    def lie_bound(self, highest: float) -> str:
        return (
            "a liar gains no money, as nobody is paid. It may spare itself its own cost, and "
            "others then learn without its data (proved)"
        )
