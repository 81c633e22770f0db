"""Clients that trust others only so far, written out literally: sets of observations, inverses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reference.mechanisms import TOLERANCE, FloatArray

if TYPE_CHECKING:
    from reference.protocols import Observations

GRID = (0.0, 1.0, 3.0, 10.0, 30.0, np.inf)
SCORES = len(GRID) + 1  # that a client sends and gets, with the number of events


class Trust:
    """What each client makes of what it has. `trust`: one each, or "auto"."""

    def __init__(self, all: Observations, trust: float | str | FloatArray, count: int) -> None:
        self.all, self.auto = all, isinstance(trust, str)
        self.each = [np.inf] * count if self.auto else np.broadcast_to(trust, (count,)).tolist()
        self.own: list[set[int]] = [set() for _ in range(count)]
        self.score = np.zeros((count, len(GRID)))
        self.unsent = np.zeros((count, len(GRID)))
        self.pooled, self.events = np.zeros(len(GRID)), 0
        self.mean, self.norm = np.zeros((count, len(GRID))), np.ones(count)
        self.extra = SCORES if self.auto else 0

    def model(self, i: int, have: set[int], kappa: float) -> tuple[FloatArray, FloatArray]:
        """A and b of a client that has these observations, its own among them."""
        others, own, d = have - self.own[i], self.own[i], self.all.dim
        C: FloatArray = np.zeros((d, d))
        if kappa == np.inf:
            C = np.eye(d)
        elif kappa > 0.0:
            C = np.asarray(kappa * np.linalg.inv(self.all.V(others) + kappa * np.eye(d)), float)
        A = self.all.ridge * np.eye(d) + C @ self.all.V(others) + self.all.V(own)
        return A, C @ self.all.b(others) + self.all.b(own)

    def values(self, i: int) -> list[float]:
        if not self.auto:
            return [float(self.each[i])]
        return [float(one * self.norm[i]) if 0 < one < np.inf else one for one in GRID]

    def preferred(self, i: int) -> float:
        values = self.values(i)
        if not self.auto:
            return values[0]
        loss = self.score[i] + 50.0 * self.mean[i]
        return values[int(np.flatnonzero(loss <= loss.min() + TOLERANCE * (1 + loss.min()))[-1])]

    def choose(
        self, i: int, arms: FloatArray, have: set[int], noise: float, delta: float,
        exploration: float | None, width: str,
    ) -> int:  # fmt: skip
        A, b = self.model(i, have, self.preferred(i))
        d, ridge = self.all.dim, self.all.ridge
        information = max(0.0, float(np.linalg.slogdet(A)[1]) - d * float(np.log(ridge)))
        radius = information + 2.0 * np.log(1.0 / delta)
        alpha = noise * np.sqrt(radius) + np.sqrt(ridge)
        if width == "mixture":
            alpha = np.sqrt(noise**2 * radius + ridge)
        if exploration is not None:
            alpha = exploration
        inverse = np.linalg.inv(A)
        spread = np.sqrt(np.maximum(0.0, np.einsum("kd,kd->k", arms @ inverse, arms)))
        scores = arms @ (inverse @ b) + alpha * spread
        return int(np.flatnonzero(scores >= scores.max() - TOLERANCE)[0])

    def learn(self, i: int, have: set[int], step: int) -> None:
        """Before the step joins `have`: how far was each model off?"""
        for g, kappa in enumerate(self.values(i) if self.auto else []):
            A, b = self.model(i, have, kappa)
            off = self.all.y[step] - self.all.x[step] @ np.linalg.solve(A, b)
            self.score[i, g] += off**2
            self.unsent[i, g] += off**2
        self.own[i].add(step)

    def share(self, i: int, events: int) -> None:
        self.pooled += self.unsent[i]
        self.unsent[i] = 0.0
        self.events += events

    def download(self, i: int, server: set[int]) -> None:
        if self.events:
            self.mean[i] = self.pooled / self.events
            self.norm[i] = np.trace(self.all.V(server)) / self.events
