"""Everyone shares, and is paid what data does not cover."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Decision, Mechanism, Round


@dataclass(frozen=True)
class PayEveryone(Mechanism):
    """The paper's beta = 1: everyone takes part, and is paid what data does not cover."""

    beta = 1.0

    def decide(self, round: Round) -> Decision:
        return round.settle(round.everyone)
