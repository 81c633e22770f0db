"""The model of a fitted world, against Gaussian algebra written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from incfed.environments.fitted.model import Model, Sums

COUNT, DIM, EVENTS = 5, 3, 60
FLAT = 1e6  # a prior variance that is as good as none


@pytest.fixture
def seen() -> tuple[Any, Any, Any, Any]:
    """Clients, features, rewards and weights."""
    rng = np.random.default_rng(0)
    clients = rng.integers(COUNT, size=EVENTS)
    x = rng.normal(size=(EVENTS, DIM))
    thetas = rng.normal(size=DIM) + 0.5 * rng.normal(size=(COUNT, DIM))
    noise = 0.3 * rng.normal(size=EVENTS)
    own = 0.7 + rng.normal(size=COUNT)
    y = own[clients] + np.einsum("nd,nd->n", x, thetas[clients]) + noise
    return clients, x, y, np.ones(EVENTS)


def variances(model: Model) -> list[float]:
    return [model.noise, model.spread, model.size, model.intercept_spread]


def literal(
    seen: tuple[Any, Any, Any, Any], s2: float, tau2: float, m2: float, intercept: float
) -> float:
    """-2 log evidence: the density of all rewards at once."""
    clients, x, y, weights = seen
    same = clients[:, None] == clients
    covariance = m2 * x @ x.T + FLAT + same * (tau2 * x @ x.T + intercept)
    covariance += s2 * np.diag(1 / weights)
    value = np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)
    return float(value)


def joint(seen: tuple[Any, Any, Any, Any], model: Model) -> tuple[Any, Any]:
    """Mean and covariance of (theta, theta_1, ..., theta_N), from their joint precision."""
    clients, x, y, weights = seen
    full, size = np.column_stack([x, np.ones(len(x))]), DIM + 1
    precision, linear = np.zeros(((COUNT + 1) * size,) * 2), np.zeros((COUNT + 1) * size)
    own = np.diag([1 / model.spread] * DIM + [1 / model.intercept_spread])
    precision[:size, :size] = np.diag([1 / model.size] * DIM + [0.0]) + COUNT * own
    for client in range(COUNT):
        at = slice((client + 1) * size, (client + 2) * size)
        some = clients == client
        weighted = full[some].T * weights[some] / model.noise
        precision[at, at] = own + weighted @ full[some]
        precision[:size, at] = precision[at, :size] = -own
        linear[at] = weighted @ y[some]
    covariance = np.linalg.inv(precision)
    return covariance @ linear, covariance


def test_the_fit_has_the_most_evidence(seen: tuple[Any, Any, Any, Any]) -> None:
    model = Model.fit(Sums.of(*seen, COUNT))
    found = variances(model)
    best = literal(seen, *found)
    for place in range(4):
        for factor in (0.5, 0.8, 1.25, 2.0):
            other = list(found)
            other[place] *= factor
            assert literal(seen, *other) > best
    # the score is the evidence up to a constant, also away from the best
    louder = Model.fit(Sums.of(*seen, COUNT), noise=0.2)
    apart = literal(seen, *variances(louder)) - best
    # FLAT is not quite flat
    assert louder.score - model.score == pytest.approx(apart, rel=1e-4)


def test_a_weight_is_a_number_of_copies(seen: tuple[Any, Any, Any, Any]) -> None:
    clients, x, y, _ = seen
    copies = np.random.default_rng(5).integers(1, 4, EVENTS)
    weighted = Model.fit(Sums.of(clients, x, y, copies.astype(float), COUNT))
    who, rows, rewards = (np.repeat(column, copies, axis=0) for column in (clients, x, y))
    repeated = Model.fit(Sums.of(who, rows, rewards, np.ones(len(who)), COUNT))
    assert weighted.score == pytest.approx(repeated.score, rel=1e-9)
    np.testing.assert_allclose(weighted.means, repeated.means, rtol=1e-9)


def test_posterior_means_and_draws_are_those_of_the_joint_gaussian(
    seen: tuple[Any, Any, Any, Any],
) -> None:
    model = Model.fit(Sums.of(*seen, COUNT))
    mean, covariance = joint(seen, model)
    size = DIM + 1
    np.testing.assert_allclose(model.common, mean[:size], rtol=1e-9)
    np.testing.assert_allclose(model.means, mean[size:].reshape(COUNT, size), rtol=1e-9)
    chance = np.random.default_rng(1)
    draws = np.array([model.draw(chance)[:2].ravel() for _ in range(20_000)])
    two = slice(size, 3 * size)  # of two clients, which share what is common
    np.testing.assert_allclose(draws.mean(axis=0), mean[two], atol=0.01)
    np.testing.assert_allclose(np.cov(draws.T), covariance[two, two], atol=0.002)


def test_new_clients_are_drawn_around_what_is_common(seen: tuple[Any, Any, Any, Any]) -> None:
    model = Model.fit(Sums.of(*seen, COUNT))
    drawn = model.draw(np.random.default_rng(2), more=50_000)
    assert len(drawn) == COUNT + 50_000
    spread = np.cov(drawn[COUNT:].T)
    wanted = [*[model.spread] * DIM, model.intercept_spread]
    np.testing.assert_allclose(spread, np.diag(wanted), atol=0.05 * max(wanted))


def test_clients_that_are_alike_are_found_alike() -> None:
    rng = np.random.default_rng(3)
    clients, x = rng.integers(20, size=4000), rng.normal(size=(4000, 4))
    y = x @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=4000)
    model = Model.fit(Sums.of(clients, x, y, np.ones(4000), 20))
    assert model.disagreement < 0.1
    assert model.noise == pytest.approx(1.0, rel=0.1)
    np.testing.assert_allclose(model.common[:-1], [1.0, -1.0, 0.5, 0.0], atol=0.1)


def test_tastes_may_differ_where_rates_do_not_and_the_other_way_round() -> None:
    rng = np.random.default_rng(6)
    clients, x = rng.integers(20, size=8000), rng.normal(size=(8000, 4))
    tastes, rates = rng.normal(size=(20, 4)), rng.normal(size=20)
    noise = rng.normal(size=8000)
    for away, spread, own in ((1.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        taste = np.einsum("nd,nd->n", x, [1.0, -1.0, 0.5, 0.0] + away * tastes[clients])
        y = taste + own * rates[clients] + noise
        model = Model.fit(Sums.of(clients, x, y, np.ones(8000), 20))
        assert model.spread == pytest.approx(spread, abs=0.2)
        assert model.intercept_spread == pytest.approx(own, abs=0.5)
        assert model.intercept_spread < 0.01 or own


def test_rewards_that_are_all_the_same_need_no_noise() -> None:
    clients, x = np.arange(40) % 4, np.random.default_rng(4).normal(size=(40, 2))
    for reward in (0.0, 2.0):
        model = Model.fit(Sums.of(clients, x, np.full(40, reward), np.ones(40), 4))
        np.testing.assert_allclose(model.predict(clients, x), reward, atol=1e-6)
        assert np.isfinite(model.draw(np.random.default_rng(0))).all()


def test_a_client_without_events_is_like_any_new_one() -> None:
    clients = np.array([0, 0, 2, 2])
    x = np.array([[1.0], [2.0], [1.0], [3.0]])
    model = Model.fit(Sums.of(clients, x, x[:, 0], np.ones(4), 3))
    np.testing.assert_allclose(model.means[1], model.common, rtol=1e-9)
