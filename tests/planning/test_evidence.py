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
    chance, fitted = (Judged("", runs, runs_a_world=n)["reward"] for n in (0, 1))
    assert chance.mean == fitted.mean == 10.0
    assert chance.half == pytest.approx(1.966 / 20, rel=1e-2)
    assert fitted.half == pytest.approx(1.966, rel=1e-2)


def test_chance_in_a_run_is_taken_out_of_what_a_log_leaves_open() -> None:
    """Worlds of value 1, 3 and 5, each run twice, 1 too low and 1 too high: they vary by 4 around
    3, chance by 2. Means of worlds vary by 4, of which 2 / 2 is chance: 3, and 1 / 3 of the mean's
    own; t(2) = 4.3027."""
    found = Interval.of_worlds([0.0, 2.0, 2.0, 4.0, 4.0, 6.0], 2)
    assert found.mean == pytest.approx(3.0)
    assert found.half == pytest.approx(4.302653 * math.sqrt(3.0 + 1.0 / 3.0), rel=1e-5)
    # means of worlds that vary by 1 / 3, less than chance explains: half the standard error of
    # that, which is (1 / 3) sqrt(2 / 2), counts as what they differ by
    alike = Interval.of_worlds([0.0, 2.0, 0.0, 2.0, 1.0, 3.0], 2)
    assert alike.half == pytest.approx(4.302653 * math.sqrt(1.0 / 6.0 + 1.0 / 3.0), rel=1e-5)
    # one run a world tells no more than that they differ
    assert Interval.of_worlds([1.0, 2.0, 3.0], 1) == Interval.bootstrap(2.0, [1.0, 2.0, 3.0])
