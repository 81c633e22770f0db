"""Everyone shares, and is paid what data does not cover."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Decision, Mechanism, Round


@dataclass(frozen=True)
class PayEveryone(Mechanism):
    """The paper's beta = 1: everyone takes part, and is paid what data does not cover.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> mechanism = incfed.PayEveryone()
    >>> algorithm = incfed.IncFedUCB(mechanism, threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.4, 614 paid
    """

    beta = 1.0

    def decide(self, round: Round) -> Decision:
        return round.settle(round.everyone)
