"""What `choose` and `learn` are given, made sure of before anything is changed, in microseconds.

What is as it should be is found out by two comparisons (what is not a number fails them too);
whatever else it is goes the long way, to be made an array or refused by name.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...kernels.factor import Floats
from ...support import inputs
from .keeper import Keeper

SLACK = 1.0 + 1e-12  # of a squared length: a vector scaled to the limit may be off by rounding


class Intake:
    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def arms(self, arms: ArrayLike) -> Floats:
        """[K, d], a copy of its own."""
        terms = self._keeper.terms
        if not (isinstance(arms, np.ndarray) and arms.dtype.char == "d" and arms.ndim == 2):
            arms = self._rows(arms)
        if not len(arms) or arms.shape[1] != terms.dim:
            allowed = f"finite numbers [K, {terms.dim}], at least one arm"
            raise inputs.refuse("arms", f"an array of shape {arms.shape}", allowed)
        rows = np.array(arms, np.float64, order="C")
        squares = np.einsum("kd,kd->k", rows, rows)
        if not squares.max() <= terms.arm_norm**2 * SLACK:
            k = int(squares.argmax())
            raise self._too_long(f"arms[{k}]", self._rows(rows)[k])
        return rows

    def step(self, arm: ArrayLike, reward: float) -> tuple[Floats, float]:
        """x [d], a copy of its own, and y."""
        terms = self._keeper.terms
        if not (isinstance(arm, np.ndarray) and arm.dtype.char == "d" and arm.ndim == 1):
            allowed = inputs.counted(terms.dim, "finite number")
            arm = inputs.array("arm", arm, ndim=1, allowed=allowed)
        if len(arm) != terms.dim:
            allowed = inputs.counted(terms.dim, "finite number")
            raise inputs.refuse("arm", f"an array of shape {arm.shape}", allowed)
        x = np.array(arm, np.float64, order="C")
        if not np.einsum("d,d->", x, x) <= terms.arm_norm**2 * SLACK:
            raise self._too_long("arm", inputs.array("arm", x, ndim=1))
        bound = terms.reward_bound
        if not (type(reward) is float and -bound <= reward <= bound):
            reward = inputs.number("reward", reward, low=-bound, high=bound)
        return x, reward

    def _rows(self, arms: ArrayLike) -> Floats:
        allowed = f"finite numbers [K, {self._keeper.terms.dim}], at least one arm"
        return inputs.array("arms", arms, ndim=2, allowed=allowed)

    def _too_long(self, name: str, x: Floats) -> inputs.InputError:
        length = f"a vector of length {math.hypot(*x.tolist())!r}"
        return inputs.refuse(name, length, f"at most {self._keeper.terms.arm_norm!r} long")
