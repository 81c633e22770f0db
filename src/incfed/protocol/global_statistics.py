"""The shared statistics, and what is derived from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.coalition import merge
from ..kernels.factor import factorize
from ..kernels.pending import Pending
from ..types import Floats, Mask

ROUNDING = 2.0**-52  # of the trace, times d: what rounding may take off an eigenvalue of 0


class GlobalStatistics(NamedTuple):
    """(V_g, b_g) of Alg. 1. Immutable: never changed in place."""

    V: Floats
    b: Floats
    factor: Floats  # U with U'U = V_g(lambda)^-1
    logdet: float  # log det V_g(lambda)

    @classmethod
    def empty(cls, dim: int, ridge: float) -> GlobalStatistics:
        V, b = np.zeros((dim, dim)), np.zeros(dim)
        return cls(V, b, np.eye(dim) / np.sqrt(ridge), dim * float(np.log(ridge)))

    @classmethod
    def of(cls, V: Floats, b: Floats, ridge: float) -> GlobalStatistics:
        """From stored V_g and b_g."""
        if not V.any():
            return cls.empty(len(b), ridge)
        factor = np.empty_like(V)
        return cls(V, b, factor, factorize(V, ridge, np.empty_like(V), factor))

    def plus(self, pending: Pending, members: Mask, db: Floats, ridge: float) -> GlobalStatistics:
        """Lines 12-14: add the data of the members, in order of their ids."""
        V, b, factor = self.V.copy(), self.b.copy(), np.empty(self.V.shape)
        logdet = merge(V, b, ridge, pending, members, db, factor)
        return GlobalStatistics(V, b, factor, logdet)

    def repaired(self, ridge: float) -> GlobalStatistics:
        """Unchanged if V_g is positive semi-definite up to rounding; else with its projection."""
        noise = ROUNDING * len(self.V) * float(np.trace(self.V))
        if not self.V.any():
            return self
        try:
            np.linalg.cholesky(self.V + noise * np.eye(len(self.V)))
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(self.V)
            V = (vectors * np.maximum(values, abs(noise))) @ vectors.T
            return GlobalStatistics.of((V + V.T) / 2.0, self.b, ridge)
        return self
