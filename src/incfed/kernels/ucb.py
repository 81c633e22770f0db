"""The choice of an arm (Eq. 2): the largest optimistic estimate, ties to the lowest index."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .factor import Floats

TIE = 1e-9  # scores closer than this are equal (READING 15): rounding must not decide


class Bench(NamedTuple):
    """Scratch space for K arms in d dimensions."""

    arms: Floats  # [d, K]: an arm a column, so that the inner loop runs over arms
    line: Floats  # [K]
    width: Floats  # [K]  ||x||^2 in V^-1
    score: Floats  # [K]
    p: Floats  # [d]
    v: Floats  # [d]
    R: Floats  # [d, d]


def bench(dim: int, arms: int) -> Bench:
    line, width, score = np.zeros((3, arms))
    return Bench(
        np.zeros((dim, arms)),
        line,
        width,
        score,
        np.zeros(dim),
        np.zeros(dim),
        np.zeros((dim, dim)),
    )


@compiled
def confidence(
    logdet: float, dim: int, ridge: float, noise: float, surprise: float, exploration: float
) -> float:
    """alpha of Eq. 2; `surprise` is 2 log(1/delta); a number for `exploration` replaces it all."""
    if not np.isnan(exploration):
        return exploration
    growth = max(0.0, logdet - dim * np.log(ridge))  # log det V(lambda) / det(lambda I)
    return float(noise * np.sqrt(growth + surprise) + np.sqrt(ridge))


@compiled
def score(items: Floats, ids: NDArray[np.int64], U: Floats, theta: Floats, b: Bench) -> None:
    """b.score = x'theta and b.width = ||U x||^2 for every arm; b.arms is filled on the way."""
    d, K = b.arms.shape
    for k in range(K):
        row = ids[k]
        b.width[k] = 0.0
        b.score[k] = 0.0
        for j in range(d):
            b.arms[j, k] = items[row, j]
    for i in range(d):
        for k in range(K):
            b.line[k] = 0.0
        head = (i + 1) % 4  # four columns of U at a time keep the multipliers busy
        for j in range(head):
            u = U[i, j]
            for k in range(K):
                b.line[k] += u * b.arms[j, k]
        for j in range(head, i + 1, 4):
            u0, u1, u2, u3 = U[i, j], U[i, j + 1], U[i, j + 2], U[i, j + 3]
            for k in range(K):
                b.line[k] += (
                    u0 * b.arms[j, k]
                    + u1 * b.arms[j + 1, k]
                    + u2 * b.arms[j + 2, k]
                    + u3 * b.arms[j + 3, k]
                )
        th = theta[i]
        for k in range(K):
            b.width[k] += b.line[k] * b.line[k]
            b.score[k] += th * b.arms[i, k]


@compiled
def narrow(w: Floats, b: Bench) -> None:
    """b.width -= (w'x)^2: V^-1 has lost w w' against U'U."""
    d, K = b.arms.shape
    for k in range(K):
        b.line[k] = 0.0
    for j in range(d):
        wj = w[j]
        for k in range(K):
            b.line[k] += wj * b.arms[j, k]
    for k in range(K):
        b.width[k] -= b.line[k] * b.line[k]


@compiled
def pick(alpha: float, b: Bench) -> int:
    """The lowest index whose score is within TIE of the best."""
    K = b.score.shape[0]
    best = -np.inf
    for k in range(K):
        b.score[k] += alpha * np.sqrt(max(0.0, b.width[k]))
        best = max(best, b.score[k])
    for k in range(K):
        if b.score[k] >= best - TIE:
            return k
    return 0
