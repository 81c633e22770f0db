"""Drawing arms without replacement, fast and the same however a run is cut into pieces."""

from __future__ import annotations

from .compiling import compiled
from .factor import Floats
from .store import Ints


@compiled
def draw(order: Ints, uniform: Floats, out: Ints) -> None:
    """out[t] = K of the ids in `order`: a partial Fisher-Yates shuffle, which `order` carries on.

    A uniform draw from any permutation is uniform, so the permutation need not be reset.
    """
    for t in range(uniform.shape[0]):
        for k in range(uniform.shape[1]):
            left = order.shape[0] - k
            j = k + min(int(uniform[t, k] * left), left - 1)
            out[t, k] = order[j]
            order[j] = order[k]
            order[k] = out[t, k]
