"""What the owner of a client decides: what sharing costs, and which offers are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ... import inputs

MOST_MONEY = 1e300


class Stake(NamedTuple):
    """What a round would be told: a cost is asked for it."""

    round: int
    steps: int  # observations in it
    value: float  # log det(V_g + dV) - log det V_g: what they add to what is shared, in nats


class Proposal(NamedTuple):
    """What a round offers for it, on top of the others' data."""

    round: int
    attempt: int  # above 1: the round was decided once more
    payment: float
    cost: float  # as it was told
    steps: int


Cost = float | Callable[[Stake], float]
Accept = Callable[[Proposal], bool]


def accept_all(proposal: Proposal) -> bool:
    """An offer covers what data alone does not cover of the cost that was told: take it."""
    return True


def price_of(cost: Cost) -> Callable[[int, int, float], float]:
    """The owner's cost policy as a function that gives sound numbers only."""
    if callable(cost):
        function = cost
        return lambda *stake: inputs.number(
            "cost", function(Stake(*stake)), low=0.0, high=MOST_MONEY
        )
    fixed = inputs.number("cost", cost, low=0.0, high=MOST_MONEY)
    return lambda *stake: fixed


def decide(accept: Accept, proposal: Proposal) -> bool:
    return inputs.flag("accept", accept(proposal))
