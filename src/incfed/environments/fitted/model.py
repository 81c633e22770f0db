"""The model behind a fitted world: clients whose parameters vary around a common one.

Rewards of client i are y = x'theta_i + noise of variance s2, with theta_i ~ N(theta, tau2 I) and
theta ~ N(0, m2 I). x has an intercept as its last feature, whose common part has a flat prior and
whose variance between clients is its own, c^2 tau2: clients that are clicked equally often may have
different tastes. The intercept is c instead of 1, and so all of theta_i varies by the same tau2.
The variances are those of maximum evidence.

With G_i = sum w x x' = U_i diag(g) U_i' of client i and p = U_i' sum w x y, all that the fit needs
of the clients is their eigenvectors side by side, B = [U_1 U_2 ...], and g and p. In terms of the
ratios rho = tau2 / s2 and mu = m2 / s2:

    P = diag(1/mu, ..., 1/mu, 0) + B diag(g / (1 + rho g)) B'       q = B (p / (1 + rho g))
    -2 log evidence = n' log s2 + sum log(1 + rho g) + d log mu + log det P
                      + (sum w y^2 - sum rho p^2 / (1 + rho g) - q'P^-1 q) / s2 - log c^2 + constant

where n' = n - 1 because of the flat prior, which is flat in units of 1 and not of c; the best s2 is
the bracket over n'.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...types import Floats, Ints

# Ratios of variances that are tried, times the mean square of a feature. rho = 0: all clients are
# alike. The smallest mu: features say nothing.
RHOS = np.concatenate([[0.0], np.geomspace(1e-6, 1e3, 19)])
MUS = np.geomspace(1e-8, 1e6, 113)
INTERCEPTS = np.geomspace(1e-2, 1e2, 9)  # c, times the root of the mean square of a feature
REFINED = 8  # times that the interval around the best ratio is halved
RANK = 1e-10  # singular values below this share of the largest are rounding
EXACT = 1e-12  # of the mean square of rewards: the least s2, where a model fits exactly
TIE = 1e-6  # of -2 log evidence: as good, and the smaller variance counts; rounding must not decide


class Spectrum(NamedTuple):
    """The eigenvectors of all clients' sums of x x', side by side."""

    vectors: Floats  # [d + 1, R]  B
    values: Floats  # [R]  g
    products: Floats  # [R]  p
    owner: Ints  # [R]  whose eigenvector it is, ascending


@dataclass(frozen=True)
class Sums:
    """Weighted sums of observations. Of each client they are a triangle R and a vector t with
    R'R = sum w x x' and R't = sum w x y: the sums themselves would lose half the digits."""

    clients: tuple[tuple[int, Floats, Floats], ...]  # who, R [r, d + 1], t [r]
    squares: float  # sum w y^2
    weight: float  # sum w
    count: int  # N
    intercept: float = 1.0  # c

    @classmethod
    def of(cls, clients: Ints, x: Floats, y: Floats, weights: Floats, count: int) -> Sums:
        """The sums of observations x [n, d] and y [n] of clients 0 to count - 1."""
        order = np.argsort(clients, kind="stable")
        bounds = np.searchsorted(clients[order], np.arange(count + 1))
        parts = []
        for client in range(count):
            if len(rows := order[bounds[client] : bounds[client + 1]]):
                root = np.sqrt(weights[rows])
                turn, triangle = np.linalg.qr(
                    np.column_stack([x[rows], np.ones(len(rows))]) * root[:, None]
                )
                parts.append((client, triangle, turn.T @ (root * y[rows])))
        return cls(tuple(parts), float(weights @ (y * y)), float(weights.sum()), count)

    @property
    def dim(self) -> int:
        """d, without the intercept."""
        return int(self.clients[0][1].shape[1]) - 1

    @cached_property
    def unit(self) -> float:
        """The mean square of a feature."""
        squares = sum(float(np.square(triangle[:, :-1]).sum()) for _, triangle, _ in self.clients)
        return squares / (self.weight * self.dim) or 1.0

    @cached_property
    def spectrum(self) -> Spectrum:
        scale = np.append(np.ones(self.dim), self.intercept)
        parts = []
        for client, triangle, target in self.clients:
            left, singular, right = np.linalg.svd(triangle * scale, full_matrices=False)
            kept = singular > RANK * singular[0]
            products = singular * (left.T @ target)
            parts.append((client, right[kept].T, singular[kept] ** 2, products[kept]))
        return Spectrum(
            vectors=np.concatenate([vectors for _, vectors, _, _ in parts], axis=1),
            values=np.concatenate([values for _, _, values, _ in parts]),
            products=np.concatenate([products for _, _, _, products in parts]),
            owner=np.repeat([part[0] for part in parts], [len(part[2]) for part in parts]),
        )


@dataclass(frozen=True)
class Model:
    """The variances of maximum evidence, and the posterior that they give."""

    sums: Sums
    noise: float  # s2
    spread: float  # tau2: of clients around the common parameter, but for the intercept
    size: float  # m2: of the common parameter around 0
    score: float  # -2 log evidence, without its constant

    @classmethod
    def fit(cls, sums: Sums, noise: float | None = None) -> Model:
        """The model of maximum evidence; `noise`: s2, where it is known."""

        def at(intercept: float) -> Model:
            scaled = replace(sums, intercept=intercept)
            return _least(lambda rhos: _models(scaled, rhos, noise), RHOS / sums.unit)

        return _least(lambda tried: [at(c) for c in tried], INTERCEPTS * np.sqrt(sums.unit))

    @cached_property
    def common(self) -> Floats:
        """The posterior mean of theta, its intercept last. [d + 1]"""
        return self._posterior[0] * self._scale

    @cached_property
    def means(self) -> Floats:
        """The posterior mean of each theta_i. [N, d + 1]"""
        return self._given(self._posterior[0]) * self._scale

    @property
    def disagreement(self) -> float:
        """How far clients' parameters are from the common one, in units of its length."""
        length = float(np.linalg.norm(self.common[:-1]))
        away = float(np.sqrt(self.spread * self.sums.dim))
        return away / length if length else (np.inf if away else 0.0)

    def predict(self, clients: Ints, x: Floats) -> Floats:
        """x'theta_i of each observation, by posterior means. [n]"""
        theta = self.means[clients]
        return np.asarray(np.einsum("nd,nd->n", x, theta[:, :-1]) + theta[:, -1])

    def draw(self, chance: np.random.Generator, more: int = 0) -> Floats:
        """theta_i of each client, drawn from the posterior, and of `more` new ones. [N + more,
        d + 1]"""
        mean, root = self._posterior
        theta = mean + root @ chance.standard_normal(len(mean))
        normal = np.sqrt(self.spread) * chance.standard_normal((self.sums.count, len(mean)))
        new = theta + np.sqrt(self.spread) * chance.standard_normal((more, len(mean)))
        return np.concatenate([self._given(theta, normal), new]) * self._scale

    @property
    def intercept_spread(self) -> float:
        """The variance of clients' intercepts around the common one."""
        return self.spread * self.sums.intercept**2

    @property
    def _scale(self) -> Floats:
        """From parameters with the intercept c to those with the intercept 1. [d + 1]"""
        return np.append(np.ones(self.sums.dim), self.sums.intercept)

    @cached_property
    def _posterior(self) -> tuple[Floats, Floats]:
        """The mean of theta, and the symmetric root of its covariance (eigenvectors have signs);
        with the intercept c, as in `_given`."""
        [precision], [linear] = _common(self.sums, np.array([self.spread / self.noise]))
        prior = np.full(self.sums.dim + 1, self.noise / self.size)
        prior[-1] = 0.0
        values, vectors = np.linalg.eigh(precision + np.diag(prior))
        values = np.maximum(values, RANK**2 * values[-1])
        mean = vectors @ ((vectors.T @ linear) / values)
        return mean, (vectors * np.sqrt(self.noise / values)) @ vectors.T

    def _given(self, theta: Floats, normal: Floats | None = None) -> Floats:
        """theta_i given theta: their means or, with draws from N(0, tau2 I), draws. Along its
        eigenvectors a client is known by rho g / (1 + rho g)."""
        vectors, values, products, owner = self.sums.spectrum
        rho = self.spread / self.noise
        left = 1.0 / (1.0 + rho * values)  # of the variance tau2
        pull = rho * left * (products - values * (theta @ vectors))
        away = np.zeros((self.sums.count, len(theta))) if normal is None else normal
        pull += (np.sqrt(left) - 1.0) * np.einsum("dr,rd->r", vectors, away[owner])
        found = theta + away
        np.add.at(found, owner, (vectors * pull).T)
        return found


def _least(models: Callable[[list[float]], list[Model]], grid: Floats) -> Model:
    """The model with the most evidence, over a ratio of variances: on the grid, then between the
    best and its neighbours."""
    near: list[float] = grid.tolist()
    found = dict(zip(near, models(near), strict=True))
    for _ in range(REFINED):
        at = _first_best([found[ratio].score for ratio in near])
        best = near[at]
        low, high = near[max(at - 1, 0)], near[min(at + 1, len(near) - 1)]
        between = {_middle(low, best), _middle(best, high)}
        new = sorted(between - found.keys())
        found |= zip(new, models(new), strict=True)
        near = sorted({low, best, high, *between})
    tried = sorted(found)
    return found[tried[_first_best([found[ratio].score for ratio in tried])]]


def _middle(low: float, high: float) -> float:
    """Halfway on a log scale; there is nothing between 0 and the smallest ratio that is tried."""
    return high if low == 0.0 else float(np.sqrt(low * high))


def _first_best(scores: Sequence[float] | Floats) -> int:
    """The first score that is as good as the best."""
    return int(np.flatnonzero(np.asarray(scores) <= np.min(scores) + TIE)[0])


def _common(sums: Sums, rhos: Floats) -> tuple[Floats, Floats]:
    """P without its prior, and q, for each rho. [R, d + 1, d + 1], [R, d + 1]"""
    vectors, values, products, _ = sums.spectrum
    left = 1.0 / (1.0 + rhos[:, None] * values)
    return (vectors * (values * left)[:, None]) @ vectors.T, (products * left) @ vectors.T


def _models(sums: Sums, ratios: list[float], known: float | None) -> list[Model]:
    """The best model with each rho, over all mu at once: the eigenvectors of P do not depend on mu
    once the intercept, whose prior is flat, is eliminated."""
    rhos = np.array(ratios)
    _, grams, products, _ = sums.spectrum
    precision, linear = _common(sums, rhos)
    across, own = precision[:, :-1, -1], precision[:, -1, -1]
    inner = precision[:, :-1, :-1] - across[:, :, None] * (across / own[:, None])[:, None]
    values, vectors = np.linalg.eigh(inner)
    rest = linear[:, :-1] - across * (linear[:, -1] / own)[:, None]
    turned = np.einsum("rij,ri->rj", vectors, rest)
    alone = (
        sums.squares
        - (rhos[:, None] * products**2 / (1.0 + rhos[:, None] * grams)).sum(axis=1)
        - linear[:, -1] ** 2 / own
    )
    mus = MUS / sums.unit
    grown = np.maximum(values, 0.0)[:, :, None] + 1.0 / mus  # [R, d, mu]
    explained = (turned[:, :, None] ** 2 / grown).sum(axis=1)
    rests = np.maximum(alone[:, None] - explained, EXACT * sums.squares)
    degrees = max(sums.weight - 1.0, 1.0)
    noise = np.maximum(rests / degrees, np.finfo(float).tiny)
    if known is not None:
        noise = np.full_like(noise, known)
    scores = (
        degrees * np.log(noise) + rests / noise
        + np.log1p(rhos[:, None] * grams).sum(axis=1)[:, None]
        + np.log(own / sums.intercept**2)[:, None]
        + np.log(grown).sum(axis=1) + sums.dim * np.log(mus)
    )  # fmt: skip
    found = []
    for rho, score, s2 in zip(ratios, scores, noise, strict=True):
        at = _first_best(score)
        variance = float(s2[at])
        found.append(
            Model(sums, variance, rho * variance, float(mus[at]) * variance, float(score[at]))
        )
    return found
