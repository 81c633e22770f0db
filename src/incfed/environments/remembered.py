"""A world that keeps one run in memory, so that settings compared on the same seed do not have to
draw its steps again."""

from __future__ import annotations

import numpy as np

from .base import Events, Stream, World
from .wrapped import Wrapped

MOST_BYTES = 64 * 2**20  # a longer run is not kept


class Remembered(Wrapped):
    """`world`, opened again and again with the same seed."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.pieces: dict[tuple[int, int], Events] = {}  # by first step and length

    @staticmethod
    def fits(world: World, steps: int) -> bool:
        return steps * 8 * (1 + 3 * world.arms_per_step) <= MOST_BYTES

    def open(self, seed: np.random.SeedSequence) -> RememberedStream:
        return RememberedStream(self.world.open(seed), self.pieces)


class RememberedStream(Stream):
    def __init__(self, inner: Stream, pieces: dict[tuple[int, int], Events]) -> None:
        self._inner, self._pieces = inner, pieces
        self._at = self._inner_at = 0
        self.items, self.recurring = inner.items, inner.recurring

    def take(self, n: int) -> Events:
        key = (self._at, n)
        if key not in self._pieces:
            self._inner.skip(self._at - self._inner_at)
            self._pieces[key] = self._inner.take(n)
            self._inner_at = self._at + n
        self._at += n
        return self._pieces[key]
