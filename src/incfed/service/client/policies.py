"""What the application decides: what sharing costs, which offers to accept, what to reveal."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ... import errors
from ...protocol.checks import MOST_STEPS
from ...rules.privacy import Privacy
from ...values import Flag, Whole
from ..wire import FederationView
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


class Discretion(NamedTuple):
    """How much an application reveals of single steps."""

    share_from: int = 1  # new steps with which it uploads
    privacy: Privacy | None = None  # its own; None: as the federation says

    @classmethod
    def of(cls, share_from: object, privacy: object) -> Discretion:
        """As the application passes them."""
        if not (privacy is None or isinstance(privacy, Privacy)):
            raise errors.refuse("privacy", privacy, "a Privacy, such as Privacy(epsilon=4)")
        return cls(Whole(1, MOST_STEPS).of("share_from", share_from), privacy)

    def within(
        self, settings: FederationView, streams: str | None, trust: float | str
    ) -> Privacy | None:
        """The privacy that applies in a federation with these settings, for its bounds of arms and
        rewards; InputError if that does not fit."""
        given, view = self.privacy, settings.privacy
        if view is not None:
            common = Privacy(view.epsilon, view.delta)
            given = given or common
            if not given.within(common):
                allowed = "at least as strict as the federation's: an epsilon of at most "
                limits = f"{common.epsilon:g}, a delta of at most {common.delta:g}"
                raise errors.refuse("privacy", given, allowed + limits)
        if streams is not None and (given is not None or self.share_from > 1):
            name, value = ("privacy", given) if given else ("share_from", self.share_from)
            allowed = "left out: clients of this federation stream every step"
            raise errors.refuse(name, value, allowed)
        if given is not None and trust != math.inf:
            allowed = "left out with privacy, whose noise hides what is a client's own"
            raise errors.refuse("trust", trust, allowed)
        if given is None:
            return None
        return replace(given, arm_norm=settings.arm_norm, reward_bound=settings.reward_bound)


Cost = float | Callable[[Stake], float]
CostFunction = Callable[[Stake], object]
Accept = Callable[[Proposal], bool]
PLAIN = Discretion()


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
    accepted: bool = Flag().of("accept", _call("accept", accept, proposal))
    return accepted


def _call(name: str, policy: Callable[[Any], object], argument: Any) -> object:
    """What the policy returns. SystemExit or KeyboardInterrupt must not end the thread."""
    try:
        return policy(argument)
    except Exception:
        raise
    except BaseException as error:
        raise RuntimeError(f"{name}: raised {error!r}, which is ignored here") from error
