"""What the owner of a client decides: what sharing costs, and which offers are taken."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...support import inputs


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


def price_of(cost: Cost) -> Callable[[int, int, float], object]:
    """The owner's cost policy, to be asked; `told` makes sure of what it says."""
    if callable(cost):
        function = cost
        return lambda *stake: _ask("cost", function, Stake(*stake))
    fixed = told(cost)
    return lambda *stake: fixed


def told(cost: object, limit: float = math.inf) -> float:
    """A cost that the federation, with this `cost_limit`, can be told."""
    number = inputs.number("cost", cost, low=0.0)
    if number > limit:
        raise inputs.refuse("cost", cost, f"at most {limit:,.10g}, the federation's cost_limit")
    return number


def decide(accept: Accept, proposal: Proposal) -> bool:
    return inputs.flag("accept", _ask("accept", accept, proposal))


def _ask(name: str, policy: Callable[[Any], object], given: Any) -> object:
    """What the owner says; an exit or an interrupt is not to end the thread that asks."""
    try:
        return policy(given)
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{name}: raised {error!r}, which ends nothing here") from error
