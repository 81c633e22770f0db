"""Baselines to compare Inc-FedUCB with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Self

from ..mechanisms.pay_everyone import PayEveryone
from ..protocol.protocols import Pooled
from ..protocol.run import Protocol
from ..protocol.synchronous import Synchronous
from ..rules.rounds import D_C, RoundRules
from . import thresholds
from .base import Algorithm
from .trust import TrustingAlgorithm


@dataclass(frozen=True)
class DisLinUCB(TrustingAlgorithm):
    """Everyone shares for free whenever a client's trigger fires (Wang et al., 2020).

    threshold: D_c, a number or the name of a formula, as of `IncFedUCB`.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> result = incfed.simulate(world, incfed.DisLinUCB(threshold=1.0), steps=200)
    >>> print(f"{len(result.rounds)} rounds, {result.payment[-1]:.0f} paid")
    19 rounds, 0 paid
    """

    threshold: Annotated[float | str, D_C]

    @cached_property
    def protocol(self) -> Protocol:
        return Synchronous(RoundRules(PayEveryone(), threshold=self.threshold))

    def for_run(self, *, steps: int, clients: int, dim: int) -> Self:
        if not isinstance(self.threshold, str):
            return self
        value = thresholds.named(
            self.threshold, steps=steps, clients=clients, dim=dim, beta=1.0, ridge=self.ridge
        )
        return replace(self, threshold=value)


@dataclass(frozen=True)
class Independent(Algorithm):
    """No communication: each client learns from its own steps only.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> result = incfed.simulate(world, incfed.Independent(), steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.communication[-1]:.0f} numbers sent")
    regret 7.2, 0 numbers sent
    """


@dataclass(frozen=True)
class Centralized(Algorithm):
    """Every step is shared with everyone at once.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> result = incfed.simulate(world, incfed.Centralized(), steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.communication[-1]:.0f} numbers sent")
    regret 1.3, 14400 numbers sent
    """

    @property
    def protocol(self) -> Protocol:
        return Pooled()
