"""A client that dies and is started again: the library's own agent and files, no threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from incfed.service.client import state_folder
from incfed.service.client.agent import Agent, Backoff
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.client.policies import Proposal, cost_function
from incfed.service.client.state_folder import Snapshot
from incfed.service.client.traffic import Traffic
from incfed.service.wire import FederationView
from support.in_process_transport import DIM


class Killed(BaseException):
    """A client, in the middle of something."""


class Member:
    """What it learned in all its lives, what it was promised, and its present life."""

    def __init__(self, number: int, cost: float, folder: Path, chance: np.random.Generator) -> None:
        self.number, self.cost, self.folder, self.chance = number, cost, folder, chance
        self.steps, self.V, self.b = 0, np.zeros((DIM, DIM)), np.zeros(DIM)
        self.promised: dict[int, float] = {}  # by round, the last offer that it took
        self.good = False  # takes every offer; else it
        self.declines = 0.1  # of them
        self.life = 0  # 0: none; grows with each
        self.alive = False
        self.request: int | None = None  # the request that it waits for
        self.polling: int | None = None
        self.waking = 0.0  # when it looks again, unless something happens before
        self._last: tuple[Any, float] | None = None  # being learned

    def twin(self, folder: Path, chance: np.random.Generator) -> Member:
        """Another process with a copy of this one's folder, which has learned what this one has."""
        twin = Member(self.number, self.cost, folder, chance)
        twin.steps, twin.V, twin.b = self.steps, self.V.copy(), self.b.copy()
        twin.promised, twin.good = dict(self.promised), self.good
        twin.declines = self.declines
        return twin

    def start(self, settings: FederationView) -> None:
        """From the files, as any process would."""
        self.life += 1
        self.request = self.polling = None
        self.durable = DurableLearner.__new__(DurableLearner)
        try:
            start = state_folder.load(self.folder) or Snapshot.new(settings)
            self.durable.__init__(self.folder, start)  # type: ignore[misc]
        except Killed:
            self.durable._journal.close()
            raise
        if self._last is not None and self.durable.steps > self.steps:
            self._count(*self._last)  # died when it was written, before anybody was told
        self._last = None
        assert self.durable.steps == self.steps
        self.agent = Agent(self.durable, cost_function(self.cost), self._accept, Traffic())
        self.agent.backoff = Backoff(self.chance)
        self.alive = True

    def die(self) -> None:
        """What was handed to the system is there, nothing else."""
        self.alive = False
        self.durable._journal.close()

    def learn(self) -> None:
        x, y = self.chance.standard_normal(DIM), float(self.chance.standard_normal())
        self._last = x, y
        self.durable.learn(x, y)
        self._count(x, y)
        self._last = None

    def _count(self, x: Any, y: float) -> None:
        self.steps += 1
        self.V += np.outer(x, x)
        self.b += y * x

    def _accept(self, proposal: Proposal) -> bool:
        yes = self.good or bool(self.chance.random() >= self.declines)
        if yes:
            self.promised[proposal.round] = proposal.payment
        return yes
