"""How long to wait after a request that failed, or that the coordinator refused."""

from __future__ import annotations

import numpy as np

FIRST, LONGEST = 0.1, 30.0  # seconds
AFTER_REFUSAL = 60.0  # seconds, where somebody has to fix a setting first


class Backoff:
    """Exponential backoff with jitter: clients do not all come back at once after an outage."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._failures = 0
        self.until = 0.0  # nothing is sent before

    def fail(self, now: float) -> None:
        self._failures += 1
        pause = min(LONGEST, FIRST * 2.0 ** min(self._failures - 1, 20))
        self.until = now + pause * float(self._rng.uniform(0.5, 1.5))

    def refuse(self, now: float) -> None:
        self.until = now + AFTER_REFUSAL * float(self._rng.uniform(0.5, 1.5))

    def reset(self) -> None:
        self._failures, self.until = 0, 0.0
