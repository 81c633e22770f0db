"""Algorithm 2: data is the only payment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Decision, Mask, Mechanism, Round


@dataclass(frozen=True)
class PaymentFree(Mechanism):
    """The largest set in which everybody's data incentive covers its cost; nobody is paid."""

    def decide(self, round: Round) -> Decision:
        return Decision(stable_set(round), np.zeros(len(round)))


def stable_set(round: Round) -> Mask:
    """What is left when Algorithm 2 has removed every unwilling client, one after another.

    Client i of S is willing when log det V_g(S) >= tau_i (`round.needed`). The left side grows
    with S, so the largest stable set is unique and holds the clients of smallest tau: the longest
    prefix whose last tau its own value reaches.
    """
    S = round.nobody
    order = np.argsort(round.needed, kind="stable")
    tau = round.needed[order]
    possible = int(
        np.searchsorted(tau, round.full_value, side="right")
    )  # nothing exceeds the whole
    reached = tau[:possible] <= round.growth(order[:possible])
    if reached.any():
        S[order[: np.flatnonzero(reached)[-1] + 1]] = True
    return S
