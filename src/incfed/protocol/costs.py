"""D^p, what sharing costs each client."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import errors
from ..support import inputs
from ..types import Floats


def costs_of(costs: float | Sequence[float], count: int, name: str = "costs") -> Floats:
    """One for each of `count` clients."""
    each = np.asarray(costs, dtype=np.float64)
    if each.ndim and len(each) != count:
        given = inputs.counted(len(each), "cost")
        raise errors.refuse(name, given, f"one number, or {count} (one each)")
    return np.array(np.broadcast_to(each, count))
