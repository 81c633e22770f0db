"""Baselines to compare Inc-FedUCB with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from ..mechanisms.pay_everyone import PayEveryone
from ..protocol.protocols import Pooled, Protocol, Synchronous
from ..protocol.triggers import Threshold
from . import thresholds
from .base import Algorithm
from .trust import Trusting


@dataclass(frozen=True)
class DisLinUCB(Trusting):
    """Everyone shares for free whenever a client's trigger fires (Wang et al., 2020).

    threshold: D_c, a number or the name of a formula, as of `IncFedUCB`.
    """

    threshold: float | str

    def __post_init__(self) -> None:
        super().__post_init__()
        thresholds.check(self.threshold)

    @property
    def protocol(self) -> Protocol:
        return Synchronous(Threshold(thresholds.number(self.threshold)), PayEveryone())

    def for_run(self, *, steps: int, clients: int, dim: int) -> Self:
        if not isinstance(self.threshold, str):
            return self
        value = thresholds.named(
            self.threshold, steps=steps, clients=clients, dim=dim, beta=1.0, ridge=self.ridge
        )
        return replace(self, threshold=value)


@dataclass(frozen=True)
class Independent(Algorithm):
    """No communication: each client learns from its own steps only."""


@dataclass(frozen=True)
class Centralized(Algorithm):
    """Every step is shared with everyone at once."""

    @property
    def protocol(self) -> Protocol:
        return Pooled()
