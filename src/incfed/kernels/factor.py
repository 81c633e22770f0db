"""V(lambda) = V + lambda I as its inverse factor U: lower triangular, U V(lambda) U' = I.

Everything the paper asks of V(lambda) comes from U: V^-1 = U'U, so ||x||_{V^-1} = ||U x||; a new
observation changes U in O(d^2) without forming V^-1; and a product with a triangle costs half of
one with the full inverse. U'U is positive semi-definite whatever the rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, compiled_sum

Floats = NDArray[np.float64]


@compiled_sum
def dot(a: Floats, b: Floats, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@compiled
def cholesky(V: Floats, ridge: float, R: Floats) -> float:
    """R upper triangular with R'R = V(ridge); returns log det V(ridge).

    Every pivot is a Schur complement of V(ridge), hence at least `ridge`: what rounding takes away
    below that is given back.
    """
    d = V.shape[0]
    for i in range(d):
        for j in range(i, d):
            R[i, j] = V[i, j]
        R[i, i] += ridge
    logdet = 0.0
    for i in range(d):
        pivot = max(R[i, i], ridge)
        logdet += np.log(pivot)
        root = np.sqrt(pivot)
        R[i, i] = root
        inverse = 1.0 / root
        for j in range(i + 1, d):
            R[i, j] *= inverse
        for k in range(i + 1, d):
            r = R[i, k]
            for j in range(k, d):
                R[k, j] -= r * R[i, j]
    return logdet


@compiled
def factorize(V: Floats, ridge: float, R: Floats, U: Floats) -> float:
    """U = inverse of R', from scratch; returns log det V(ridge). R is scratch."""
    d = V.shape[0]
    logdet = cholesky(V, ridge, R)
    for i in range(d):
        for j in range(d):
            U[i, j] = 0.0
        U[i, i] = 1.0
        for k in range(i):
            r = R[k, i]
            for j in range(k + 1):
                U[i, j] -= r * U[k, j]
        inverse = 1.0 / R[i, i]
        for j in range(i + 1):
            U[i, j] *= inverse
    return logdet


@compiled
def whiten(U: Floats, x: Floats, out: Floats) -> float:
    """out = U x; returns ||U x||^2 = x' V^-1 x."""
    d = U.shape[0]
    for i in range(d):
        out[i] = dot(U[i], x, i + 1)
    return dot(out, out, d)


@compiled
def solve(U: Floats, x: Floats, p: Floats, out: Floats) -> float:
    """out = V^-1 x = U'(U x), p = U x; returns x' V^-1 x."""
    d = U.shape[0]
    square = whiten(U, x, p)
    for j in range(d):
        out[j] = 0.0
    for i in range(d):
        pi = p[i]
        for j in range(i + 1):
            out[j] += pi * U[i, j]
    return square


@compiled
def update(U: Floats, x: Floats, p: Floats, out: Floats) -> float:
    """V += x x' in the factor; out = V^-1 x for the *old* V; returns x' V^-1 x, old too.

    With p = U x and I + p p' = K K', the new factor is K^-1 U, and K is known in closed form:
    with t_i = 1 + p_1^2 + ... + p_i^2,
        row i of K^-1 U = sqrt(t_{i-1} / t_i) U_i - p_i / sqrt(t_{i-1} t_i) sum_{j<i} p_j U_j.
    The running sum ends as U'p = V^-1 x.
    """
    d = U.shape[0]
    for j in range(d):
        out[j] = 0.0
        p[j] = dot(U[j], x, j + 1)
    before = 1.0
    for i in range(d):
        pi = p[i]
        after = before + pi * pi
        keep = np.sqrt(before / after)
        mix = pi / np.sqrt(before * after)
        for j in range(i + 1):
            u = U[i, j]
            U[i, j] = keep * u - mix * out[j]
            out[j] += pi * u
        before = after
    return before - 1.0


@compiled
def add_outer(V: Floats, x: Floats) -> None:
    """V += x x'."""
    d = x.shape[0]
    for i in range(d):
        xi = x[i]
        for j in range(d):
            V[i, j] += xi * x[j]
