"""D^p, what sharing costs a client: one number for all, or one per client."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import ranges
from ..support import inputs
from ..types import Floats


def check_costs(costs: object, name: str = "costs") -> float | tuple[float, ...]:
    """The costs as they are kept in settings; `name`: of the field, if it has another."""
    if isinstance(costs, int | float | np.number):
        ranges.check("cost", costs, name)
        return costs  # type: ignore[return-value]  # as given: 10 is recorded as 10
    allowed = "a number of at least 0, or one per client"
    low, most = ranges.RANGES["cost"]
    each = inputs.array(name, costs, ndim=1, allowed=allowed, low=low, most=most)
    if not len(each):
        raise inputs.refuse(name, costs, allowed)
    return tuple(each.tolist())


def costs_of(costs: float | Sequence[float], count: int, name: str = "costs") -> Floats:
    """One for each of `count` clients."""
    each = np.asarray(costs, dtype=np.float64)
    if each.ndim and len(each) != count:
        given = inputs.counted(len(each), "cost")
        raise inputs.refuse(name, given, f"one number, or {count} (one each)")
    return np.array(np.broadcast_to(each, count))
