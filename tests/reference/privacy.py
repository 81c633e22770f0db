"""Noisy sums brought back to what steps can give, written out slowly. Imports nothing of the
package."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference.mechanisms import FloatArray

HALVINGS = 200


def plausible(
    V: FloatArray, b: FloatArray, steps: int, L: float, Y: float
) -> tuple[FloatArray, FloatArray]:
    """dV: the largest `steps` eigenvalues, lowered by the same amount, though not below 0, until
    their sum is at most that of all, and at most steps L^2. db: the nearest with db' dV^-1 db <=
    steps Y^2, in which the coordinate along an eigenvector is multiplied by w / (w + m)."""
    values, vectors = np.linalg.eigh(V)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    values[steps:] = 0.0
    most = max(0.0, min(float(np.trace(V)), steps * L**2))

    def lowered(by: float) -> FloatArray:
        return np.maximum(values - by, 0.0)

    if lowered(0.0).sum() > most:
        values = lowered(halve(lambda by: lowered(by).sum() > most, float(values.max())))
    d = len(b)
    dV, db = np.zeros((d, d)), np.zeros(d)
    kept = [i for i in range(d) if values[i] > 0.0]
    along = np.array([vectors[:, i] @ b for i in kept])
    w = values[kept]

    def length(m: float) -> float:
        return float(((along * w / (w + m)) ** 2 / w).sum())

    m = 0.0
    if length(0.0) > steps * Y**2:
        top = 1.0
        while length(top) > steps * Y**2:
            top *= 2.0
        m = halve(lambda m: length(m) > steps * Y**2, top)
    for i, c in zip(kept, along * w / (w + m), strict=True):
        dV += values[i] * np.outer(vectors[:, i], vectors[:, i])
        db += c * vectors[:, i]
    return dV, db


def halve(too_small: Callable[[float], bool], high: float) -> float:
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if too_small(middle):
            low = middle
        else:
            high = middle
    return high
