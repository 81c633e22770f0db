"""Matrices and their factors; and kernels made callable that only other kernels call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from incfed.kernels.factor import factorize
from reference.mechanisms import FloatArray


def made(d: int, ridge: float, steps: int | None = None) -> tuple[FloatArray, FloatArray]:
    """V = X'X and V(ridge)."""
    chance = np.random.default_rng([d, int(100 * ridge)])
    X = chance.standard_normal((2 * d if steps is None else steps, d))
    V: FloatArray = X.T @ X
    return V, V + ridge * np.eye(d)


def factor(V: FloatArray, ridge: float) -> tuple[FloatArray, float]:
    U = np.full_like(V, np.nan)
    return U, factorize(V, ridge, np.empty_like(V), U)


def callable_kernel(kernel: Callable[..., Any]) -> Callable[..., Any]:
    caller: Callable[..., Any] = numba.njit(lambda *args: kernel(*args))
    return caller
