from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.results.scales import BELOW, FAR_APART, FLATTENS, Broken, Logarithmic, scale_for

amounts = st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=12)


def test_the_rule_by_hand() -> None:
    assert scale_for([8.0, 8.5, 7.9, 104.0]) == Broken(1.15 * 8.5, 1.08 * 104)
    assert scale_for([3.2, 34.0]) == Broken(1.15 * 3.2, 1.08 * 34)
    assert scale_for([1.0, 100.0, 110.0]) == Logarithmic(0.1)  # most are above: no outliers
    assert scale_for([1.0, 10.0, 100.0, 1000.0]) == Logarithmic(0.1)
    for linear in ([], [0.0, 0.0], [5.0], [0.0, 7.0], [10.0, 30.0], [-1.0, 500.0, 3.0]):
        assert scale_for(linear) is None


@given(amounts)
def test_nothing_is_flattened(sizes: list[float]) -> None:
    """Below a break, and on a linear scale, every amount has its share of the height."""
    match scale_for(sizes):
        case Broken(at, top) as scale:
            low = [size for size in sizes if size <= at]
            assert 2 * len(low) >= len(sizes)
            assert min(scale.forward(np.array(low))) >= BELOW / (1.16 * FLATTENS)
            assert top > max(sizes)
        case Logarithmic(start):
            assert start < min(sizes)
        case None:
            assert max(sizes) <= FAR_APART * min(sizes)


@given(st.floats(1e-3, 1e9), st.floats(1.01, 1e6))
def test_a_broken_axis_ascends_and_can_be_read_back(at: float, factor: float) -> None:
    scale = Broken(at, at * factor)
    values = np.linspace(0, at * factor, 50)
    shares = scale.forward(values)
    assert (np.diff(shares) > 0).all()
    assert shares[[0, -1]] == pytest.approx([0, 1])
    assert scale.inverse(shares) == pytest.approx(values, rel=1e-6, abs=1e-6 * at)
