"""The settings to search among."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.planning.space import Range, read_space
from incfed.support.inputs import InputError


@given(st.floats(1e-6, 1e3), st.floats(1, 1e3), st.floats(1e-9, 1e9), st.integers(1, 4))
def test_a_short_number_stays_in_its_range(
    low: float, factor: float, value: float, digits: int
) -> None:
    one = Range(low, low * factor)
    short = one.clip(value, digits)
    assert one.low <= short <= one.high
    if one.low < short < one.high:
        assert short == float(f"{value:.{digits}g}")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"beta": [0.5, 0.1]}, "search.beta: got .* in this order"),
        ({"beta": [0, 2]}, r"search.beta\[2\]: got 2"),
        ({"threshold": 0}, "search.threshold: got 0"),
        ({"ridge": "x"}, "search.ridge: got 'x'"),
        ({"mechanisms": ["Free"]}, r"search.mechanisms\[1\]\.kind: got 'Free'"),
        ({"mechanisms": []}, "search.mechanisms: got"),
        ({"lambda": 1}, "search.lambda: got 1, but there is no such setting"),
    ],
)
def test_bad_ranges(table: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_space(table, None, 0.5)
