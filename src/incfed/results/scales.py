"""The scale of an axis of amounts: one curve far above the others must not flatten them.

The rule, for the sizes of what is drawn (0 is left out):

1. If some are at least `FLATTENS` times as large as all others, and the others are at least as many
   and close together, the axis is broken: the others have most of the height, and the part above
   them is compressed.
2. Otherwise, if the largest is more than `FAR_APART` times the smallest, the scale is logarithmic.
3. Otherwise it is linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..types import Floats

FLATTENS = 5.0
FAR_APART = 15.0
BELOW = 0.7  # of the height, for what is below the break


@dataclass(frozen=True)
class Broken:
    """Linear up to `at`, and from there to `top` again, compressed."""

    at: float
    top: float

    def forward(self, value: Floats) -> Floats:
        """The share of the height at which an amount is drawn."""
        above = BELOW + (value - self.at) / (self.top - self.at) * (1 - BELOW)
        return np.where(value <= self.at, value / self.at * BELOW, above)

    def inverse(self, share: Floats) -> Floats:
        above = self.at + (share - BELOW) / (1 - BELOW) * (self.top - self.at)
        return np.where(share <= BELOW, share / BELOW * self.at, above)


@dataclass(frozen=True)
class Logarithmic:
    """Linear from 0 to `start`, so that 0 can be shown; logarithmic from there."""

    start: float


Scale = Broken | Logarithmic | None
"""None: linear."""


def scale_for(sizes: Iterable[float]) -> Scale:
    """By the rule above; linear if any size is negative."""
    known = sorted(size for size in sizes if math.isfinite(size) and size != 0)
    if not known or known[0] < 0:
        return None
    ratio, split = max(
        ((large / small, n) for n, (small, large) in enumerate(pairwise(known), 1)),
        default=(1.0, 0),
    )
    low, high = known[:split], known[split:]
    if ratio >= FLATTENS and len(low) >= len(high) and low[-1] <= FLATTENS * low[0]:
        return Broken(1.15 * low[-1], 1.08 * high[-1])
    if known[-1] > FAR_APART * known[0]:
        return Logarithmic(10.0 ** math.floor(math.log10(known[0] / 10)))
    return None
