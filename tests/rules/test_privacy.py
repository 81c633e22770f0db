"""The noise of differential privacy: against its definition, and what coordinators check."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.protocol.checks import MessageBounds, check_delivery, check_upload
from incfed.protocol.messages import Upload
from incfed.protocol.packing import pack_matrix
from incfed.rules.privacy import (
    SENSITIVITY,
    Noise,
    Privacy,
    build_privacy,
    gaussian_delta,
    gaussian_scale,
    secret_normals,
)
from incfed.types import Floats


def unit(rng: np.random.Generator, *shape: int) -> Floats:
    x = rng.standard_normal(shape)
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


# ------------------------------------------------------------------------------- calibration


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 8.0, 20.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-9])
def test_the_noise_has_the_guarantee_by_definition(epsilon: float, delta: float) -> None:
    # The largest of P(S) - e^epsilon Q(S) over all sets S is the integral of (p - e^epsilon q)+
    # for two normal densities that are a sensitivity of 1 apart.
    scale = gaussian_scale(epsilon, delta)
    grid = np.linspace(-40 * scale, 40 * scale + 1, 2_000_001)
    p, q = (
        np.exp(-0.5 * ((grid - at) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))
        for at in (0.0, 1.0)
    )
    excess = np.maximum(p - math.exp(epsilon) * q, 0.0)
    measured = float(excess.sum() * (grid[1] - grid[0]))
    assert measured == pytest.approx(delta, rel=1e-4)


def test_a_known_value_and_the_ends_of_the_range() -> None:
    assert gaussian_scale(1.0, 1e-5) == pytest.approx(3.7306, abs=1e-4)
    for epsilon in (0.01, 100.0):
        for delta in (1e-15, 0.1):
            scale = gaussian_scale(epsilon, delta)
            assert gaussian_delta(epsilon, scale) <= delta < gaussian_delta(epsilon, 0.999 * scale)


@given(st.floats(0.01, 100), st.floats(1e-15, 0.1))
def test_less_noise_would_not_do(epsilon: float, delta: float) -> None:
    scale = gaussian_scale(epsilon, delta)
    assert gaussian_delta(epsilon, scale) <= delta
    assert gaussian_delta(epsilon, 0.999 * scale) > delta


def test_the_sensitivity_is_reached_and_never_exceeded() -> None:
    rng, most = np.random.default_rng(0), 0.0
    for dim in (1, 2, 5):
        x, z = unit(rng, 20_000, dim), unit(rng, 20_000, dim)
        x *= rng.uniform(0.5, 1.0, (20_000, 1)) ** 0.2
        y, w = rng.choice([-1.0, 1.0, 0.3], (2, 20_000))
        outer = np.einsum("ni,nj->nij", x, x) - np.einsum("ni,nj->nij", z, z)
        step = x * y[:, None] - z * w[:, None]
        moved = np.sqrt((outer**2).sum((1, 2)) + (step**2).sum(1))
        most = max(most, float(moved.max()))
    assert most <= SENSITIVITY
    x, z = np.array([1.0, 0.0]), np.array([0.5, math.sqrt(0.75)])  # at 60 degrees, by hand
    outer = np.outer(x, x) - np.outer(z, z)
    assert math.hypot(*outer.ravel(), *(x + z)) == pytest.approx(SENSITIVITY)


def test_the_noise_is_the_same_in_every_direction() -> None:
    # Along any symmetric matrix of Frobenius norm 1, and any unit vector, the same deviation.
    privacy, rng = Privacy(2.0, arm_norm=3.0, reward_bound=0.5), np.random.default_rng(1)
    drawn = [privacy.noise(3, rng.standard_normal) for _ in range(20_000)]
    V, b = np.array([one.V for one in drawn]), np.array([one.b for one in drawn])
    np.testing.assert_array_equal(V, V.transpose(0, 2, 1))
    for direction in (np.eye(3) / math.sqrt(3), np.outer([1, 0, 0], [1, 0, 0]), *_symmetric(rng)):
        along = np.einsum("nij,ij->n", V, direction)
        assert along.std() == pytest.approx(9.0 * privacy.sigma, rel=0.03)
    assert (b @ unit(rng, 3)).std() == pytest.approx(1.5 * privacy.sigma, rel=0.03)


def _symmetric(rng: np.random.Generator) -> list[Floats]:
    found = []
    for _ in range(3):
        one = rng.standard_normal((3, 3))
        found.append((one + one.T) / np.linalg.norm(one + one.T))
    return found


def test_secret_normals_are_normal() -> None:
    drawn = secret_normals(100_000)
    assert abs(drawn.mean()) < 0.02
    assert drawn.std() == pytest.approx(1.0, rel=0.02)
    assert (np.abs(drawn) < 1.0).mean() == pytest.approx(0.6827, abs=0.01)
    assert not np.array_equal(drawn, secret_normals(100_000))


def test_several_events_of_one_person() -> None:
    privacy = Privacy(1.0)
    assert privacy.epsilon_of(1) == pytest.approx(1.0)
    assert 2.0 < privacy.epsilon_of(2) < 2.5  # a little more than twice, at the same delta
    scale = gaussian_scale(1.0, 1e-5) / 10
    assert gaussian_delta(privacy.epsilon_of(10), scale) == pytest.approx(1e-5, rel=1e-6)


# ---------------------------------------------------------------------- what is made of it


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 80),
    st.sampled_from([0.1, 1.0, 8.0]),
    st.sampled_from([0.2, 1.0, 5.0]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_honest_noisy_uploads_pass_the_checks(
    seed: int, dim: int, steps: int, epsilon: float, L: float, length: float
) -> None:
    rng, Y = np.random.default_rng(seed), 2.0
    X, y = length * L * unit(rng, steps, dim), rng.uniform(-Y, Y, steps)
    privacy = Privacy(epsilon, arm_norm=L, reward_bound=Y)
    noise = privacy.noise(dim, rng.standard_normal)
    V, b = privacy.plausible(X.T @ X + noise.V, X.T @ y + noise.b, steps)
    assert np.linalg.matrix_rank(V, tol=1e-9 * (1 + np.trace(V))) <= steps
    assert np.linalg.eigvalsh(V)[0] >= -1e-12 * (1.0 + np.trace(V))
    limits, dV = MessageBounds(dim, L, Y, 1.0), pack_matrix(V)
    check_upload(Upload(1, 0, steps, 0.0, dV), limits)
    check_delivery(b, dV, steps, limits)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(5, 60))
def test_possible_sums_are_left_as_they_are(seed: int, dim: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = 0.9 * unit(rng, steps, dim), rng.uniform(-0.9, 0.9, steps)
    V, b = Privacy(1.0).plausible(X.T @ X, X.T @ y, steps)
    np.testing.assert_allclose(V, X.T @ X, atol=1e-9)
    np.testing.assert_allclose(b, X.T @ y, atol=1e-9)


def test_nothing_nearer_is_possible() -> None:
    # By brute force, in two dimensions: no pair of eigenvalues, no db comes closer.
    privacy, V, b, steps = Privacy(1.0), np.diag([6.0, -3.0]), np.array([5.0, -2.0]), 4
    made, db = privacy.plausible(V, b, steps)
    np.testing.assert_allclose(made, np.diag([3.0, 0.0]))  # a trace of 6 - 3, all in one direction
    np.testing.assert_allclose(db, [math.sqrt(12.0), 0.0])  # db^2 / 3 = 4 rewards of 1
    made, db = privacy.plausible(np.diag([3.0, 1.0]), np.array([4.0, 2.0]), steps)
    grid = np.linspace(-4, 4, 801)
    first, second = np.meshgrid(grid, grid)
    inside = first**2 / 3.0 + second**2 <= 4.0
    distance = np.where(inside, np.hypot(first - 4.0, second - 2.0), np.inf)
    assert math.dist(db, (4.0, 2.0)) <= distance.min()
    assert distance.min() - math.dist(db, (4.0, 2.0)) < 0.02


def test_it_takes_away_noise() -> None:
    rng, privacy = np.random.default_rng(3), Privacy(1.0)
    X = unit(rng, 40, 5)
    V, b = X.T @ X, X.T @ np.ones(40)
    drawn = [privacy.noise(5, rng.standard_normal) for _ in range(200)]
    made = [privacy.plausible(V + one.V, b + one.b, 40) for one in drawn]
    noise = np.mean([[np.linalg.norm(one.V), np.linalg.norm(one.b)] for one in drawn], axis=0)
    left = np.mean([[np.linalg.norm(W - V), np.linalg.norm(c - b)] for W, c in made], axis=0)
    assert (left < [0.8, 1.0] * noise).all()


# -------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epsilon": 0.0}, "epsilon: got 0.0, must be a number from 0.01 to 100"),
        ({"epsilon": math.inf}, "epsilon: got inf"),
        ({"epsilon": "4"}, "epsilon: got '4'"),
        ({"epsilon": 1, "delta": 0.5}, "delta: got 0.5, must be a number from 1e-15 to 0.1"),
        ({"epsilon": 1, "arm_norm": 0.0}, "arm_norm: got 0.0, must be a number from 0 to"),
        ({"epsilon": 1, "reward_bound": -1.0}, "reward_bound: got -1.0"),
    ],
)
def test_settings_that_are_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(incfed.InputError) as refused:
        Privacy(**given)
    assert str(refused.value).startswith(said)


def test_tables_of_a_config() -> None:
    assert build_privacy({"epsilon": 4}, "algorithm[1].privacy") == Privacy(4.0)
    with pytest.raises(incfed.InputError, match=r"algorithm\[1\].privacy.epsilon: is missing"):
        build_privacy({}, "algorithm[1].privacy")
    with pytest.raises(incfed.InputError, match=r"algorithm\[1\].privacy.eps: .*did you mean"):
        build_privacy({"eps": 4}, "algorithm[1].privacy")
    with pytest.raises(incfed.InputError, match=r"algorithm\[1\].privacy.delta: got 2"):
        build_privacy({"epsilon": 4, "delta": 2}, "algorithm[1].privacy")


def test_what_is_stricter() -> None:
    assert Privacy(1.0).within(Privacy(4.0))
    assert Privacy(4.0).within(Privacy(4.0))
    assert not Privacy(8.0).within(Privacy(4.0))
    assert not Privacy(1.0, delta=1e-4).within(Privacy(4.0))


def test_noise_adds_up() -> None:
    one = Noise(np.eye(2), np.ones(2))
    twice = Noise.none(2).plus(one).plus(one)
    np.testing.assert_array_equal(twice.V, 2 * np.eye(2))
    np.testing.assert_array_equal(twice.b, [2.0, 2.0])
