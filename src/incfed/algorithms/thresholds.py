"""The paper's three formulas for the communication threshold D_c, also by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import ranges
from ..support import inputs, places


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
    beta = inputs.number("beta", beta, low=0.0, high=1.0, open_low=True)
    ridge = ranges.check("ridge", ridge)
    steps, clients, dim = _check(steps, clients, dim)
    base = low(steps=steps, clients=clients, dim=dim)
    rounds = math.ceil(dim * math.log1p(steps / (ridge * dim)))
    slack = math.sqrt(steps**2 / (clients**2 * dim * rounds * math.log(steps)))
    return base - slack * math.log(beta)


FORMULAS: dict[str, Callable[..., float]] = {
    formula.__name__: formula for formula in (high, low, theory)
}


def check(value: object) -> float | str:
    """A threshold, as algorithms take it: a number, or the name of a formula."""
    if not isinstance(value, str):
        return inputs.number("threshold", value, low=0.0, finite=False)
    if value not in FORMULAS:
        words = ", ".join(f"{word!r}" for word in FORMULAS)
        close = places.hint(value, FORMULAS)
        raise inputs.InputError(
            f"threshold: got {value!r}{close}, must be a number or one of {words}"
        )
    return value


def named(
    name: str, *, steps: int, clients: int, dim: int, beta: float | None, ridge: float | None
) -> float:
    """The value of the formula of this name; `beta`: of the mechanism, None if it has none."""
    known: dict[str, Any] = {"steps": steps, "clients": clients, "dim": dim}
    if check(name) == theory.__name__:
        if beta is None:
            allowed = "a number or a formula without beta: the mechanism has none"
            raise inputs.refuse("threshold", name, allowed)
        known |= {"beta": beta, "ridge": ridge}
    try:
        return FORMULAS[name](**known)
    except inputs.InputError as error:
        raise inputs.InputError(f"threshold: {name!r} cannot be computed: {error}") from None


def number(value: float | str) -> float:
    """The threshold where the length of the run is not known."""
    if isinstance(value, str):
        allowed = f"a number here, such as incfed.thresholds.{value}(steps=..., clients=..., ...)"
        raise inputs.refuse("threshold", value, allowed)
    return float(value)


def _check(steps: int, clients: int, dim: int) -> tuple[int, int, int]:
    """Convert to Python integers: products of small numpy integers overflow."""
    return (
        inputs.integer("steps", steps, low=2, high=ranges.MOST_STEPS),
        inputs.integer("clients", clients, low=1),
        inputs.integer("dim", dim, low=1),
    )
