"""What the application decides: what sharing costs, and which offers to accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...support import inputs
from .validation import check_cost


class Stake(NamedTuple):
    """What this client would upload to a round: the cost function says what that costs."""

    round: int  # 0: none yet, it is what the coordinator considers opening one for
    steps: int  # observations in the upload
    value: float  # log det(V_g + dV) - log det V_g: what they add to the shared statistics, in nats


class Proposal(NamedTuple):
    """What a round offers for the upload, on top of the other clients' data."""

    round: int
    attempt: int  # above 1: the round was decided again
    payment: float
    cost: float  # as uploaded
    steps: int


Cost = float | Callable[[Stake], float]
CostFunction = Callable[[Stake], object]
Accept = Callable[[Proposal], bool]


def accept_all(proposal: Proposal) -> bool:
    """Accept every offer: data and payment together cover the cost that was uploaded."""
    return True


def cost_function(cost: Cost) -> CostFunction:
    """The application's cost as a function. `check_cost` checks what it returns."""
    if callable(cost):
        function = cost
        return lambda stake: _call("cost", function, stake)
    fixed = check_cost(cost)
    return lambda stake: fixed


def decide(accept: Accept, proposal: Proposal) -> bool:
    return inputs.flag("accept", _call("accept", accept, proposal))


def _call(name: str, policy: Callable[[Any], object], argument: Any) -> object:
    """What the policy returns. SystemExit or KeyboardInterrupt must not end the thread."""
    try:
        return policy(argument)
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{name}: raised {error!r}, which is ignored here") from error
