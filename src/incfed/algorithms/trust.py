"""How far clients trust each other, for algorithms in which they download what others shared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import errors
from ..kernels.trust import Personal, personal
from ..rules.learning import Trusting
from ..support import inputs
from .base import Algorithm


@dataclass(frozen=True, kw_only=True)
class TrustingAlgorithm(Trusting, Algorithm):
    """An algorithm whose clients trust each other only so far (docs/trust.md)."""

    def check(self, count: int) -> None:
        super().check(count)
        self.personal(count, dim=1)

    def personal(self, count: int, dim: int) -> Personal | None:
        if isinstance(self.trust, str):
            return personal(None, count, dim)
        each = np.asarray(self.trust, np.float64)
        if each.ndim and len(each) != count:
            given = inputs.counted(len(each), "number")
            raise errors.refuse("trust", given, f"one number, or {count} (one per client)")
        if np.isinf(each).all():
            return None
        return personal(np.array(np.broadcast_to(each, count)), count, dim)
