"""Bootstrapped logs: a recorded world with its steps drawn again, to see how much another log would
differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.factor import Ints
from ..support import inputs
from .base import Events, Stream, World
from .wrapped import Wrapped

JITTER = 0.05  # of the log: how far a drawn step may move from its place, either way


class Bootstrap(Wrapped):
    """`steps` steps of `world`, drawn with replacement by the seed.

    They stay near their places in the log, so that slow changes in it stay; but each moves by up to
    5 % of its length, so that the copies of a step do not follow each other.
    """

    def __init__(self, world: World, steps: int) -> None:
        if world.length is None or world.chance:
            raise inputs.refuse(
                "bootstrap", steps, "left out: runs of this world already differ by seed"
            )
        super().__init__(world)
        self._recorded = world.length
        self._length = inputs.integer("bootstrap", steps, low=1, high=inputs.MOST_STEPS)

    @property
    def length(self) -> int:
        return self._length

    @property
    def chance(self) -> bool:
        return True

    def open(self, seed: np.random.SeedSequence) -> BootstrapStream:
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2))
        chance = np.random.default_rng(own)
        drawn = chance.integers(self._recorded, size=self._length)
        moved = drawn + JITTER * self._recorded * chance.uniform(-1.0, 1.0, self._length)
        return BootstrapStream(self.world.open(seed), drawn[np.argsort(moved)], self._recorded)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "length": self.length, "bootstrap": "events"}


class BootstrapStream(Stream):
    """The steps of `inner` in another order."""

    def __init__(self, inner: Stream, order: Ints, length: int) -> None:
        self.items, self.recurring = inner.items, inner.recurring
        self._inner, self._order, self._next = inner, order, 0
        self._whole: Events | None = None
        try:
            inner.gather(order[:0])
        except NotImplementedError:  # it can only be read from start to end
            self._whole = inner.take(length)

    def skip(self, n: int) -> None:
        self._next += n

    def take(self, n: int) -> Events:
        steps = self._order[self._next : self._next + n]
        self._next += n
        if self._whole is None:
            return self._inner.gather(steps)
        clients, arms, rewards, expected = self._whole
        return Events(clients[steps], arms[steps], rewards[steps], expected[steps])
