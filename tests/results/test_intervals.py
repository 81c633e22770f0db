"""Intervals: how likely it is that a figure is above 0."""

from __future__ import annotations

import math

import pytest

from incfed.results.intervals import Interval


def test_how_likely_it_is_above_0() -> None:
    """Of Student's t with one degree of freedom (Cauchy): 1/2 + arctan(t) / pi."""
    assert Interval.of([0.0, 2.0]).positive == pytest.approx(0.75)  # mean 1, error 1: t = 1
    assert Interval.of([0.0, -2.0]).positive == pytest.approx(0.25)
    edge = Interval(2.0, 2.0, 9)  # one end is 0
    assert edge.positive == pytest.approx(0.975)
    assert [Interval(x, 0.0, 3).positive for x in (-1.0, 0.0, 1.0)] == [0.0, 0.5, 1.0]
    assert math.isnan(Interval(1.0, math.nan, 1).positive)


def test_worlds_have_a_freedom_of_their_own() -> None:
    """Eight runs of two worlds are as good as two."""
    found = Interval.of_worlds([1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0], 4)
    assert (found.n, found.freedom) == (8, 1)
    assert found.error == pytest.approx(math.sqrt(2.0))  # how far the two lie apart
    assert found.positive == pytest.approx(0.5 + math.atan(2.0 / math.sqrt(2.0)) / math.pi)
