"""Inc-FedUCB (Algorithm 1): clients share when it pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..kernels.factor import Floats
from ..mechanisms.base import Mechanism
from ..support import inputs
from .base import Algorithm


@dataclass(frozen=True)
class IncFedUCB(Algorithm):
    """A trigger, an incentive mechanism and the clients' costs.

    threshold: D_c; 0 triggers a round at every step with new data, infinity triggers none.
    costs: D^p, what sharing costs a client with data to share: a number, or one per client.
    clocks: whose count of steps a round restarts, "all" or "participants" (Alg. 1 as printed).
    """

    mechanism: Mechanism
    threshold: float
    costs: float | Sequence[float] = 0.0
    clocks: str = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.mechanism, Mechanism):
            allowed = "a Mechanism, such as PaymentEfficient(beta=0.7)"
            raise inputs.refuse("mechanism", self.mechanism, allowed)
        inputs.number("threshold", self.threshold, low=0.0, finite=False)
        inputs.choice("clocks", self.clocks, ("all", "participants"))
        if isinstance(self.costs, int | float | np.number):
            inputs.setting("cost", self.costs, "costs")
        else:
            allowed = "a number of at least 0, or one per client"
            costs = inputs.array("costs", self.costs, ndim=1, allowed=allowed)
            for at, cost in enumerate(costs.tolist()):
                inputs.setting("cost", cost, f"costs[{at}]")
            object.__setattr__(self, "costs", tuple(costs.tolist()))

    @property
    def d_c(self) -> float:
        return self.threshold

    @property
    def pays(self) -> Mechanism:
        return self.mechanism

    @property
    def all_clocks(self) -> bool:
        return self.clocks == "all"

    def prices(self, count: int) -> Floats:
        costs = np.asarray(self.costs, dtype=np.float64)
        if costs.ndim and len(costs) != count:
            raise inputs.refuse(
                "costs", inputs.counted(len(costs), "cost"), f"one number, or {count} (one each)"
            )
        return np.array(np.broadcast_to(costs, count))
