"""What is known of a setting: figures of its runs, means and intervals."""

from __future__ import annotations

import math

import pytest

from incfed.planning.judging import Judged
from incfed.results.intervals import Interval, student


def test_quantiles_of_student() -> None:
    """From the tables in the back of any textbook."""
    known = {1: 12.7062, 2: 4.3027, 5: 2.5706, 10: 2.2281, 19: 2.0930, 30: 2.0423, 100: 1.9840}
    for freedom, value in known.items():
        assert student(0.975, freedom) == pytest.approx(value, abs=5e-5)


def test_an_interval_by_hand() -> None:
    one = Interval.of([1.0, 2.0, 3.0])  # sd 1, error 1 / sqrt 3, t(2) = 4.3027
    assert (one.mean, one.n) == (2.0, 3)
    assert one.half == pytest.approx(4.302653 / math.sqrt(3), abs=1e-5)
    assert math.isnan(Interval.of([5.0]).half)
    assert str(Interval(4.0, 1e-15, 3)) == str(Interval(4.0, 0.0, 3)) == "4"  # rounding only
    assert str(Interval(4.0, 0.01, 3)) == "4.00 ± 0.01"


def test_what_a_log_leaves_open_does_not_shrink_with_more_seeds() -> None:
    """Each seed of a fitted world draws a world that the log allows: the truth may be any."""
    runs = [{"reward": 9.0 + 2.0 * (n % 2)} for n in range(400)]  # standard deviation 1
    chance, fitted = (Judged("", runs, fitted=fitted)["reward"] for fitted in (False, True))
    assert chance.mean == fitted.mean == 10.0
    assert chance.half == pytest.approx(1.966 / 20, rel=1e-2)
    assert fitted.half == pytest.approx(1.966, rel=1e-2)
