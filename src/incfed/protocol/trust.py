"""The models of one client that trusts others only so far; kernels/trust.py has the formulas."""

from __future__ import annotations

import numpy as np

from ..kernels.factor import update
from ..kernels.trust import GRID, SCORES, personalize, preferred, squared_error
from ..rules.learning import AUTO
from ..types import Arrays, Floats


class Models:
    """One model; or with "auto" one for each value of trust, to choose with the best of them."""

    def __init__(self, dim: int, ridge: float, trust: float | str) -> None:
        self.auto = trust == AUTO
        self._values = np.array(GRID if self.auto else [trust], np.float64)
        self._ridge = ridge
        count = len(self._values)
        self._U, self._t = np.empty((count, dim, dim)), np.empty((count, dim))
        self._logdet = np.empty(count)
        self._places, self._scratch = np.arange(dim), np.empty((2 * dim + 3, dim))

    def renew(self, V_o: Floats, b_o: Floats, V: Floats, b: Floats, norm: float) -> None:
        """From what others shared, and all own data; `norm`: the mean squared one of arms."""
        for g, value in enumerate(self._values):
            scaled = value * norm if self.auto and 0.0 < value < np.inf else value
            self._logdet[g] = personalize(
                V_o, b_o, V, b, scaled, self._ridge, self._places, self._scratch,
                self._U[g], self._t[g],
            )  # fmt: skip

    def learn(self, x: Floats, y: float) -> Floats | float:
        """Add an observation; returns its scores, if models are compared."""
        p, v = self._scratch[0], self._scratch[1]
        scores = np.ones(SCORES)
        for g in range(len(self._values)):
            U, t = self._U[g], self._t[g]
            if self.auto:
                scores[g] = squared_error(x, y, U, t, p)
            self._logdet[g] += np.log1p(update(U, x, y, t, p, v))
        return scores if self.auto else 0.0

    def best(self, scores: Floats, known: Floats) -> tuple[Floats, Floats, float]:
        """U, t and log det to choose with, by the scores of all own data and those downloaded."""
        g = preferred(scores[:-1], known) if self.auto else 0
        return self._U[g], self._t[g], float(self._logdet[g])

    def state(self) -> Arrays:
        """Their arrays, from which `restore` goes on."""
        dim = self._t.shape[1]
        return {"models.U": self._U.reshape(-1, dim), "models.t": self._t,
                "models.logdet": self._logdet}  # fmt: skip

    def restore(self, state: Arrays) -> None:
        self._U[:] = state["models.U"].reshape(self._U.shape)
        self._t[:], self._logdet[:] = state["models.t"], state["models.logdet"]


def state_of(models: Models | None, dim: int) -> Arrays:
    """Of a client with these models, or none."""
    if models is not None:
        return models.state()
    nothing = np.empty((0, dim))
    return {"models.U": nothing, "models.t": nothing, "models.logdet": np.empty(0)}
