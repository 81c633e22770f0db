"""The model behind a fitted world: clients whose parameters vary around a common one.

Rewards of client i are y = x'theta_i + noise of variance s2, with theta_i ~ N(theta, tau2 I) and
theta ~ N(0, m2 I). x has an intercept as its last feature, whose common part has a flat prior. The
three variances are those of maximum evidence.

With G_i = sum w x x' = U_i diag(g) U_i' of client i and c = U_i' sum w x y, all that the fit needs
of the clients is their eigenvectors side by side, B = [U_1 U_2 ...], and g and c. In terms of the
ratios rho = tau2 / s2 and mu = m2 / s2:

    P = diag(1/mu, ..., 1/mu, 0) + B diag(g / (1 + rho g)) B'       q = B (c / (1 + rho g))
    -2 log evidence = n' log s2 + sum log(1 + rho g) + d log mu + log det P
                      + (sum w y^2 - sum rho c^2 / (1 + rho g) - q'P^-1 q) / s2 + constant

where n' = n - 1 because of the flat prior; the best s2 is the bracket over n'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...types import Floats, Ints

# Ratios of variances that are tried, times the mean square of a feature. rho = 0: all clients are
# alike. The smallest mu: features say nothing.
RHOS = np.concatenate([[0.0], np.geomspace(1e-6, 1e3, 37)])
MUS = np.geomspace(1e-8, 1e6, 113)
REFINED = 12  # times that the interval around the best rho is halved
RANK = 1e-10  # singular values below this share of the largest are rounding
EXACT = 1e-12  # of the mean square of rewards: the least s2, where a model fits exactly
TIE = 1e-6  # of -2 log evidence: as good, and the smaller variance counts; rounding must not decide


@dataclass(frozen=True)
class Sums:
    """Weighted sums of observations, by the eigenvectors of each client's sum of x x'."""

    vectors: Floats  # [d + 1, R]  B
    values: Floats  # [R]  g
    products: Floats  # [R]  c
    owner: Ints  # [R]  whose eigenvector it is, ascending
    squares: float  # sum w y^2
    weight: float  # sum w
    count: int  # N

    @classmethod
    def of(cls, clients: Ints, x: Floats, y: Floats, weights: Floats, count: int) -> Sums:
        """The sums of observations x [n, d] and y [n] of clients 0 to count - 1."""
        order = np.argsort(clients, kind="stable")
        bounds = np.searchsorted(clients[order], np.arange(count + 1))
        parts = [
            (client, *_eigen(x[rows], y[rows], weights[rows]))
            for client in range(count)
            if len(rows := order[bounds[client] : bounds[client + 1]])
        ]
        return cls(
            vectors=np.concatenate([vectors for _, vectors, _, _ in parts], axis=1),
            values=np.concatenate([values for _, _, values, _ in parts]),
            products=np.concatenate([products for _, _, _, products in parts]),
            owner=np.repeat([part[0] for part in parts], [len(part[2]) for part in parts]),
            squares=float(weights @ (y * y)),
            weight=float(weights.sum()),
            count=count,
        )

    @property
    def dim(self) -> int:
        """d, without the intercept."""
        return len(self.vectors) - 1

    @cached_property
    def unit(self) -> float:
        """The mean square of a feature."""
        squares = np.square(self.vectors[:-1]).sum(axis=0) @ self.values
        return float(squares) / (self.weight * self.dim) or 1.0


def _eigen(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """U, g and c of one client, from its rows: their squares would lose half the digits."""
    root = np.sqrt(weights)
    rows = np.column_stack([x, np.ones(len(x))]) * root[:, None]
    left, singular, right = np.linalg.svd(rows, full_matrices=False)
    kept = singular > RANK * singular[0]
    return right[kept].T, singular[kept] ** 2, (singular * (left.T @ (root * y)))[kept]


@dataclass(frozen=True)
class Model:
    """The variances of maximum evidence, and the posterior that they give."""

    sums: Sums
    noise: float  # s2
    spread: float  # tau2: of clients around the common parameter
    size: float  # m2: of the common parameter around 0
    score: float  # -2 log evidence, without its constant

    @classmethod
    def fit(cls, sums: Sums, noise: float | None = None) -> Model:
        """The model of maximum evidence; `noise`: s2, where it is known."""
        found = {rho: _best_size(sums, rho, noise) for rho in (RHOS / sums.unit).tolist()}
        near = sorted(found)
        for _ in range(REFINED):
            at = _first_best([found[rho].score for rho in near])
            best = near[at]
            low, high = near[max(at - 1, 0)], near[min(at + 1, len(near) - 1)]
            between = [_middle(low, best), _middle(best, high)]
            found |= {rho: _best_size(sums, rho, noise) for rho in between if rho not in found}
            near = sorted({low, best, high, *between})
        tried = sorted(found)
        return found[tried[_first_best([found[rho].score for rho in tried])]]

    @cached_property
    def common(self) -> Floats:
        """The posterior mean of theta, its intercept last. [d + 1]"""
        return self._posterior[0]

    @cached_property
    def means(self) -> Floats:
        """The posterior mean of each theta_i. [N, d + 1]"""
        return self._given(self.common)

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
        return np.concatenate([self._given(theta, normal), new])

    @cached_property
    def _posterior(self) -> tuple[Floats, Floats]:
        """The mean of theta, and the symmetric root of its covariance (eigenvectors have signs)."""
        precision, linear = _common(self.sums, self.spread / self.noise)
        prior = np.full(self.sums.dim + 1, self.noise / self.size)
        prior[-1] = 0.0
        values, vectors = np.linalg.eigh(precision + np.diag(prior))
        values = np.maximum(values, RANK**2 * values[-1])
        mean = vectors @ ((vectors.T @ linear) / values)
        return mean, (vectors * np.sqrt(self.noise / values)) @ vectors.T

    def _given(self, theta: Floats, normal: Floats | None = None) -> Floats:
        """theta_i given theta: their means or, with draws from N(0, tau2 I), draws. Along its
        eigenvectors a client is known by rho g / (1 + rho g)."""
        sums, rho = self.sums, self.spread / self.noise
        left = 1.0 / (1.0 + rho * sums.values)  # of the variance tau2
        pull = rho * left * (sums.products - sums.values * (theta @ sums.vectors))
        away = np.zeros((sums.count, len(theta))) if normal is None else normal
        pull += (np.sqrt(left) - 1.0) * np.einsum("dr,rd->r", sums.vectors, away[sums.owner])
        found = theta + away
        np.add.at(found, sums.owner, (sums.vectors * pull).T)
        return found


def _middle(low: float, high: float) -> float:
    """Halfway on a log scale; there is nothing between 0 and the smallest ratio that is tried."""
    return high if low == 0.0 else float(np.sqrt(low * high))


def _first_best(scores: Sequence[float] | Floats) -> int:
    """The first score that is as good as the best."""
    return int(np.flatnonzero(np.asarray(scores) <= np.min(scores) + TIE)[0])


def _common(sums: Sums, rho: float) -> tuple[Floats, Floats]:
    """P without its prior, and q."""
    left = 1.0 / (1.0 + rho * sums.values)
    precision = (sums.vectors * (sums.values * left)) @ sums.vectors.T
    return precision, sums.vectors @ (sums.products * left)


def _best_size(sums: Sums, rho: float, known: float | None) -> Model:
    """The best model with this rho, over all mu at once: the eigenvectors of P do not depend on mu
    once the intercept, whose prior is flat, is eliminated."""
    precision, linear = _common(sums, rho)
    across, own = precision[:-1, -1], precision[-1, -1]
    values, vectors = np.linalg.eigh(precision[:-1, :-1] - np.outer(across, across) / own)
    turned = vectors.T @ (linear[:-1] - across * (linear[-1] / own))
    rest = (
        sums.squares
        - float((rho * sums.products**2 / (1.0 + rho * sums.values)).sum())
        - linear[-1] ** 2 / own
    )
    mus = MUS / sums.unit
    grown = np.maximum(values, 0.0)[:, None] + 1.0 / mus  # [d, mu]
    rests = np.maximum(rest - (turned[:, None] ** 2 / grown).sum(axis=0), EXACT * sums.squares)
    degrees = max(sums.weight - 1.0, 1.0)
    noise = np.maximum(rests / degrees, np.finfo(float).tiny)
    if known is not None:
        noise = np.full_like(noise, known)
    scores = (
        degrees * np.log(noise) + rests / noise
        + float(np.log1p(rho * sums.values).sum()) + np.log(own)
        + np.log(grown).sum(axis=0) + sums.dim * np.log(mus)
    )  # fmt: skip
    at = _first_best(scores)
    s2 = float(noise[at])
    return Model(sums, s2, rho * s2, float(mus[at]) * s2, float(scores[at]))
