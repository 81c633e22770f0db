"""How far clients trust each other, for algorithms in which they download what others shared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from .. import ranges
from ..kernels.trust import Personal, personal
from ..protocol.trust import AUTO, check_limit, check_trust
from ..support import inputs
from .base import Algorithm


@dataclass(frozen=True, kw_only=True)
class Trusting(Algorithm):
    """An algorithm whose clients trust each other only so far (docs/trust.md).

    trust: for how many observations, in any direction, the data of others counts at most. A number,
    one per client, or "auto": each client finds it out. Infinity is the paper: all clients are
    alike. With 0 each learns alone.
    """

    trust: float | str | Sequence[float] = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "trust", check_trusts(self.trust))
        if self.trust == AUTO and self.reads != "fresh":
            raise inputs.refuse("trust", AUTO, 'a number where reads is "stale"')

    def check(self, count: int) -> None:
        super().check(count)
        self.personal(count, dim=1)

    def personal(self, count: int, dim: int) -> Personal | None:
        if isinstance(self.trust, str):
            return personal(None, count, dim)
        each = np.asarray(self.trust, np.float64)
        if each.ndim and len(each) != count:
            given = inputs.counted(len(each), "number")
            raise inputs.refuse("trust", given, f"one number, or {count} (one per client)")
        if np.isinf(each).all():
            return None
        return personal(np.array(np.broadcast_to(each, count)), count, dim)


def check_trusts(value: object) -> float | str | tuple[float, ...]:
    """The trust as it is kept in settings: for all alike, or one per client."""
    plain = value.tolist() if isinstance(value, np.ndarray | np.number) else value
    if not (isinstance(plain, list | tuple) and plain):
        return check_trust(plain)
    if set(map(type, plain)) <= {int, float}:  # all at once; if one is bad, it is named below
        with suppress(OverflowError):
            each = np.array(value, np.float64)
            low, most = ranges.RANGES["trust"]
            if np.all((each >= low) & ((each <= most) | (each == np.inf))):
                return tuple(each.tolist())
    return tuple(check_limit(f"trust[{at}]", limit) for at, limit in enumerate(plain))
