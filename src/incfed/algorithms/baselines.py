"""Baselines to compare Inc-FedUCB with."""

from __future__ import annotations

from dataclasses import dataclass

from ..mechanisms.pay_everyone import PayEveryone
from ..protocol.protocols import Pooled, Protocol, Synchronous
from ..protocol.triggers import Threshold
from ..support import inputs
from .base import Algorithm
from .trust import Trusting


@dataclass(frozen=True)
class DisLinUCB(Trusting):
    """Everyone shares for free whenever a client's trigger fires (Wang et al., 2020)."""

    threshold: float

    def __post_init__(self) -> None:
        super().__post_init__()
        inputs.number("threshold", self.threshold, low=0.0, finite=False)

    @property
    def protocol(self) -> Protocol:
        return Synchronous(Threshold(self.threshold), PayEveryone())


@dataclass(frozen=True)
class Independent(Algorithm):
    """No communication: each client learns from its own steps only."""


@dataclass(frozen=True)
class Centralized(Algorithm):
    """Every step is shared with everyone at once."""

    @property
    def protocol(self) -> Protocol:
        return Pooled()
