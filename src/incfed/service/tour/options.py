"""The options of `incfed up`, checked before anything starts."""

from __future__ import annotations

from dataclasses import dataclass

from ... import errors, ranges
from ...environments import Synthetic
from ...ledger.settings import Settings
from ...mechanisms.registry import BUILT_IN, MECHANISMS
from ...rules.limits import Limits
from ...values import Number, Whole, Word

MOST_CLIENTS = 40  # processes, each with numpy and numba loaded
DIM, ARMS, POOL, NOISE = 10, 10, 200, 0.1
BUSY = 0.2  # the first client acts most often, client i in proportion to 1 / (i + 1)^BUSY
PAYS = "PaymentEfficient"
BETA = (PAYS, "CostAware", "Exact")  # mechanisms with a beta


@dataclass(frozen=True, kw_only=True)
class TourOptions:
    """The flags of `incfed up`."""

    clients: int = 5
    seconds: float = 90.0
    steps: int | None = None  # of all clients together; None: until the time is up
    pace: float = 3.0  # average steps per second of a client
    mechanism: str = PAYS
    beta: float | None = None
    threshold: float = 8.0
    cost: float = 4.0
    budget: float = 100.0
    seed: int = 0

    def __post_init__(self) -> None:
        Whole(1, MOST_CLIENTS).of("--clients", self.clients)
        Number(0.0, 1e6, above=True).of("--seconds", self.seconds)
        if self.steps is not None:
            Whole(1, ranges.MOST_STEPS).of("--steps", self.steps)
        Number(0.0, 1000.0, above=True).of("--pace", self.pace)
        Word(BUILT_IN).of("--mechanism", self.mechanism)
        if self.beta is not None:
            if self.mechanism not in BETA:
                allowed = f"left out: it is for {', '.join(BETA)} only"
                raise errors.refuse("--beta", self.beta, allowed)
            Number(0.0, 1.0, above=True).of("--beta", self.beta)
        Number(0.0, 1e9).of("--threshold", self.threshold)
        Number(0.0, 1e5).of("--cost", self.cost)
        ranges.BUDGET.of("--budget", self.budget)
        Whole(0).of("--seed", self.seed)

    @property
    def names(self) -> list[str]:
        return [f"shop-{i + 1}" for i in range(self.clients)]

    @property
    def costs(self) -> list[float]:
        """From half of `cost` to one and a half times it: some clients are cheaper to buy."""
        if self.clients == 1:
            return [self.cost]
        return [self.cost * (0.5 + i / (self.clients - 1)) for i in range(self.clients)]

    @property
    def world(self) -> Synthetic:
        return Synthetic(self.clients, DIM, ARMS, POOL, NOISE, BUSY)

    @property
    def _options(self) -> dict[str, dict[str, float]]:
        """The options that mechanisms need beside their name, in proportion to costs."""
        beta = 0.7 if self.beta is None else self.beta
        return {
            **{kind: {"beta": beta} for kind in BETA},
            "BudgetFeasible": {
                "per_round": self.cost * self.clients / 2.0,
                "total": self.budget,
            },
            "PostedPrice": {"price": self.cost},
            "ShapleySplit": {"pot": self.cost * self.clients / 2.0},
            "Truthful": {"cover": 0.7, "reserve": 3.0 * self.cost},
        }

    @property
    def settings(self) -> Settings:
        """With short deadlines: nobody should wait long for a client that was killed."""
        mechanism = {"kind": self.mechanism, **self._options.get(self.mechanism, {})}
        return Settings(
            name="tour",
            dim=DIM,
            mechanism=MECHANISMS.recorded(mechanism),
            threshold=self.threshold,
            noise=NOISE,
            budget=self.budget,
            limits=Limits(),  # costs and budget are those of the tour, and nobody in it cheats
            arm_norm=1.0,
            reward_bound=2.0,
            upload_time=3.0,
            answer_time=3.0,
        )
