"""A world says who acts, which arms it sees, and what each would pay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kernels.factor import Floats, Ints

PIECE = 1024  # steps that are skipped at a time
MOST = 10_000_000  # clients, or items: beyond, memory ends before the simulation does


class Events(NamedTuple):
    """Consecutive steps."""

    clients: Ints  # [n]     who acts
    arms: Ints  # [n, K]  what it can pick: rows of the stream's `items`
    rewards: Floats  # [n, K]  what each pick would pay; NaN where nobody knows: skipped if picked
    expected: Floats  # [n, K]  without noise; NaN where nobody knows


class Stream(ABC):
    """One run through a world: a fixed table of items and events to be taken in order."""

    items: Floats  # [M, d]
    recurring: bool = True  # may an item be shown again? What is known of it is then kept

    @abstractmethod
    def take(self, n: int) -> Events:
        """The next n steps; the same ones however they are cut into pieces."""

    def skip(self, n: int) -> None:
        """Pass over the next n steps."""
        while n > 0:
            self.take(min(n, PIECE))
            n -= PIECE


class World(ABC):
    """What a world is; `open` starts a run. One seed gives every algorithm the same run."""

    slow: bool = False  # are steps slow to draw? Then those of a seed are kept; see `Remembered`

    @property
    @abstractmethod
    def count(self) -> int:
        """N, the number of clients."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """d, the number of features."""

    @property
    @abstractmethod
    def arms_per_step(self) -> int:
        """K."""

    @property
    def length(self) -> int | None:
        """How many steps there are; None: as many as you like."""
        return None

    @property
    def chance(self) -> bool:
        """Does a seed make a difference?"""
        return True

    def part(self, first: float, last: float, *, turn: bool = False) -> World:
        """A recorded world from the share `first` of its steps to the share `last`, as if that were
        all of it. `turn`, for one that leaves nothing to chance: a run begins at a step that the
        seed draws, and what comes before that follows at the end."""
        from .part import Part

        return Part(self, first, last, turn=turn)

    @property
    def notes(self) -> Sequence[str]:
        """What a reader of its results should know, such as rows that could not be used."""
        return ()

    @abstractmethod
    def open(self, seed: np.random.SeedSequence) -> Stream: ...

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What a result records about it."""
