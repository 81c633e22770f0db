"""How long to leave a coordinator alone that did not answer, or did not like the question."""

from __future__ import annotations

import numpy as np

FIRST, LONGEST = 0.1, 30.0  # seconds
SULK = 60.0  # after a refusal that only people can put right


class Patience:
    """Twice as long after each failure in a row, and never the same for two clients: after an
    outage they do not all come back at once."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance
        self._failures = 0
        self.until = 0.0

    def fail(self, now: float) -> None:
        self._failures += 1
        pause = min(LONGEST, FIRST * 2.0 ** min(self._failures - 1, 20))
        self.until = now + pause * float(self._chance.uniform(0.5, 1.5))

    def refuse(self, now: float) -> None:
        self.until = now + SULK * float(self._chance.uniform(0.5, 1.5))

    def succeed(self) -> None:
        self._failures, self.until = 0, 0.0
