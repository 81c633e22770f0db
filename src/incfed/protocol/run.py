"""A federation that is simulated: steps in, a log of rounds and of traffic out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels.step import Steps
from ..kernels.store import SERVER, Store, empty_store
from ..kernels.trust import Personal
from ..kernels.ucb import Bench, Rules, bench
from ..types import Floats, Ints, Mask
from .global_statistics import GlobalStatistics
from .open_round import Closed
from .policies import Policy


class Setup(NamedTuple):
    """What a federation is simulated with."""

    clients: int
    dim: int
    arms: int  # that are shown in a step
    items: int  # that arms are, again and again; 0: no arm is seen twice
    rules: Rules
    costs: Floats  # [N] D^p
    seed: int
    stale: bool = False  # clients choose with the model as it was after their own last step
    personal: Personal | None = None  # the models with which clients choose, if not the shared one
    policy: Policy | None = None  # of the user's own, by which they choose

    def bench(self, *, cached: bool = True) -> Bench:
        """Scratch space; `cached`: a model is shared, under which items need scoring only once."""
        cached = cached and self.policy is None
        return bench(self.dim, self.arms, self.items if cached else 0)

    @property
    def scores(self) -> int:
        """Scalars that go with every b, and every model (trust "auto")."""
        return 0 if self.personal is None else self.personal.scalars


@dataclass(frozen=True)
class Protocol(ABC):
    """The base class of protocols: who talks to the server, when, and who gets the model."""

    @abstractmethod
    def start(self, setup: Setup) -> Run:
        """A federation that follows it."""


class StepTraffic(NamedTuple):
    """Scalars sent in each step."""

    communication: Floats  # as the paper counts
    packed: Floats  # as a careful implementation sends them


class LoggedRound(NamedTuple):
    """A round as a run keeps it."""

    step: int
    trigger: int
    closed: Closed
    sent: Ints  # the steps in each upload
    shared: Ints  # and in those of the participants


class Run(ABC):
    """A federation that follows one protocol."""

    store: Store

    def __init__(self, setup: Setup, *, cached: bool = True) -> None:
        self.count, self.dim, self.rules = setup.clients, setup.dim, setup.rules
        self.seed, self.scores = setup.seed, setup.scores
        self.personal = setup.personal
        self.bench = setup.bench(cached=cached)
        self.store = empty_store(setup.clients, setup.dim, setup.rules.ridge)
        self.log: list[LoggedRound] = []

    @property
    def shared(self) -> GlobalStatistics:
        """(V_g, b_g), as clients would download them."""
        (factor, V), b = self.store.blocks[0], self.store.pairs[0, 1]
        return GlobalStatistics(V, b, factor, float(self.store.logdet[SERVER, 0]))

    def check(self, items: Floats, rewards: Floats) -> None:
        """InputError if this federation cannot take such arms or rewards."""
        return

    @abstractmethod
    def advance(self, steps: Steps, first: int) -> None:
        """Run these steps; `first` is the number of the first one."""

    @property
    def propensity(self) -> array[float] | None:
        """Of the choice in each step so far, NaN: not known; None: the policy is built in."""
        return None

    @abstractmethod
    def traffic(self, matched: Mask, fetched: Ints) -> StepTraffic:
        """The traffic of all steps so far; `matched`: those that were not skipped; `fetched`: the
        observations that were downloaded in each."""


def concatenated(parts: list[Ints]) -> Ints:
    """All of them in a row, also of none."""
    return np.concatenate([np.empty(0, np.int64), *parts])
