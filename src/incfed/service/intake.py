"""What `choose` and `learn` are given, made sure of before anything is changed, in microseconds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import inputs
from ..kernels.factor import Floats
from .keeper import Keeper

SLACK = 1.0 + 1e-12  # of a squared length: a vector scaled to the limit may be off by rounding


class Intake:
    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper

    def arms(self, arms: ArrayLike) -> Floats:
        """[K, d], a copy of its own."""
        dim = self._keeper.terms.dim
        allowed = f"finite numbers [K, {dim}], at least one arm"
        rows = inputs.array("arms", arms, ndim=2, allowed=allowed)
        if not len(rows) or rows.shape[1] != dim:
            raise inputs.refuse("arms", f"an array of shape {rows.shape}", allowed)
        self._short("arms", rows)
        return rows

    def step(self, arm: ArrayLike, reward: float) -> tuple[Floats, float]:
        terms = self._keeper.terms
        allowed = f"{terms.dim} finite numbers"
        x = inputs.array("arm", arm, ndim=1, allowed=allowed)
        if len(x) != terms.dim:
            raise inputs.refuse("arm", f"an array of shape {x.shape}", allowed)
        self._short("arm", x[None])
        bound = terms.reward_bound
        return x, inputs.number("reward", reward, low=-bound, high=bound)

    def _short(self, name: str, rows: Floats) -> None:
        limit = self._keeper.terms.arm_norm
        squares = np.einsum("kd,kd->k", rows, rows)
        if not squares.max() <= limit * limit * SLACK:
            k = int(squares.argmax())
            where = name if name == "arm" else f"{name}[{k}]"
            length = float(np.linalg.norm(rows[k]))
            raise inputs.refuse(
                where, f"a vector of length {length:.12g}", f"at most {limit:g} long"
            )
