"""Algorithm 2: data is the only payment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Decision, Mechanism, Round


@dataclass(frozen=True)
class PaymentFree(Mechanism):
    """The largest set in which data covers every member's cost; nobody is paid."""

    def decide(self, round: Round) -> Decision:
        return Decision(round.stable_set(), np.zeros(len(round)))

    def lie_bound(self, highest: float) -> str:
        return (
            "a liar gains no money, as nobody is paid. It may spare itself its own cost, and "
            "others then learn without its data (proved)"
        )
