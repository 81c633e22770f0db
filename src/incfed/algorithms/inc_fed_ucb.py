"""Inc-FedUCB (Algorithm 1): clients share when it pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Self

from ..errors import missing, refuse
from ..mechanisms.base import Mechanism
from ..protocol.strategy import Behaviour, VaryingCosts, check_reports, groups
from ..protocol.synchronous import Synchronous
from ..protocol.triggers import BuiltIn, Trigger
from ..rules.members import COSTS, Members, costs_of, each_available
from ..rules.rounds import RoundRules
from ..rules.rule import documented
from ..types import Floats
from . import thresholds
from .trust import TrustingAlgorithm

PRICES = replace(COSTS, changing=VaryingCosts)


@documented
@dataclass(frozen=True)
class IncFedUCB(Members, RoundRules, TrustingAlgorithm):
    """An incentive mechanism, a trigger and the clients' costs.

    Exactly one of threshold and trigger is given.

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
    costs: Annotated[float | Sequence[float] | VaryingCosts, PRICES] = 0.0
    _: KW_ONLY
    trigger: Trigger | None = None
    reports: Behaviour | Sequence[Behaviour] = ()  # type: ignore[assignment]  # kept as a tuple

    def __post_init__(self) -> None:
        object.__setattr__(self, "reports", check_reports(self.reports))
        super().__post_init__()
        if self.trigger is None and self.threshold is None:
            allowed = "given, unless trigger is: IncFedUCB needs one of them"
            raise missing("threshold", allowed)
        for behaviour in self._behaviours:
            if behaviour.holds_back and isinstance(self.trigger, BuiltIn) and self.trigger.streams:
                allowed = (
                    f"left out with {type(self.trigger).__name__}: its clients stream every step, "
                    "so none can hold its data back"
                )
                raise refuse("reports", type(behaviour).__name__, allowed)

    @property
    def _behaviours(self) -> tuple[Behaviour, ...]:
        return check_reports(self.reports)

    @property
    def protocol(self) -> Synchronous:
        return Synchronous(self, self)

    def check(self, count: int) -> None:
        super().check(count)
        each_available(self.availability, count)
        groups(self._behaviours, count)

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
