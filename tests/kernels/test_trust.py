"""A = lambda I + C V_o + V_own, for every trust."""

from __future__ import annotations

import numpy as np
import pytest

from incfed.kernels.trust import PRIOR_EVENTS, personalize, preferred
from reference.mechanisms import FloatArray

TRUSTS = [0.0, 1e-300, 1e-9, 0.1, 1.0, 30.0, 1e6, 1e12, 1e300, np.inf]


def data(chance: np.random.Generator, steps: int, d: int) -> tuple[FloatArray, FloatArray]:
    x = chance.standard_normal((steps, d))
    return x.T @ x, x.T @ chance.standard_normal(steps)


def fast(
    V_o: FloatArray, b_o: FloatArray, V: FloatArray, b: FloatArray, trust: float, ridge: float
) -> tuple[FloatArray, FloatArray, float]:
    """A^-1, theta and log det A."""
    d = len(b)
    U, t, scratch = np.empty((d, d)), np.empty(d), np.full((2 * d + 3, d), np.nan)
    logdet = personalize(V_o, b_o, V, b, trust, ridge, np.arange(d), scratch, U, t)
    return U.T @ U, U.T @ t, logdet


def literal(
    V_o: FloatArray, b_o: FloatArray, V: FloatArray, b: FloatArray, trust: float, ridge: float
) -> tuple[FloatArray, FloatArray, float]:
    """The same in the eigenvectors of V_o, where C is diagonal: exact for every trust."""
    values, Q = np.linalg.eigh(V_o)
    values = np.maximum(values, 0.0)
    share = np.full_like(values, 0.0 if trust == 0.0 else 1.0)
    if 0.0 < trust < np.inf:
        share = trust / (values + trust)
    A = ridge * np.eye(len(b)) + (Q * (share * values)) @ Q.T + V
    theta = np.linalg.solve(A, (Q * share) @ (Q.T @ b_o) + b)
    return np.linalg.inv(A), theta, float(np.linalg.slogdet(A)[1])


@pytest.mark.parametrize("trust", TRUSTS)
@pytest.mark.parametrize("others", [0, 1, 3, 200])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 8, 25])
def test_a_model_equals_the_formula(d: int, others: int, trust: float) -> None:
    chance = np.random.default_rng([d, others])
    V_o, b_o = data(chance, others, d)
    V, b = data(chance, 5, d)
    if 0.0 < trust < 1e-6 and others < d:  # b_o lies in the space of V_o, up to rounding / trust
        b_o = np.zeros(d)
    ours, theirs = fast(V_o, b_o, V, b, trust, 0.1), literal(V_o, b_o, V, b, trust, 0.1)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-7, atol=1e-7)
    assert ours[2] == pytest.approx(theirs[2], abs=1e-7)


def test_one_dimension_by_hand() -> None:
    """Others know 8 observations' worth, of mean 3; trust 2 lets them count for 2 * 8 / 10."""
    _, theta, logdet = fast(
        np.array([[8.0]]), np.array([24.0]), np.array([[1.0]]), np.array([1.0]), 2.0, 0.4
    )
    assert theta[0] == pytest.approx((0.2 * 24.0 + 1.0) / (0.4 + 1.6 + 1.0))
    assert np.exp(logdet) == pytest.approx(3.0)


@pytest.mark.parametrize("d", [3, 10])
def test_others_count_for_less_than_trust_and_more_with_more_of_it(d: int) -> None:
    chance = np.random.default_rng(d)
    (V_o, b_o), (V, b) = data(chance, 50, d), data(chance, 4, d)
    before = -np.inf
    for trust in TRUSTS:
        inverse, _, logdet = fast(V_o, b_o, V, b, trust, 0.1)
        extra = np.linalg.inv(inverse) - 0.1 * np.eye(d) - V  # C V_o
        assert logdet >= before - 1e-9
        assert np.linalg.eigvalsh(V_o - extra).min() > -1e-7
        if trust < 1e12:
            assert np.linalg.eigvalsh(trust * np.eye(d) - extra).min() > -1e-7
        before = logdet


def test_trust_below_rounding_is_none() -> None:
    """V_o is a difference of what may be far larger than it."""
    chance = np.random.default_rng(0)
    V, b = data(chance, 500, 4)
    noise = 1e-13 * chance.standard_normal((4, 4))
    V_o = noise + noise.T  # not even positive semi-definite
    ours, theirs = fast(V_o, np.zeros(4), V, b, 1e-16, 0.1), literal(V_o, b, V, b, 0.0, 0.1)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)


def test_the_preferred_model_by_hand() -> None:
    own, unknown = np.array([5.0, 4.0, 6.0]), np.zeros(4)
    assert preferred(own, unknown) == 1
    assert preferred(np.array([5.0, 4.0, 4.0 + 1e-10]), unknown) == 2  # a tie: who trusts more
    mean = np.array([0.1, 0.2, 0.1, 1.0])  # the last is no score
    assert preferred(own, mean) == (0 if PRIOR_EVENTS * 0.1 > 1.0 else 1)
    assert preferred(1000.0 * own, mean) == 1
