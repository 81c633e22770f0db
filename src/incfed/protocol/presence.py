"""Who is there when a round opens, and still there when it closes.

The draws have a stream of their own: a round, or a step, finds the same clients present whatever
the algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..rules.members import each_available
from ..types import Floats, Mask

_STREAM = 2**31  # spawn key: far from those that worlds use


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
