"""Algorithm 2: data is the only payment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Decision, Mechanism, Round


@dataclass(frozen=True)
class PaymentFree(Mechanism):
    """The largest set in which data covers every member's cost; nobody is paid."""

    lie_bound = "nobody is paid; a lie may only spare the liar its own cost"

    def decide(self, round: Round) -> Decision:
        return Decision(round.stable_set(), np.zeros(len(round)))
