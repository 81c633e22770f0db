"""Part of a recorded world, such as the first half to choose settings on and the rest to judge."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import errors
from ..support import inputs
from ..types import Ints
from ..values import Flag, Number
from .base import Events, Stream, World
from .wrapped import Wrapped


class Part(Wrapped):
    """The steps of `world` from one share of its length to another; see `World.part`."""

    def __init__(self, world: World, first: float, last: float, *, turn: bool = False) -> None:
        if world.length is None:
            raise errors.refuse("part", [first, last], "left out: this world has no fixed length")
        if Flag().of("turn", turn) and world.chance:
            raise errors.refuse("turn", turn, "left out: runs of this world already differ by seed")
        super().__init__(world)
        self.first, self.last = ends(first, last)
        self.turn = turn
        self._from, to = (cut(share, world.length) for share in (self.first, self.last))
        self._length = to - self._from
        if self._length < 1:
            steps = inputs.counted(world.length, "step")
            raise errors.refuse("part", [first, last], f"at least one of {steps}")

    @property
    def length(self) -> int:
        return self._length

    @property
    def chance(self) -> bool:
        return self.turn or self.world.chance

    def open(self, seed: np.random.SeedSequence) -> PartStream:
        start = int(np.random.default_rng(seed).integers(self._length)) if self.turn else 0
        return PartStream(self.world, seed, self._from, self._length, start)

    def settings(self) -> dict[str, Any]:
        part = {"part": [self.first, self.last], "turn": self.turn, "length": self.length}
        return {**super().settings(), **part}


class PartStream(Stream):
    """`length` steps of `world` after the first `skipped` ones, beginning with number `start`."""

    def __init__(
        self, world: World, seed: np.random.SeedSequence, skipped: int, length: int, start: int
    ) -> None:
        self._world, self._seed = world, seed
        self._skipped, self._start = skipped, start
        self._inner = world.open(seed)
        self._inner.skip(skipped + start)
        self._left = length - start  # steps until the end, where it continues at the beginning
        self.items = self._inner.items
        self.recurring = self._inner.recurring

    def take(self, n: int) -> Events:
        if n <= self._left:
            self._left -= n
            return self._inner.take(n)
        before = self._inner.take(self._left)
        self._inner = self._world.open(self._seed)  # the same steps: the world has no randomness
        self._inner.skip(self._skipped)
        rest = min(n - self._left, self._start)
        self._left = self._start - rest
        after = self._inner.take(rest)
        return Events(*(np.concatenate(pair) for pair in zip(before, after, strict=True)))

    def gather(self, steps: Ints) -> Events:
        return self._inner.gather(self._skipped + steps)


def ends(first: object, last: object) -> tuple[float, float]:
    """Two shares, the first below the last."""
    low = float(Number(0.0, 1.0, below=True).of("part[0]", first))
    high = float(Number(0.0, 1.0, above=True).of("part[1]", last))
    if low >= high:
        raise errors.refuse("part", [first, last], "two shares, the first below the last")
    return low, high


def cut(share: float, steps: int) -> int:
    """The number of steps before `share`; adjacent parts neither overlap nor leave a gap."""
    return round(share * steps)
