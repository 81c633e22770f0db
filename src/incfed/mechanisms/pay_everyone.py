"""Everyone shares; each is paid what data alone does not cover."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Decision, Mechanism, Round


@dataclass(frozen=True)
class PayEveryone(Mechanism):
    """The paper's beta = 1: all data is bought, at what the data incentive leaves to pay."""

    beta = 1.0

    def decide(self, round: Round) -> Decision:
        return round.settle(round.everyone)
