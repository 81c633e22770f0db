"""Draw arms without replacement. The draws do not depend on how a run is divided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..types import Floats, Ints
from .compiling import compiled


@compiled
def draw(
    order: Ints,
    bits: NDArray[np.uint32],
    means: Floats,
    noise: Floats,
    arms: Ints,
    rewards: Floats,
    expected: Floats,
) -> None:
    """arms[t] = K of the ids in `order`, with their rewards and expected rewards.

    A partial Fisher-Yates shuffle, one 32-bit draw per arm. A uniform draw from any permutation is
    uniform, so `order` is kept from step to step and never reset.
    """
    for t in range(bits.shape[0]):
        for k in range(bits.shape[1]):
            left = np.uint64(order.shape[0] - k)
            j = k + np.int64((np.uint64(bits[t, k]) * left) >> np.uint64(32))
            arm = order[j]
            order[j] = order[k]
            order[k] = arm
            arms[t, k] = arm
            expected[t, k] = means[arm]
            rewards[t, k] = means[arm] + noise[t]
