"""What is known of a setting: figures of its runs, means and intervals."""

from __future__ import annotations

import math

import pytest

from incfed.experiments.cells import Record
from incfed.planning.evidence import Evidence, figures_of
from incfed.planning.goals import Goal, Limit
from incfed.planning.selection import upper_excess
from incfed.planning.space import FREE, Setting
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


def test_all_sums_of_a_log_that_skips_are_for_the_same_steps() -> None:
    figures = {"steps": 100.0, "matched": 20.0, "reward": 5.0, "regret": math.nan}
    more = {"payment": 3.0, "communication": 9.0, "rounds": 2.0, "participation": 0.5}
    for point, scale in (({}, 5.0), ({"steps": 40}, 2.0)):
        record = Record(point, 0, "", {**figures, **more}, {})
        found = figures_of(record)
        assert found["reward"] == scale * 5.0
        assert found["payment"] == scale * 3.0
        assert found["communication"] == scale * 9.0
        assert found["rounds"] == scale * 2.0
        assert (found["participation"], found["matched"]) == (0.5, 20.0)


def test_the_excess_of_a_log_does_not_shrink_with_more_bootstrapped_logs() -> None:
    """A setting that pays 9 to 11 keeps a budget of 10.2 in the mean of many seeds; another log may
    well exceed it."""
    setting = Setting(FREE, None, 1.0, 0.1)
    goal = Goal("reward", (Limit("payment", 10.2),))
    found = {}
    for log in (False, True):
        evidence = Evidence(range(100), log=log)
        pays = [9.0 + 2.0 * (n % 2) for n in range(100)]
        evidence.add(setting, [{"payment": x, "reward": 1.0} for x in pays])
        found[log] = upper_excess(evidence, setting, goal)
    assert found[False] < 0 < found[True]
