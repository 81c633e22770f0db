"""The statistics everybody shares, and what follows from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels.factor import Floats, factorize, solve


class Shared(NamedTuple):
    """(V_g, b_g) of Alg. 1; never changed in place, so that who holds one keeps what it said."""

    V: Floats
    b: Floats
    factor: Floats  # U with U'U = V_g(lambda)^-1
    theta: Floats  # V_g(lambda)^-1 b_g
    logdet: float  # log det V_g(lambda)

    @classmethod
    def of(cls, V: Floats, b: Floats, ridge: float) -> Shared:
        factor, theta = np.empty_like(V), np.empty_like(b)
        logdet = factorize(V, ridge, np.empty_like(V), factor)
        solve(factor, b, np.empty_like(b), theta)
        return cls(V, b, factor, theta, logdet)

    @classmethod
    def empty(cls, dim: int, ridge: float) -> Shared:
        return cls.of(np.zeros((dim, dim)), np.zeros(dim), ridge)
