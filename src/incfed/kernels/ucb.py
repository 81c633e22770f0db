"""The choice of an arm (Eq. 2): the largest optimistic estimate, ties to the lowest index."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiling import compiled_bare, compiled_sum
from .factor import Floats, Ints, dot

TIE = 1e-9  # scores closer than this are equal (READING 15): rounding must not decide


class Bench(NamedTuple):
    """Scratch space for K arms in d dimensions."""

    width: Floats  # [K]  ||x||^2 in V^-1
    score: Floats  # [K]
    p: Floats  # [d]
    v: Floats  # [d]
    x: Floats  # [d]
    R: Floats  # [d, d]
    # Under the shared factor an item's width and score are the same for whoever looks at it.
    known: Floats  # [M, 2]  width and score of an item ...
    when: Ints  # [M]        ... under this version of the shared statistics
    missing: Ints  # [K]


def bench(dim: int, arms: int, items: int) -> Bench:
    width, score = np.zeros((2, arms))
    p, v, x = np.zeros((3, dim))
    known, when = np.zeros((items, 2)), np.full(items, -1)
    return Bench(width, score, p, v, x, np.zeros((dim, dim)), known, when, np.zeros(arms, np.int64))


@compiled_bare
def confidence(
    logdet: float, dim: int, ridge: float, noise: float, surprise: float, exploration: float
) -> float:
    """alpha of Eq. 2; `surprise` is 2 log(1/delta); a number for `exploration` replaces it all."""
    if not np.isnan(exploration):
        return exploration
    growth = max(0.0, logdet - dim * np.log(ridge))  # log det V(lambda) / det(lambda I)
    return float(noise * np.sqrt(growth + surprise) + np.sqrt(ridge))


@compiled_sum
def score(items: Floats, ids: Ints, U: Floats, theta: Floats, b: Bench) -> None:
    """b.score = x'theta and b.width = ||U x||^2 for every arm.

    Four arms against two rows of U at a time: eight running sums share six loads. The two rows are
    taken equally long, since U is zero above its diagonal.
    """
    d, K = items.shape[1], ids.shape[0]
    for k in range(0, K, 4):
        last = min(k + 3, K - 1)  # the last few arms may be computed twice
        a0, a1, a2, a3 = ids[k], ids[min(k + 1, last)], ids[min(k + 2, last)], ids[last]
        q0 = q1 = q2 = q3 = 0.0
        for i in range(0, d, 2):
            other = min(i + 1, d - 1)
            s0 = s1 = s2 = s3 = r0 = r1 = r2 = r3 = 0.0
            for j in range(other + 1):
                u, v = U[i, j], U[other, j]
                x0, x1, x2, x3 = items[a0, j], items[a1, j], items[a2, j], items[a3, j]
                s0 += u * x0
                s1 += u * x1
                s2 += u * x2
                s3 += u * x3
                r0 += v * x0
                r1 += v * x1
                r2 += v * x2
                r3 += v * x3
            if other == i:  # d is odd: the last row stood in for both
                r0 = r1 = r2 = r3 = 0.0
            q0 += s0 * s0 + r0 * r0
            q1 += s1 * s1 + r1 * r1
            q2 += s2 * s2 + r2 * r2
            q3 += s3 * s3 + r3 * r3
        m0 = m1 = m2 = m3 = 0.0
        for j in range(d):
            m0 += theta[j] * items[a0, j]
            m1 += theta[j] * items[a1, j]
            m2 += theta[j] * items[a2, j]
            m3 += theta[j] * items[a3, j]
        b.width[last], b.score[last] = q3, m3
        b.width[min(k + 2, last)], b.score[min(k + 2, last)] = q2, m2
        b.width[min(k + 1, last)], b.score[min(k + 1, last)] = q1, m1
        b.width[k], b.score[k] = q0, m0


@compiled_bare
def score_shared(
    items: Floats, ids: Ints, U: Floats, theta: Floats, version: int, b: Bench
) -> None:
    """`score` under the shared statistics, computed once an item and version."""
    m = 0
    for k in range(ids.shape[0]):
        if b.when[ids[k]] != version:
            b.when[ids[k]] = version
            b.missing[m] = ids[k]
            m += 1
    score(items, b.missing[:m], U, theta, b)
    for k in range(m):
        b.known[b.missing[k], 0] = b.width[k]
        b.known[b.missing[k], 1] = b.score[k]
    for k in range(ids.shape[0]):
        b.width[k] = b.known[ids[k], 0]
        b.score[k] = b.known[ids[k], 1]


@compiled_bare
def narrow(items: Floats, ids: Ints, w: Floats, b: Bench) -> None:
    """b.width -= (w'x)^2 for every arm: V^-1 has lost w w' against U'U."""
    for k in range(ids.shape[0]):
        along = dot(w, items[ids[k]], w.shape[0])
        b.width[k] -= along * along


@compiled_bare
def estimate(items: Floats, ids: Ints, theta: Floats, b: Bench) -> None:
    """b.score = x'theta for every arm."""
    for k in range(ids.shape[0]):
        b.score[k] = dot(theta, items[ids[k]], theta.shape[0])


@compiled_bare
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
