"""V(lambda) = V + lambda I as its inverse factor U: lower triangular, U V(lambda) U' = I.

Everything the paper needs of V(lambda) can be computed from U: V^-1 = U'U, so ||x||_{V^-1} =
||U x||; a new observation changes U in O(d^2) without forming V^-1; and a product with a triangle
costs half of one with the full inverse. U'U is positive semi-definite whatever the rounding. Loops
process four rows at a time, so that each load is used four times; U is zero above its diagonal, so
all rows of a block can be treated as being as long as the last.
"""

from __future__ import annotations

import numpy as np

from ..types import Floats
from .compiling import compiled, compiled_sum, inner, inner_sum

# numba compiles a loop variable that starts as a plain 0 twice: as a constant and as a number.
ZERO: int = np.int64(0)  # type: ignore[assignment]


@inner_sum
def dot(a: Floats, b: Floats, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@inner
def copy(source: Floats, target: Floats) -> None:
    for i in range(source.shape[0]):
        target[i] = source[i]


@inner
def copy_square(source: Floats, target: Floats) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@compiled
def add_scaled(target: Floats, scale: float, source: Floats) -> None:
    """target += scale * source."""
    for i in range(source.shape[0]):
        target[i] += scale * source[i]


@inner
def add(V: Floats, other: Floats) -> None:
    """V += other."""
    for i in range(V.shape[0]):
        for j in range(V.shape[1]):
            V[i, j] += other[i, j]


@inner_sum
def cholesky(V: Floats, ridge: float, L: Floats) -> float:
    """L lower triangular with L L' = V(ridge); returns log det V(ridge).

    Only the lower half of V is read, each entry before L's is written: L may be V itself.

    Every pivot is a Schur complement of V(ridge), hence at least `ridge`: a pivot that is smaller
    by rounding is set to `ridge`.
    """
    d = V.shape[0]
    logdet = 0.0
    for j in range(d):
        s0 = 0.0
        for k in range(j):
            s0 += L[j, k] * L[j, k]
        pivot = max(V[j, j] + ridge - s0, ridge)
        logdet += np.log(pivot)
        L[j, j] = np.sqrt(pivot)
        inverse = 1.0 / L[j, j]
        whole = d - (d - j - 1) % 4
        for i in range(j + 1, whole, 4):
            s0 = s1 = s2 = s3 = 0.0
            for k in range(j):
                u = L[j, k]
                s0 += u * L[i, k]
                s1 += u * L[i + 1, k]
                s2 += u * L[i + 2, k]
                s3 += u * L[i + 3, k]
            L[i, j] = (V[i, j] - s0) * inverse
            L[i + 1, j] = (V[i + 1, j] - s1) * inverse
            L[i + 2, j] = (V[i + 2, j] - s2) * inverse
            L[i + 3, j] = (V[i + 3, j] - s3) * inverse
        for i in range(whole, d):
            L[i, j] = (V[i, j] - dot(L[j], L[i], j)) * inverse
    return logdet


@compiled
def factorize(V: Floats, ridge: float, L: Floats, U: Floats) -> float:
    """U = L^-1 from scratch, zero above its diagonal; returns log det V(ridge).

    L is scratch, and may be V itself if V is no longer needed.
    """
    d = V.shape[0]
    logdet = cholesky(V, ridge, L)
    for i in range(d):
        for j in range(d):
            U[i, j] = 0.0
        for k in range(0, i - 3, 4):
            u0, u1, u2, u3 = L[i, k], L[i, k + 1], L[i, k + 2], L[i, k + 3]
            for j in range(k + 4):
                U[i, j] -= u0 * U[k, j] + u1 * U[k + 1, j] + u2 * U[k + 2, j] + u3 * U[k + 3, j]
        for k in range(i - i % 4, i):
            u0 = L[i, k]
            for j in range(k + 1):
                U[i, j] -= u0 * U[k, j]
        U[i, i] = 1.0
        inverse = 1.0 / L[i, i]
        for j in range(i + 1):
            U[i, j] *= inverse
    return logdet


@compiled_sum
def whiten(U: Floats, x: Floats, out: Floats) -> float:
    """out = U x; returns ||U x||^2 = x' V^-1 x."""
    d = U.shape[0]
    square = 0.0
    for i in range(0, d - 3, 4):
        s0 = s1 = s2 = s3 = 0.0
        for j in range(i + 4):
            s0 += U[i, j] * x[j]
            s1 += U[i + 1, j] * x[j]
            s2 += U[i + 2, j] * x[j]
            s3 += U[i + 3, j] * x[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        square += s0 * s0 + s1 * s1 + s2 * s2 + s3 * s3
    for i in range(d - d % 4, d):
        out[i] = dot(U[i], x, i + 1)
        square += out[i] * out[i]
    return square


@inner
def unwhiten(U: Floats, t: Floats, out: Floats) -> None:
    """out = U't: theta, for t = U b."""
    d = t.shape[0]
    for j in range(d):
        out[j] = 0.0
    for i in range(0, d - 3, 4):
        t0, t1, t2, t3 = t[i], t[i + 1], t[i + 2], t[i + 3]
        for j in range(i + 4):
            out[j] += t0 * U[i, j] + t1 * U[i + 1, j] + t2 * U[i + 2, j] + t3 * U[i + 3, j]
    for i in range(d - d % 4, d):
        for j in range(i + 1):
            out[j] += t[i] * U[i, j]


@compiled
def update(U: Floats, x: Floats, y: float, t: Floats, p: Floats, sums: Floats) -> float:
    """V += x x' in the factor and b += y x in t = U b; returns x' V^-1 x for the old V.

    With p = U x and I + p p' = K K', the new factor is K^-1 U, and K is known in closed form:
    with s_i = 1 + p_1^2 + ... + p_i^2,
        row i of K^-1 U = sqrt(s_{i-1} / s_i) U_i - p_i / sqrt(s_{i-1} s_i) sum_{j<i} p_j U_j,
    and likewise for the vector t + y p. p and sums are scratch.
    """
    d = U.shape[0]
    whiten(U, x, p)
    for j in range(d):
        sums[j] = 0.0
    before, root, along = 1.0, 1.0, 0.0
    for i in range(d):
        pi = p[i]
        after = before + pi * pi
        root_after = np.sqrt(after)
        inverse = 1.0 / (root * root_after)
        keep, mix = before * inverse, pi * inverse
        for j in range(i + 1):
            u = U[i, j]
            U[i, j] = keep * u - mix * sums[j]
            sums[j] += pi * u
        ti = t[i] + y * pi
        t[i] = keep * ti - mix * along
        along += pi * ti
        before, root = after, root_after
    return before - 1.0


@compiled
def add_outer(V: Floats, x: Floats) -> None:
    """V += x x'."""
    d = x.shape[0]
    for i in range(d):
        xi = x[i]
        for j in range(d):
            V[i, j] += xi * x[j]
