"""Inc-FedUCB (Algorithm 1): clients share when it pays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from .. import ranges
from ..mechanisms.base import Mechanism
from ..protocol.costs import check_costs, costs_of
from ..protocol.limits import Limits
from ..protocol.money import check_digits
from ..protocol.privacy import Privacy
from ..protocol.protocols import (
    EVERYONE,
    ONE_FOR_ONE,
    Synchronous,
    check_availability,
    each_available,
)
from ..protocol.strategy import Behaviour, VaryingCosts, check_reports, groups
from ..protocol.triggers import Threshold, Trigger
from ..protocol.trust import AUTO
from ..support import inputs, places
from ..types import Floats
from . import thresholds
from .trust import Trusting


@dataclass(frozen=True)
class IncFedUCB(Trusting):
    """An incentive mechanism, a trigger and the clients' costs.

    mechanism: who takes part in a round and what each is paid, such as PaymentEfficient(beta=0.7).
    threshold: D_c of the paper's trigger; 0 triggers a round at every step with new data, infinity
    triggers none. "high", "low" or "theory": the formula of this name in `incfed.thresholds`, for
    the run at hand.
    trigger: any other, such as Patient(). Exactly one of threshold and trigger is given.
    costs: D^p, what sharing costs a client with data to share: a number, or one per client; or
    DrawnCosts() or DriftingCosts(), which change from round to round.
    clocks: whose count of steps a round restarts, "all" or "participants" (Alg. 1 as printed).
    download: who gets the new model, "everyone" or "one-for-one": joining, and each share, entitles
    a client to one download.
    budget: money for all rounds together; rounds that it does not cover are decided for data alone.
    availability: the probability that a client is there when a round opens, one per client, or the
    mean lengths (on, off) of spells in steps. The client that acts is there.
    reports: how clients with interests of their own act, such as Shading(factor=5, clients=[3]).
    All others report their true costs, and share when they are asked.
    money_digits: each payment is rounded up to so many decimal digits; None: it is not.
    limits: Limits() of what may be paid. Then clients that the budget, or a limit, does not cover
    are left out one by one, rather than nobody being paid.
    share_from: a client shares only from so many steps on: it calls for a round, and adds to what
    it uploads, when it has so many that no upload has had before.
    privacy: noise on all that clients share, such as Privacy(epsilon=4); see docs/privacy.md.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> paid = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=1.0, costs=10.0)
    >>> free = incfed.IncFedUCB(incfed.PaymentFree(), trigger=incfed.Patient(news=2.0), costs=10.0)
    >>> for algorithm in (paid, free):
    ...     result = incfed.simulate(world, algorithm, steps=200)
    ...     print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.3, 356 paid
    regret 3.7, 0 paid
    """

    mechanism: Mechanism
    threshold: float | str | None = None
    costs: float | Sequence[float] | VaryingCosts = 0.0
    clocks: str = "all"
    trigger: Trigger | None = None
    download: str = EVERYONE
    budget: float = math.inf
    availability: float | Sequence[float] = 1.0
    reports: Behaviour | Sequence[Behaviour] = ()
    money_digits: int | None = None
    limits: Limits | None = None
    share_from: int = 1
    privacy: Privacy | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.mechanism, Mechanism):
            allowed = "a Mechanism, such as PaymentEfficient(beta=0.7)"
            raise inputs.refuse("mechanism", self.mechanism, allowed)
        if isinstance(self.threshold, Trigger):
            allowed = "a number; pass a trigger as trigger="
            raise inputs.refuse("threshold", self.threshold, allowed)
        if self.trigger is None:
            if self.threshold is None:
                allowed = "given, unless trigger is: IncFedUCB needs one of them"
                raise places.missing("threshold", allowed)
            thresholds.check(self.threshold)
        else:
            if not isinstance(self.trigger, Trigger):
                raise inputs.refuse("trigger", self.trigger, "a Trigger, such as Patient(news=5)")
            if self.threshold is not None:
                allowed = "left out: trigger= says when rounds open"
                raise inputs.refuse("threshold", self.threshold, allowed)
        inputs.choice("clocks", self.clocks, ("all", "participants"))
        inputs.choice("download", self.download, (EVERYONE, ONE_FOR_ONE))
        if not (isinstance(self.budget, float) and self.budget == math.inf):
            ranges.check("budget", self.budget)
        if not isinstance(self.costs, VaryingCosts):
            object.__setattr__(self, "costs", check_costs(self.costs))
        object.__setattr__(self, "availability", check_availability(self.availability))
        object.__setattr__(self, "reports", check_reports(self.reports))
        object.__setattr__(self, "money_digits", check_digits(self.money_digits))
        if self.limits is not None and not isinstance(self.limits, Limits):
            raise inputs.refuse("limits", self.limits, "Limits(), such as Limits(per_round=100)")
        for behaviour in check_reports(self.reports):
            if behaviour.holds_back and self._streams is not None:
                allowed = (
                    f"left out with {type(self.trigger).__name__}: its clients stream every step, "
                    "so none can hold its data back"
                )
                raise inputs.refuse("reports", type(behaviour).__name__, allowed)
        inputs.integer("share_from", self.share_from, low=1, high=ranges.MOST_STEPS)
        self._check_privacy()

    def _check_privacy(self) -> None:
        if not (self.privacy is None or isinstance(self.privacy, Privacy)):
            raise inputs.refuse("privacy", self.privacy, "a Privacy, such as Privacy(epsilon=4)")
        for name, default in (("share_from", 1), ("privacy", None)):
            if getattr(self, name) != default and self._streams is not None:
                allowed = f"left out with {type(self.trigger).__name__}: clients stream every step"
                raise inputs.refuse(name, getattr(self, name), allowed)
        if self.share_from > 1 and self.trust == AUTO:
            allowed = 'left out with trust "auto", whose scores are of all pending steps'
            raise inputs.refuse("share_from", self.share_from, allowed)
        if self.privacy is not None and self.trust != math.inf:
            allowed = "left out with privacy, whose noise hides what is a client's own"
            raise inputs.refuse("trust", self.trust, allowed)

    @property
    def _streams(self) -> str | None:
        return None if self.trigger is None else self.trigger.streams

    @property
    def protocol(self) -> Synchronous:
        trigger = self.trigger
        if trigger is None:
            assert self.threshold is not None
            trigger = Threshold(thresholds.number(self.threshold))
        return Synchronous(
            trigger=trigger,
            mechanism=self.mechanism,
            download=self.download,
            all_clocks=self.clocks == "all",
            budget=float(self.budget),
            availability=check_availability(self.availability),
            varying=self.costs if isinstance(self.costs, VaryingCosts) else None,
            behaviours=check_reports(self.reports),
            money_digits=self.money_digits,
            limits=self.limits,
            share_from=self.share_from,
            privacy=self.privacy,
        )

    def check(self, count: int) -> None:
        super().check(count)
        each_available(check_availability(self.availability), count)
        groups(check_reports(self.reports), count)

    def for_run(self, *, steps: int, clients: int, dim: int) -> Self:
        if not isinstance(self.threshold, str):
            return self
        value = thresholds.named(
            self.threshold, steps=steps, clients=clients, dim=dim, beta=self.mechanism.beta,
            ridge=self.ridge,
        )  # fmt: skip
        return replace(self, threshold=value)

    def prices(self, count: int) -> Floats:
        if isinstance(self.costs, VaryingCosts):
            return costs_of(self.costs.mean, count, "costs.mean")
        return costs_of(self.costs, count)
