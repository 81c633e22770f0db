"""The choice of an arm (Eq. 2): the largest optimistic estimate, ties to the lowest index.

A model is a factor U and t = U b. In the coordinates z = U x the estimate x'theta is z't and
||x||^2 in V^-1 is ||z||^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compiling import compiled_bare, compiled_sum, compiled_within
from .factor import ZERO, Floats, Ints, dot, unwhiten

TIE = 1e-9  # scores closer than this are equal (READING 15): rounding must not decide
SLACK = 1e-8  # bounds are widened by this much, far more than rounding can take from them


class Bench(NamedTuple):
    """Scratch space for K arms of M items in d dimensions, and what is known about the items."""

    width: Floats  # [K]     ||x||^2 in V^-1
    score: Floats  # [K]     x'theta, then with the confidence added
    line: Floats  # [K]
    upper: Floats  # [K]     no less than the score
    p: Floats  # [d]
    v: Floats  # [d]
    R: Floats  # [d, d]
    own: Floats  # [K, d]    z of the arms
    places: Ints  # [K]      0, 1, 2, ...
    # Under the shared factor an item looks the same to everybody: computed once a version, and only
    # if it may be the best of an arm's step. Where items do not recur these are empty, and `own` is
    # used for every arm anew.
    shared: Floats  # [M, d]  z
    known: Floats  # [M, 2]   ||z||^2 and ||z||
    when: Ints  # [M]         the version
    runners: Ints  # [K]      arms that may be the best,
    entries: Ints  # [K]      and the items they are
    missing: Ints  # [K]


def bench(dim: int, arms: int, items: int) -> Bench:
    """`items`: how many to remember, 0 if none is shown twice."""
    return Bench(
        width=np.zeros(arms),
        score=np.zeros(arms),
        line=np.zeros(arms),
        upper=np.zeros(arms),
        p=np.zeros(dim),
        v=np.zeros(dim),
        R=np.zeros((dim, dim)),
        own=np.zeros((arms, dim)),
        places=np.arange(arms),
        shared=np.zeros((items, dim)),
        known=np.full((items, 2), np.inf),
        when=np.full(items, -1),
        runners=np.zeros(arms, np.int64),
        entries=np.zeros(arms, np.int64),
        missing=np.zeros(arms, np.int64),
    )


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
def whiten_arms(items: Floats, ids: Ints, U: Floats, out: Floats, places: Ints) -> None:
    """out[places[k]] = U x of arm k.

    Four arms against two rows of U at a time: eight running sums share six loads. The two rows are
    taken equally long, since U is zero above its diagonal.
    """
    d, K = items.shape[1], ids.shape[0]
    for k in range(0, K, 4):
        k1, k2, k3 = min(k + 1, K - 1), min(k + 2, K - 1), min(k + 3, K - 1)
        a0, a1, a2, a3 = ids[k], ids[k1], ids[k2], ids[k3]
        z0, z1, z2, z3 = places[k], places[k1], places[k2], places[k3]
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
            out[z0, i], out[z1, i], out[z2, i], out[z3, i] = s0, s1, s2, s3
            out[z0, other], out[z1, other], out[z2, other], out[z3, other] = r0, r1, r2, r3


@compiled_bare
def score(items: Floats, ids: Ints, U: Floats, t: Floats, b: Bench) -> None:
    """b.width and b.score of every arm under the model (U, t); z is left in b.own."""
    d = items.shape[1]
    whiten_arms(items, ids, U, b.own, b.places)
    for k in range(ids.shape[0]):
        b.width[k] = dot(b.own[k], b.own[k], d)
        b.score[k] = dot(b.own[k], t, d)


@compiled_within
def look_up(items: Floats, ids: Ints, U: Floats, version: int, b: Bench) -> None:
    """b.shared = z, b.known and b.width = ||z||^2 of these items under the shared factor."""
    d = items.shape[1]
    m = ZERO
    for k in range(ids.shape[0]):
        if b.when[ids[k]] != version:
            b.when[ids[k]] = version
            b.missing[m] = ids[k]
            m += 1
    whiten_arms(items, b.missing[:m], U, b.shared, b.missing)
    for k in range(m):
        z = b.shared[b.missing[k]]
        square = dot(z, z, d)
        b.known[b.missing[k], 0] = square
        b.known[b.missing[k], 1] = np.sqrt(square)
    for k in range(ids.shape[0]):
        b.width[k] = b.known[ids[k], 0]


@compiled_within
def estimate(items: Floats, ids: Ints, U: Floats, t: Floats, alpha: float, b: Bench) -> int:
    """b.upper: what the score of each arm cannot exceed, without its z; returns the most hopeful.

    V only grows, so what is known of ||z||^2 from any earlier version is enough or too much.
    """
    unwhiten(U, t, b.v)
    along(items, ids, b.v, b.upper)
    top = ZERO
    for k in range(ids.shape[0]):
        most = b.upper[k] + alpha * b.known[ids[k], 1]
        b.upper[k] = most + SLACK * (1.0 + abs(most))
        b.score[k] = -np.inf
    for k in range(ids.shape[0]):
        top = k if b.upper[k] > b.upper[top] else top
    return top


@compiled_within
def rivals(ids: Ints, top: int, best: float, b: Bench) -> int:
    """Enter in b.runners whoever else may come within a tie of `best`; returns how many."""
    n = ZERO
    for k in range(ids.shape[0]):
        if k != top and not b.upper[k] < best - TIE:
            b.runners[n] = k
            b.entries[n] = ids[k]
            n += 1
    return n


@compiled_sum
def along(z: Floats, rows: Ints, t: Floats, line: Floats) -> None:
    """line = z't for those rows of z, four at a time."""
    K, d = rows.shape[0], t.shape[0]
    for k in range(0, K - 3, 4):
        a0, a1, a2, a3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        s0 = s1 = s2 = s3 = 0.0
        for j in range(d):
            s0 += t[j] * z[a0, j]
            s1 += t[j] * z[a1, j]
            s2 += t[j] * z[a2, j]
            s3 += t[j] * z[a3, j]
        line[k], line[k + 1], line[k + 2], line[k + 3] = s0, s1, s2, s3
    for k in range(K - K % 4, K):
        line[k] = dot(z[rows[k]], t, d)


@compiled_within
def narrow(z: Floats, rows: Ints, c: Floats, b: Bench) -> None:
    """b.width -= (c'z)^2 for every arm: what one pending step takes from it."""
    along(z, rows, c, b.line)
    for k in range(rows.shape[0]):
        b.width[k] -= b.line[k] * b.line[k]


@compiled_within
def add_confidence(alpha: float, arms: Ints, b: Bench) -> float:
    """b.score += alpha ||x|| in V^-1 for those arms, of which b.width tells; returns the best."""
    best = -np.inf
    for k in range(arms.shape[0]):
        b.score[arms[k]] += alpha * np.sqrt(max(0.0, b.width[k]))
        best = max(best, b.score[arms[k]])
    return best


@compiled_within
def pick(best: float, b: Bench) -> int:
    """The lowest index whose score is within TIE of the best."""
    for k in range(b.score.shape[0]):
        if b.score[k] >= best - TIE:
            return k
    return 0
