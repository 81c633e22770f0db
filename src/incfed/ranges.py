"""Ranges of settings: wide enough for every use, and narrow enough that nothing overflows.

V has entries of up to ridge + steps * |x|^2, and squares of costs are summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from .values import Each, Number, Whole

MOST_STEPS = 10**12  # a longer run would not finish
MOST_DIM = 1000  # of a federation: larger matrices exceed its message size
LARGEST = 1e100  # absolute value of a feature or a reward

Bound = Annotated[float, Number(0.0, LARGEST, above=True)]  # of features, rewards, costs
Steps = Annotated[int, Whole(1, MOST_STEPS)]
RIDGE = Number(1e-12, 1e12)
NOISE = Number(0.0, 1e12)
DELTA = Number(1e-100, 1.0, below=True)
EXPLORATION = Number(0.0, 1e12)
WIDTH_SCALE = Number(0.0, 1e12)
COST = BUDGET = Number(0.0, 1e100)
# Of one client, or of all alike.
TRUST = Number(0.0, 1e100, or_inf=True, words=("auto",), as_float=True)
Costs = Annotated[
    float | Sequence[float],
    Each(Number(0.0, 1e100), "a number of at least 0, or one per client"),
]
Ridge = Annotated[float, RIDGE]
Noise = Annotated[float, NOISE]
Delta = Annotated[float, DELTA]
Exploration = Annotated[float, EXPLORATION]
WidthScale = Annotated[float, WIDTH_SCALE]
Cost = Annotated[float, COST]
Budget = Annotated[float, BUDGET]
