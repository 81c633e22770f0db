"""Scores of arms and their order, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.kernels import ucb
from incfed.kernels.ucb import (
    Rules,
    add_confidence,
    bench,
    choose_dense,
    confidence,
    most_hopeful,
    rivals,
)
from support.kernels import callable_kernel, factor, made

lowest = callable_kernel(ucb.lowest)


@pytest.mark.parametrize("arms", range(1, 10))
@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 8, 25])
def test_scores(d: int, arms: int) -> None:
    V, full = made(d, 0.1)
    U, _ = factor(V, 0.1)
    chance = np.random.default_rng([d, arms])
    items, rewards = chance.standard_normal((20, d)), chance.standard_normal(d)
    ids = chance.permutation(20)[:arms]
    x, theta = items[ids], np.linalg.solve(full, rewards)
    widths = np.einsum("kd,dk->k", x, np.linalg.solve(full, x.T))
    z, scores = np.empty((arms, d)), np.empty(arms)
    for alpha in (0.0, 0.7):
        choice = choose_dense(items, ids, np.arange(arms), U, U @ rewards, alpha, z, scores)
        expected = x @ theta + alpha * np.sqrt(widths)
        np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(z, x @ U.T, rtol=1e-8, atol=1e-9)
        assert choice == np.flatnonzero(scores >= scores.max() - 1e-9)[0]


@given(st.lists(st.sampled_from([0.0, 1.0, 1.0 - 5e-10, 1.0 - 2e-9, 1.0 + 5e-10]), min_size=1))
def test_ties_go_to_the_lowest_index(values: list[float]) -> None:
    scores = np.array(values)
    assert lowest(scores, scores.max()) == np.flatnonzero(scores >= scores.max() - 1e-9)[0]


def test_the_width_counts_alpha_times_its_root() -> None:
    b = bench(1, 3, 1)
    b.score[:], b.width[:] = [1.0, 0.0, 0.5], [0.0, 0.81, -1e-18]  # rounding below 0 is 0
    b.runners[:] = b.places
    assert add_confidence(1.2, 2, 0.3, b) == pytest.approx(1.08)
    assert add_confidence(0.0, 3, 1.3, b) == 1.3
    np.testing.assert_allclose(b.score, [1.0, 1.08, 0.5])


def test_the_most_hopeful_arm_and_its_rivals() -> None:
    # theta = 1; what is known of the items' widths: 1, 2, nothing, 0.1
    b = bench(1, 4, 4)
    b.known[:] = [1.0, 2.0, np.inf, 0.1]
    items, one = np.array([[0.0], [-1.5], [9.0], [1.0]]), np.ones((1, 1))
    for arms, top, others in (([0, 1, 3], 2, [0]), ([3, 2, 0], 1, [0, 2]), ([0, 0], 0, [1])):
        ids = np.array(arms)
        assert most_hopeful(items, ids, one, one[0], 1.0, b) == 1  # at most 1.0, 0.5, inf, 1.1
        assert (b.runners[0], b.entries[0]) == (top, ids[top])
        b.upper[top] = -np.inf  # its score is known now
        n = rivals(ids, 0.75, b)
        assert b.runners[:n].tolist() == others
        assert b.entries[:n].tolist() == ids[others].tolist()


def test_confidence() -> None:
    # Eq. 2: sigma sqrt(log(det V / lambda^d) + 2 log(1/delta)) + sqrt(lambda)
    logdet = 3 * np.log(0.25) + 5.0
    rules = Rules(0.25, 0.1, 4.0, np.nan, False, np.inf, True, 1)
    assert confidence(logdet, 3, rules) == pytest.approx(0.1 * 3.0 + 0.5)
    assert confidence(logdet, 3, rules._replace(exploration=0.7)) == 0.7
    # the method of mixtures: sqrt(sigma^2 (log(det V / lambda^d) + 2 log(1/delta)) + lambda)
    mixture = confidence(logdet, 3, rules._replace(mixture=True))
    assert mixture == pytest.approx(np.sqrt(0.01 * 9.0 + 0.25))
