"""A client's inverse after a million rank-one updates: still right to 1e-8.

Arms that span all dimensions hide what goes wrong: every direction is soon known so well that its
errors shrink. In directions never tried V(lambda) stays at lambda beside eigenvalues of 1e5, and
there errors stay for good.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest

import incfed
from incfed.kernels.client import REFRESH
from incfed.kernels.store import AGE, DENSE, thin_limit
from incfed.simulation import Simulation
from reference.mechanisms import FloatArray

STEPS = 1_000_000
RIGHT = 1e-8


class Steps(NamedTuple):
    items: FloatArray  # [M, d] of length 1
    ids: np.ndarray  # [T] which one at each step
    outside: FloatArray  # a direction that no item has, or just any one

    def V(self, ridge: float) -> FloatArray:
        """V(lambda), each item's x x' taken times its count: nothing to accumulate."""
        times = np.bincount(self.ids, minlength=len(self.items))
        d = self.items.shape[1]
        return np.asarray((self.items.T * times) @ self.items + ridge * np.eye(d))


def million(dim: int, rank: int) -> Steps:
    chance = np.random.default_rng([dim, rank])
    basis = np.linalg.qr(chance.standard_normal((dim, dim)))[0]  # no axis is special
    items = chance.standard_normal((500, rank)) @ basis[:rank]
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    return Steps(items, chance.integers(0, 500, STEPS), basis[-1])


def off_identity(inverse: FloatArray, V: FloatArray) -> float:
    """max |L'V^-1 L - I| for V = L L': every direction on its own scale."""
    L = np.linalg.cholesky(V)
    return float(np.abs(L.T @ inverse @ L - np.eye(len(V))).max())


def off_width(inverse: FloatArray, V: FloatArray, x: FloatArray) -> float:
    """Relative error of x'V^-1 x."""
    width = np.sum(np.linalg.solve(np.linalg.cholesky(V), x) ** 2)
    return float(abs(x @ inverse @ x / width - 1.0))


@pytest.mark.parametrize(
    ("dim", "rank", "ridge"), [(10, 10, 0.1), (10, 5, 0.1), (25, 12, 0.1), (25, 12, 2.0)]
)
def test_a_million_updates_of_one_client(dim: int, rank: int, ridge: float) -> None:
    steps = million(dim, rank)
    trace = incfed.Trace(
        np.zeros(STEPS, int), steps.ids[:, None], np.zeros((STEPS, 1)), items=steps.items
    )
    run = Simulation(trace, incfed.Independent(ridge=ridge))
    run.advance(STEPS)
    store = run._run.store
    row = store.table[0]
    assert row[AGE] == (STEPS - thin_limit(dim)) % REFRESH, "made afresh by its own updates alone"
    assert REFRESH < 1000
    U = store.blocks[row[DENSE], 0]
    V = store.blocks[row[DENSE], 1:].sum(axis=0) + ridge * np.eye(dim)
    inverse = U.T @ U
    assert np.abs(U @ V @ U.T - np.eye(dim)).max() <= RIGHT
    assert off_identity(inverse, V) <= RIGHT
    assert off_width(inverse, V, steps.items[0]) <= RIGHT
    assert off_width(inverse, V, steps.outside) <= RIGHT
    assert off_width(inverse, V, steps.items[0] + steps.outside) <= RIGHT
    assert store.logdet[0, 0] == pytest.approx(np.linalg.slogdet(V)[1], abs=RIGHT)


@numba.njit  # type: ignore[untyped-decorator]
def sherman_morrison(inverse: FloatArray, items: FloatArray, ids: np.ndarray) -> None:
    d = items.shape[1]
    v = np.empty(d)
    for t in ids:
        x = items[t]
        scale = 1.0
        for i in range(d):
            v[i] = 0.0
            for j in range(d):
                v[i] += inverse[i, j] * x[j]
            scale += v[i] * x[i]
        for i in range(d):
            for j in range(d):
                inverse[i, j] -= v[i] * v[j] / scale


def test_a_plainly_updated_inverse_is_not_good_enough() -> None:
    # So the measure above can tell. With arms of all dimensions it could not.
    errors = []
    for rank in (10, 5):
        steps = million(10, rank)
        inverse = np.eye(10) / 0.1
        sherman_morrison(inverse, steps.items, steps.ids)
        errors.append(off_identity(inverse, steps.V(0.1)))
    assert errors[0] < RIGHT < errors[1]
