"""Inc-FedUCB (Algorithm 1): clients share when it pays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..kernels.factor import Floats
from ..mechanisms.base import Mechanism
from ..protocol.costs import check_costs, costs_of
from ..protocol.protocols import (
    EVERYONE,
    ONE_FOR_ONE,
    Synchronous,
    check_availability,
    each_available,
)
from ..protocol.strategy import Behaviour, VaryingCosts, check_reports, groups
from ..protocol.triggers import Threshold, Trigger
from ..support import inputs, places
from .base import LATER
from .trust import Trusting


@dataclass(frozen=True)
class IncFedUCB(Trusting):
    """An incentive mechanism, a trigger and the clients' costs.

    threshold: D_c of the paper's trigger; 0 triggers a round at every step with new data, infinity
    triggers none. trigger: any other, such as Patient(). Exactly one of the two is given.
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
    """

    mechanism: Mechanism
    threshold: float | None = None
    costs: float | Sequence[float] | VaryingCosts = 0.0
    clocks: str = "all"
    trigger: Trigger | None = field(default=None, metadata=LATER)
    download: str = field(default=EVERYONE, metadata=LATER)
    budget: float = field(default=math.inf, metadata=LATER)
    availability: float | Sequence[float] = field(default=1.0, metadata=LATER)
    reports: Behaviour | Sequence[Behaviour] = field(default=(), metadata=LATER)

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
            inputs.number("threshold", self.threshold, low=0.0, finite=False)
        else:
            if not isinstance(self.trigger, Trigger):
                raise inputs.refuse("trigger", self.trigger, "a Trigger, such as Patient(news=5)")
            if self.threshold is not None:
                allowed = "left out: trigger= says when rounds open"
                raise inputs.refuse("threshold", self.threshold, allowed)
        inputs.choice("clocks", self.clocks, ("all", "participants"))
        inputs.choice("download", self.download, (EVERYONE, ONE_FOR_ONE))
        if not (isinstance(self.budget, float) and self.budget == math.inf):
            inputs.setting("budget", self.budget)
        if not isinstance(self.costs, VaryingCosts):
            object.__setattr__(self, "costs", check_costs(self.costs))
        object.__setattr__(self, "availability", check_availability(self.availability))
        object.__setattr__(self, "reports", check_reports(self.reports))
        for one in self.protocol.behaviours:
            if one.holds_back and self.protocol.trigger.streams is not None:
                allowed = (
                    f"left out with {type(self.trigger).__name__}: its clients stream every step, "
                    "so none can hold its data back"
                )
                raise inputs.refuse("reports", type(one).__name__, allowed)

    @property
    def protocol(self) -> Synchronous:
        trigger = self.trigger
        if trigger is None:
            assert self.threshold is not None
            trigger = Threshold(self.threshold)
        return Synchronous(
            trigger=trigger,
            mechanism=self.mechanism,
            download=self.download,
            all_clocks=self.clocks == "all",
            budget=float(self.budget),
            availability=check_availability(self.availability),
            varying=self.costs if isinstance(self.costs, VaryingCosts) else None,
            behaviours=check_reports(self.reports),
        )

    def check(self, count: int) -> None:
        super().check(count)
        each_available(self.protocol.availability, count)
        groups(self.protocol.behaviours, count)

    def prices(self, count: int) -> Floats:
        if isinstance(self.costs, VaryingCosts):
            return costs_of(self.costs.mean, count, "costs.mean")
        return costs_of(self.costs, count)
