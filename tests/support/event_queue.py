"""Simulated time: what is to happen, in order."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count


class Agenda:
    def __init__(self) -> None:
        self.time = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def number(self) -> int:
        """One that nothing else has."""
        return next(self._numbers)

    def later(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.time + delay, self.number(), action))

    def until(self, end: float, before_each: Callable[[], None]) -> None:
        """Let time pass."""
        while self._queue and self._queue[0][0] <= end:
            self.time, _, action = heapq.heappop(self._queue)
            before_each()
            action()
        self.time = end
