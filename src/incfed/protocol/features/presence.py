"""Who is there when a round opens, and still there when it closes.

The draws have a stream of their own: a round, or a step, finds the same clients present whatever
the algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from ...kernels.step import Steps
from ...kernels.store import PENDING
from ...mechanisms.base import Decision
from ...rules.members import each_available
from ...rules.rounds import EVERYONE
from ...types import Floats, Mask
from ..open_round import Closed, OpenRound
from .base import Feature

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun

_STREAM = 2**31  # spawn key: far from those that worlds use


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


class Present(NamedTuple):
    """Who uploads in a round, and who would still be there to deliver."""

    uploads: Mask  # [N]
    delivers: Mask  # [N]


class PresenceDraws:
    """The availability of N clients in one run."""

    def __init__(self, availability: float | Sequence[float], count: int, seed: int) -> None:
        self._chance = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM,)))
        self._spells: _Spells | None = None
        self._each = each_available(availability, count)
        if self._each is None:
            on, off = availability  # type: ignore[misc]
            self._spells = _Spells(on, off, count, self._chance)

    def draw(self, step: int, acting: int) -> Present:
        """Draw who is there in the next round, after this step: the client that acts is."""
        if self._spells is not None:
            there = self._spells.on(step)
            there[acting] = True
            return Present(there, there)  # a round takes no time
        assert self._each is not None
        both = self._chance.random((2, len(self._each))) < self._each
        both[:, acting] = True
        return Present(both[0], both[1])


class _Spells:
    """Every client is on and off in turn, for times that are exponentially distributed."""

    def __init__(self, on: float, off: float, count: int, chance: np.random.Generator) -> None:
        self._means = np.array([off, on])
        self._chance = chance
        self._on = chance.random(count) < on / (on + off)
        self._until = self._lengths(self._on)
        self._spare: list[Floats] = []  # spells drawn for all clients, needed by some
        self._used = np.zeros(count, np.int64)

    def on(self, step: int) -> Mask:
        """Who is on at this step; steps do not decrease."""
        while (over := self._until <= step).any():
            self._on[over] ^= True
            self._until[over] += self._next(over) * self._means[self._on[over].astype(np.int64)]
        return self._on.copy()

    def _lengths(self, on: Mask) -> Floats:
        drawn = self._chance.standard_exponential(len(on))
        return np.asarray(drawn * self._means[on.astype(np.int64)])

    def _next(self, who: Mask) -> Floats:
        """The next length of each, times the mean. All clients' k-th spells are drawn together, so
        that they do not depend on the steps at which we look."""
        while self._used[who].max() >= len(self._spare):
            self._spare.append(self._chance.standard_exponential(len(who)))
        clients = np.flatnonzero(who)
        lengths = np.array([self._spare[self._used[i]][i] for i in clients])
        self._used[who] += 1
        done = int(self._used.min())
        self._spare, self._used = self._spare[done:], self._used - done
        return lengths
