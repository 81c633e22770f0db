"""The paper's three formulas for the communication threshold D_c, also by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import errors, ranges
from ..rules.rounds import D_C
from ..values import Number, Whole


def high(*, steps: int, clients: int, dim: int) -> float:
    """T / (N d ln T): Table 1.

    >>> round(incfed.thresholds.high(steps=5000, clients=50, dim=25), 2)
    0.47
    """
    steps, clients, dim = _check(steps, clients, dim)
    return steps / (clients * dim * math.log(steps))


def low(*, steps: int, clients: int, dim: int) -> float:
    """T / (N^2 d ln T): Theorem 2 at beta = 1.

    >>> round(incfed.thresholds.low(steps=5000, clients=50, dim=25), 4)
    0.0094
    """
    return high(steps=steps, clients=clients, dim=dim) / clients


def theory(*, steps: int, clients: int, dim: int, beta: float, ridge: float) -> float:
    """Theorem 2: T / (N^2 d ln T) - sqrt(T^2 / (N^2 d R ln T)) ln beta.

    R = ceil(d ln(1 + T / (lambda d))); docs/paper.md, reading 12.

    >>> round(incfed.thresholds.theory(steps=5000, clients=50, dim=25, beta=0.7, ridge=0.1), 4)
    0.1863
    """
    beta = float(Number(0.0, 1.0, above=True).of("beta", beta))
    ridge = ranges.RIDGE.of("ridge", ridge)
    steps, clients, dim = _check(steps, clients, dim)
    base = low(steps=steps, clients=clients, dim=dim)
    rounds = math.ceil(dim * math.log1p(steps / (ridge * dim)))
    slack = math.sqrt(steps**2 / (clients**2 * dim * rounds * math.log(steps)))
    return base - slack * math.log(beta)


FORMULAS: dict[str, Callable[..., float]] = {
    formula.__name__: formula for formula in (high, low, theory)
}


def named(
    name: str, *, steps: int, clients: int, dim: int, beta: float | None, ridge: float | None
) -> float:
    """The value of the formula of this name; `beta`: of the mechanism, None if it has none."""
    known: dict[str, Any] = {"steps": steps, "clients": clients, "dim": dim}
    if D_C.of("threshold", name) == theory.__name__:
        if beta is None:
            allowed = "a number or a formula without beta: the mechanism has none"
            raise errors.refuse("threshold", name, allowed)
        known |= {"beta": beta, "ridge": ridge}
    try:
        return FORMULAS[name](**known)
    except errors.InputError as error:
        said = f"{name!r} cannot be computed: {error}"
        raise errors.InputError(said, "threshold") from None


def _check(steps: int, clients: int, dim: int) -> tuple[int, int, int]:
    """Convert to Python integers: products of small numpy integers overflow."""
    return (
        Whole(2, ranges.MOST_STEPS).of("steps", steps),
        Whole(1).of("clients", clients),
        Whole(1).of("dim", dim),
    )
