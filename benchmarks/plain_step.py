"""The step everybody writes first: V^-1 kept by Sherman-Morrison, arms scored in a triple loop."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray


@numba.njit(cache=False)  # type: ignore[untyped-decorator]
def run(
    clients: NDArray[np.int64], arms: NDArray[np.int64], items: Any, rewards: Any, ridge: float
) -> float:
    """Independent LinUCB for every client; returns the total reward."""
    count, (steps, choices), d = clients.max() + 1, arms.shape, items.shape[1]
    inverse = np.zeros((count, d, d))
    for i in range(count):
        for j in range(d):
            inverse[i, j, j] = 1.0 / ridge
    b, theta = np.zeros((count, d)), np.zeros((count, d))
    logdet = np.zeros(count)
    v = np.zeros(d)
    total = 0.0
    for t in range(steps):
        i = clients[t]
        alpha = 0.1 * np.sqrt(logdet[i] + 2.0 * np.log(10.0)) + np.sqrt(ridge)
        best, chosen = -np.inf, 0
        for k in range(choices):
            x = items[arms[t, k]]
            mean = width = 0.0
            for p in range(d):
                mean += x[p] * theta[i, p]
                along = 0.0
                for q in range(d):
                    along += inverse[i, p, q] * x[q]
                width += x[p] * along
            score = mean + alpha * np.sqrt(width)
            if score > best:
                best, chosen = score, k
        x, y = items[arms[t, chosen]], rewards[t, chosen]
        total += y
        square = 0.0
        for p in range(d):
            v[p] = 0.0
            for q in range(d):
                v[p] += inverse[i, p, q] * x[q]
            square += v[p] * x[p]
        for p in range(d):
            b[i, p] += y * x[p]
            for q in range(d):
                inverse[i, p, q] -= v[p] * v[q] / (1.0 + square)
        for p in range(d):
            theta[i, p] = 0.0
            for q in range(d):
                theta[i, p] += inverse[i, p, q] * b[i, q]
        logdet[i] += np.log1p(square)
    return total
