"""Money in minor units: amounts with so many decimal digits."""

from __future__ import annotations

import numpy as np

from ..kernels.factor import Floats
from ..support import inputs

MOST_DIGITS = 9
MOST_UNITS = 10**15  # of an amount: a float tells more of them apart
NOISE = 1e-9  # of an amount and of a minor unit: less is rounding, and adds no unit


def check_digits(digits: object) -> int | None:
    """`digits` as a setting; None: amounts are not rounded."""
    return (
        None if digits is None else inputs.integer("money_digits", digits, high=MOST_DIGITS, low=0)
    )


def round_up(amounts: Floats, digits: int | None) -> Floats:
    """Each amount rounded up to the next minor unit, so that it covers what it covered before."""
    if digits is None:
        return amounts
    units = amounts * 10.0**digits
    nearest = np.rint(units)
    return (nearest + (units - nearest > NOISE * (1.0 + units))) / 10.0**digits


def next_unit(amount: float, digits: int | None) -> float:
    """The same for one amount."""
    return amount if digits is None else float(round_up(np.array([amount]), digits)[0])


def to_units(amount: float, digits: int) -> int:
    """The nearest number of minor units."""
    return round(amount * 10.0**digits)


def from_units(units: int, digits: int) -> float:
    """The amount: the float that is written with so many digits."""
    return float(units / 10.0**digits)


def exact_sum(one: float, other: float, digits: int | None) -> float:
    """Of amounts in minor units: the sum of floats alone is not exact."""
    total = one + other
    return total if digits is None else from_units(to_units(total, digits), digits)
