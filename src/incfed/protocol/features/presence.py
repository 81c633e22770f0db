"""Clients that are away when a round opens, or leave before it closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from ...kernels.step import Steps
from ...kernels.store import PENDING
from ...mechanisms.base import Decision
from ...rules.rounds import EVERYONE
from ..open_round import Closed, OpenRound
from ..presence import PresenceDraws, Present
from .base import Feature

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


class Presence(Feature):
    """Clients that are not always there."""

    may_fail = True

    def __init__(self, run: SynchronousRun) -> None:
        self._run = run
        self._draws = PresenceDraws(run.members.availability, run.count, run.seed)
        nobody = np.zeros(run.count, np.bool_)
        self._present = Present(nobody, nobody)  # in the last round
        self._silent = np.full(run.count, -1)  # pending steps of clients that did not answer
        # Clients that were away when others got the model, and the steps in which they got it.
        self._behind = nobody
        self.late: list[int] = []

    @classmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        return None if run.members.availability == 1.0 else cls(run)

    def advanced(self, steps: Steps, begin: int, end: int, first: int) -> None:
        """Clients that were away when others got the model get it when they next act."""
        if not self._behind.any():
            return
        for t in begin + np.flatnonzero(steps.fetched[begin:end]):
            client = steps.clients[t]
            if self._behind[client]:
                self._behind[client] = False
                self.late.append(first + int(t))

    def known(self, opened: OpenRound) -> OpenRound:
        """Without clients that did not answer the last round and have not acted since: waiting for
        them, the server would open a round at every step."""
        heard = opened.uploads.steps != self._silent[opened.uploads.clients]
        return opened.only(heard, opened.count - int(np.count_nonzero(~heard)))

    def called(self, opened: OpenRound) -> OpenRound:
        self._present = self._draws.draw(opened.step, opened.trigger)
        there = self._present.uploads
        return opened.only(there[opened.uploads.clients], int(np.count_nonzero(there)))

    def fails(self, client: int) -> bool:
        return not self._present.delivers[client]

    def closed(self, opened: OpenRound, decision: Decision, closed: Closed) -> Closed:
        run, there = self._run, self._present.uploads
        if len(closed.participants) and run.server.rules.download == EVERYONE:
            self._behind = ~there
        self._silent = np.where(there, -1, run.store.table[: run.count, PENDING])
        return closed
