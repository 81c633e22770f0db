"""The base of every run: steps in, records of rounds and traffic out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from ..kernels.step import Steps
from ..kernels.store import SERVER, Store, empty_store
from ..kernels.ucb import Bench, Rules
from ..protocol.global_statistics import GlobalStatistics
from ..protocol.protocols import Synchronous
from ..protocol.server import Closed
from ..protocol.traffic import packed_matrix, packed_model, packed_vector
from ..protocol.triggers import GROWTH, ROWS
from ..results.records import Rounds
from ..rules.rounds import EVERYONE
from ..types import Floats, Ints, Mask
from .sharing import packed_ranks


class StepTraffic(NamedTuple):
    """Scalars sent in each step."""

    communication: Floats  # as the paper counts
    packed: Floats  # as a careful implementation sends them


class RoundLog:
    """Keeps every round, and what was sent up in it."""

    def __init__(self) -> None:
        self._closed: list[tuple[int, int, int, Closed]] = []
        self._packed: list[int] = []

    def log(self, step: int, trigger: int, pending: int, closed: Closed, packed: int = 0) -> None:
        self._closed.append((step, trigger, pending, closed))
        self._packed.append(packed)

    def __len__(self) -> int:
        return len(self._closed)

    def rounds(self) -> Rounds:
        """All rounds so far, in columns."""
        closed = [row[3] for row in self._closed]
        shared = [c.participants for c in closed]
        return Rounds(
            step=np.array([row[0] for row in self._closed], dtype=np.int64),
            trigger=np.array([row[1] for row in self._closed], dtype=np.int64),
            pending=np.array([row[2] for row in self._closed], dtype=np.int64),
            idle=np.array([c.idle for c in closed], dtype=np.int64),
            communication=np.array([c.communication for c in closed], dtype=np.float64),
            ratio=np.array([c.ratio for c in closed], dtype=np.float64),
            offsets=np.cumsum([0] + [len(who) for who in shared]),
            participants=np.concatenate([np.empty(0, np.int64), *shared]),
            payments=np.concatenate([np.empty(0), *(c.payments for c in closed)]),
            costs=_of_participants(closed, "costs"),
            asked=_of_participants(closed, "asked"),
            gap=np.array([c.gap for c in closed], dtype=np.float64),
        )

    def synchronous_traffic(
        self, protocol: Synchronous, dim: int, scores: int, matched: Mask, fetched: Ints,
        late: list[int],
    ) -> StepTraffic:  # fmt: skip
        """The traffic of rounds with all clients; `fetched`: the observations that were downloaded
        before each step; `late`: steps with a download that no round has counted."""
        stream = {None: 0, ROWS: dim, GROWTH: 1}[protocol.trigger.streams]
        scalars = np.where(matched, float(stream), 0.0)
        ranks = packed_ranks(fetched, dim, protocol.privacy)
        packed = scalars + packed_model(ranks, dim) + scores * (fetched > 0)
        sent = fetched > 0 if protocol.download != EVERYONE else late
        scalars[sent] += dim * dim + dim + scores
        rounds = self.rounds()
        np.add.at(scalars, rounds.step, rounds.communication)
        np.add.at(packed, rounds.step, self._packed)
        return StepTraffic(scalars, packed)


def packed_up(protocol: Synchronous, dim: int, scores: int, sent: Ints, shared: Ints) -> int:
    """Scalars sent up in a round, packed: matrices of these ranks, and vectors of these."""
    up = packed_vector(shared, dim).sum() + scores * len(shared)
    if protocol.trigger.streams != ROWS:
        up += packed_matrix(sent, dim).sum()
    return int(up)


class Run(RoundLog, ABC):
    """A federation that follows one protocol."""

    store: Store

    def __init__(self, count: int, dim: int, rules: Rules, bench: Bench) -> None:
        super().__init__()
        self.count, self.dim, self.rules, self.bench = count, dim, rules, bench
        self.store = empty_store(count, dim, rules.ridge)

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

    @abstractmethod
    def traffic(self, matched: Mask, fetched: Ints) -> StepTraffic:
        """The traffic of all steps so far; `matched`: those that were not skipped; `fetched`: the
        observations that were downloaded in each."""


def _of_participants(closed: list[Closed], name: str) -> Floats:
    """A value for each participant of each round, NaN where it is not known."""
    found = [getattr(round, name) for round in closed]
    parts = [
        np.full(len(round.participants), np.nan) if part is None else part
        for round, part in zip(closed, found, strict=True)
    ]
    return np.concatenate([np.empty(0), *parts])
