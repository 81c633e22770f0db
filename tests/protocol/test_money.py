"""Payments in minor units cover what they covered before, and cost less than a unit more."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.protocol.money import round_up


@pytest.mark.parametrize(
    ("amount", "digits", "rounded"),
    [
        (1.0, 2, 1.0),
        (1.001, 2, 1.01),
        (9999.999999519521, 2, 10000.0),
        (0.1 + 0.2, 2, 0.3),  # 0.30000000000000004: rounding adds no unit
        (0.3 * (1 + 1e-10), 2, 0.3),
        (0.3 * (1 + 1e-6), 2, 0.31),
        (1e-13, 2, 0.0),
        (0.0, 2, 0.0),
        (1.2, 0, 2.0),
        (1e12 + 0.5, 0, 1e12 + 1),  # however large, a hundredth of a unit counts
        (1e10 + 0.005, 0, 1e10),
        (1 / 3, None, 1 / 3),
    ],
)
def test_examples(amount: float, digits: int | None, rounded: float) -> None:
    assert round_up(np.array([amount]), digits).tolist() == [rounded]


@given(st.floats(0.0, 1e9), st.integers(0, 4))
def test_rounded_up(amount: float, digits: int) -> None:
    rounded = float(round_up(np.array([amount]), digits)[0])
    unit = Decimal(10) ** -digits
    assert rounded == float(Decimal(rounded).quantize(unit))
    assert amount * (1 - 2e-9) - 2e-9 * float(unit) <= rounded < (amount + float(unit)) * (1 + 1e-9)
    assert round_up(np.array([rounded]), digits)[0] == rounded


def test_a_simulation_in_minor_units() -> None:
    world = incfed.Synthetic(clients=6, dim=3, arms=5, pool=50)
    exact = incfed.IncFedUCB(incfed.PayEveryone(), 0.05, 10.0)
    cents = incfed.IncFedUCB(incfed.PayEveryone(), 0.05, 10.0, money_digits=2)
    plain, rounded = (incfed.simulate(world, one, steps=120, seed=1) for one in (exact, cents))
    assert len(plain.rounds) == len(rounded.rounds) > 2
    for before, after in zip(plain.rounds.payments, rounded.rounds.payments, strict=True):
        np.testing.assert_array_equal(after, round_up(np.asarray(before), 2))
    assert cents.settings() == {**exact.settings(), "money_digits": 2}


@pytest.mark.parametrize("digits", [-1, 10, 2.0, "2", True])
def test_bad_digits(digits: object) -> None:
    with pytest.raises(incfed.InputError, match=r"money_digits: got .*, must be a whole number"):
        incfed.IncFedUCB(incfed.PayEveryone(), 0.05, money_digits=digits)  # type: ignore[arg-type]
