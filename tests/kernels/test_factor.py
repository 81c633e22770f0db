"""The inverse factor U (U V(lambda) U' = I) and what is made of it, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from incfed.kernels import factor as factors
from incfed.kernels import pending
from incfed.kernels.factor import add_outer, factorize, update, whiten
from support.kernels import callable_kernel, factor, made

cholesky = callable_kernel(factors.cholesky)
dot = callable_kernel(factors.dot)
unwhiten = callable_kernel(factors.unwhiten)
add_square = callable_kernel(pending.add_square)

DIMS = range(1, 31)  # loops go by fours and twos: every remainder must be seen
RIDGES = (0.01, 0.1, 3.0)


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("d", DIMS)
def test_factorize(d: int, ridge: float) -> None:
    V, full = made(d, ridge)
    kept = V.copy()
    U, logdet = factor(V, ridge)
    assert np.array_equal(V, kept)
    assert np.array_equal(U, np.tril(U))
    assert np.abs(U @ full @ U.T - np.eye(d)).max() < 1e-10
    assert logdet == pytest.approx(np.linalg.slogdet(full)[1], rel=1e-12, abs=1e-11)
    assert cholesky(V, ridge, np.empty_like(V)) == logdet
    lower = np.tril(V)  # only the lower half is read, and V may be used up
    again = np.empty_like(V)
    assert factorize(lower, ridge, lower, again) == logdet
    assert np.array_equal(again, U)


@pytest.mark.parametrize("d", DIMS)
def test_products_with_the_inverse(d: int) -> None:
    V, full = made(d, 0.1)
    U, _ = factor(V, 0.1)
    chance = np.random.default_rng(d)
    x = chance.standard_normal(d)
    square = x @ np.linalg.solve(full, x)
    p = np.full(d, np.nan)
    assert whiten(U, x, p) == pytest.approx(square, rel=1e-9)
    np.testing.assert_allclose(p, U @ x, rtol=1e-10, atol=1e-12)
    assert dot(x, p, d - 1) == pytest.approx(x[:-1] @ p[:-1], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("d", DIMS)
def test_one_more_observation(d: int, ridge: float) -> None:
    V, full = made(d, ridge, steps=d // 2)  # of less than full rank
    U, _ = factor(V, ridge)
    x, b = np.random.default_rng(d).standard_normal((2, d))
    t, (p, sums) = U @ b, np.empty((2, d))
    square = update(U, x, 0.7, t, p, sums)
    assert square == pytest.approx(x @ np.linalg.solve(full, x), rel=1e-9)
    np.testing.assert_allclose(t, U @ (b + 0.7 * x), rtol=1e-8, atol=1e-9)
    assert np.array_equal(U, np.tril(U))
    assert np.abs(U @ (full + np.outer(x, x)) @ U.T - np.eye(d)).max() < 1e-9
    add_outer(V, x)
    np.testing.assert_allclose(V, full - ridge * np.eye(d) + np.outer(x, x), atol=1e-12)


def test_rounding_never_takes_a_pivot_below_the_ridge() -> None:
    # Rank 1 and huge: the Schur complements are about the ridge, and rounding far more than that.
    x = 1e6 * np.random.default_rng(0).standard_normal(5)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(np.outer(x, x) + 1e-6 * np.eye(5))
    U, logdet = factor(np.outer(x, x), 1e-6)
    assert np.isfinite(U).all()
    assert np.diag(U).max() <= 1e3 * (1 + 1e-12)  # 1 / sqrt(ridge)
    assert logdet >= 5 * np.log(1e-6)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 11])
@pytest.mark.parametrize("d", [1, 2, 4, 5, 9])
def test_adding_squares(d: int, n: int) -> None:
    columns = np.random.default_rng([d, n]).standard_normal((d, 12))
    V = 2.0 * np.eye(d)
    add_square(V, columns, n)
    expected = 2.0 * np.eye(d) + columns[:, :n] @ columns[:, :n].T
    np.testing.assert_allclose(V, expected, rtol=1e-12, atol=1e-12)
    assert (V == V.T).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 8, 25])
def test_back_from_white(d: int) -> None:
    V, full = made(d, 0.1)
    U, _ = factor(V, 0.1)
    rewards = np.random.default_rng(d).standard_normal(d)
    theta = np.empty(d)
    unwhiten(U, U @ rewards, theta)
    np.testing.assert_allclose(theta, np.linalg.solve(full, rewards), rtol=1e-8, atol=1e-9)
