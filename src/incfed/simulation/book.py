"""Rounds as they close, kept in columns."""

from __future__ import annotations

import numpy as np

from ..protocol.server import Closed
from ..results.records import Rounds


class RoundBook:
    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, Closed]] = []

    def add(self, step: int, trigger: int, pending: int, closed: Closed) -> None:
        self._rows.append((step, trigger, pending, closed))

    def rounds(self) -> Rounds:
        closed = [row[3] for row in self._rows]
        shared = [c.participants for c in closed]
        paid = [c.payments for c in closed]
        return Rounds(
            step=np.array([row[0] for row in self._rows], dtype=np.int64),
            trigger=np.array([row[1] for row in self._rows], dtype=np.int64),
            pending=np.array([row[2] for row in self._rows], dtype=np.int64),
            idle=np.array([c.idle for c in closed], dtype=np.int64),
            communication=np.array([c.communication for c in closed], dtype=np.float64),
            ratio=np.array([c.ratio for c in closed], dtype=np.float64),
            offsets=np.cumsum([0] + [len(who) for who in shared]),
            participants=np.concatenate([np.empty(0, np.int64), *shared]),
            payments=np.concatenate([np.empty(0), *paid]),
        )
