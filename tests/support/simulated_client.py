"""A client that dies and is started again: the library's own agent and files, no threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from incfed.service.client import points, snapshot
from incfed.service.client.agent import Agent
from incfed.service.client.keeper import Keeper, blank
from incfed.service.client.patience import Patience
from incfed.service.client.policies import Proposal, price_of
from incfed.service.client.terms import Terms
from incfed.service.wire import Request
from support.in_process_transport import DIM

SENDS = ("state", "open", "upload", "answer", "delivery", "download")
PLACES = (
    *(f"{kind}.{moment}" for kind in SENDS for moment in ("before", "after")),
    "learn.written", "freeze.written", "download.taken-in", "rotate.begun",
    "snapshot.before-rename", "snapshot.after-rename",
)  # fmt: skip


class Killed(BaseException):
    """A client, in the middle of something."""


class Member:
    """What it learned in all its lives, what it was promised, and its present life."""

    def __init__(self, number: int, cost: float, folder: Path, chance: np.random.Generator) -> None:
        self.number, self.cost, self.folder, self.chance = number, cost, folder, chance
        self.steps, self.V, self.b = 0, np.zeros((DIM, DIM)), np.zeros(DIM)
        self.promised: dict[int, float] = {}  # by round, the last offer that it took
        self.good = False  # takes every offer
        self.life = 0  # 0: none; grows with each
        self.alive = False
        self.errand: int | None = None  # the request that it waits for
        self.polling: int | None = None
        self.waking = 0.0  # when it looks again, unless something happens before
        self._last: tuple[Any, float] | None = None  # being learned

    def start(self, terms: Terms) -> None:
        """From the files, as any process would."""
        self.life += 1
        self.errand = self.polling = None
        self.keeper = Keeper.__new__(Keeper)
        try:
            self.keeper.__init__(self.folder, snapshot.load(self.folder) or blank(terms))  # type: ignore[misc]
        except Killed:
            self.keeper._journal.close()
            raise
        if self._last is not None and self.keeper.steps > self.steps:
            self._count(*self._last)  # died when it was written, before anybody was told
        self._last = None
        assert self.keeper.steps == self.steps
        patience = Patience(self.chance)
        self.agent = Agent(self.keeper, price_of(self.cost), self._accept, patience)
        self.alive = True

    def die(self) -> None:
        """What was handed to the system is there, nothing else."""
        self.alive = False
        self.keeper._journal.close()

    def learn(self) -> None:
        x, y = self.chance.standard_normal(DIM), float(self.chance.standard_normal())
        self._last = x, y
        self.keeper.learn(x, y)
        self._count(x, y)
        self._last = None

    def replied(self, request: Request, status: int, said: Any, now: float) -> None:
        points.reach(f"{request.kind}.after")
        self.agent.replied(request, status, said, now)

    def _count(self, x: Any, y: float) -> None:
        self.steps += 1
        self.V += np.outer(x, x)
        self.b += y * x

    def _accept(self, proposal: Proposal) -> bool:
        yes = self.good or bool(self.chance.random() < 0.9)
        if yes:
            self.promised[proposal.round] = proposal.payment
        return yes
