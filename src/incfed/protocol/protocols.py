"""Protocols without rounds: each client alone, and all clients as one."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass

import numpy as np

from ..kernels.step import Steps
from ..mechanisms.pay_everyone import PayEveryone
from ..rules.rounds import RoundRules
from ..types import Ints, Mask
from .run import Protocol, Run, Setup, StepTraffic
from .synchronous import Synchronous, SynchronousRun


@dataclass(frozen=True)
class Alone(Protocol):
    """Nobody talks: each client learns from its own steps."""

    def start(self, setup: Setup) -> Run:
        return Synchronous(RoundRules(PayEveryone(), threshold=math.inf)).start(setup)


@dataclass(frozen=True)
class Pooled(Protocol):
    """Every step is shared with everyone at once, so that all clients act as one."""

    def start(self, setup: Setup) -> Run:
        return PooledRun(setup)


class PooledRun(Run):
    """All clients act as one, which never needs a round."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        alone = Synchronous(RoundRules(PayEveryone(), threshold=math.inf))
        self._one = SynchronousRun(
            alone, setup._replace(clients=1, costs=np.zeros(1), personal=None)
        )

    def advance(self, steps: Steps, first: int) -> None:
        if self._one.choosing is not None:
            self._one.choosing.owners = steps.clients  # they act as one, by policies of their own
        self._one.advance(steps._replace(clients=np.zeros_like(steps.clients)), first)

    @property
    def propensity(self) -> array[float] | None:
        return self._one.propensity

    def traffic(self, matched: Mask, fetched: Ints) -> StepTraffic:
        """Each step sends d^2 + d up, and to each of N clients down; packed, a row and a reward."""
        d, times = self.dim, 1 + self.count
        return StepTraffic(
            np.where(matched, float(times * (d * d + d)), 0.0),
            np.where(matched, float(times * (d + 1)), 0.0),
        )
