"""The parts of the planner, one by one: costs, settings, goals, evidence, racing, frontiers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.experiments.cells import Record
from incfed.planning.case import read_costs
from incfed.planning.evidence import Interval, figures_of, student
from incfed.planning.goals import Goal, Limit, read_goal
from incfed.planning.selection import (
    choose,
    easiest,
    front,
    noise,
    pareto,
    survivors,
    thin,
    thrifty,
)
from incfed.planning.space import FREE, Range, Setting, read_space
from incfed.support.inputs import InputError
from support.planning import evidence, setting

DRAWN = [
    {"kind": "uniform", "low": 5, "high": 50},
    {"kind": "exponential", "mean": 20},
    {"kind": "lognormal", "median": 20, "spread": 2},
]


@pytest.mark.parametrize("table", DRAWN, ids=lambda table: str(table["kind"]))
def test_costs_are_drawn_by_seed_and_nothing_else(table: dict[str, Any]) -> None:
    costs = read_costs(table, 500)
    first = costs.of(3)
    assert isinstance(first, list)
    assert first == read_costs(table, 500).of(3)
    assert first != costs.of(4)
    assert costs.of(3, 2.0) == [2 * cost for cost in first]
    if table["kind"] == "uniform":
        assert 5 <= min(first) < max(first) <= 50
    elif table["kind"] == "exponential":
        assert np.mean(first) == pytest.approx(20, rel=0.2)
    else:
        assert np.median(first) == pytest.approx(20, rel=0.2)
        assert np.mean([10 <= cost <= 40 for cost in first]) == pytest.approx(0.683, abs=0.06)


def test_known_costs() -> None:
    assert read_costs(7, 3).of(0) == 7
    assert read_costs([1, 2, 3], 3).of(5, 0.5) == [0.5, 1, 1.5]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1, "costs: got -1, must be a number from 0"),
        ("much", "costs: got 'much', must be a number, a list"),
        ([1, 2], "costs: got '2 costs', must be one number, or 3"),
        ([1, -2, 3], r"costs\[2\]: got -2"),
        ({}, "costs.kind: is missing"),
        ({"kind": "log-normal"}, "did you mean 'lognormal'"),
        ({"kind": "uniform", "low": 3}, "costs.high: is missing"),
        ({"kind": "uniform", "low": 3, "high": 2}, "costs.low: got 3.0, must be at most"),
        ({"kind": "lognormal", "median": 3, "spread": 0.5}, "costs.spread: got 0.5"),
        ({"kind": "exponential", "mean": 3, "sd": 1}, "costs.sd: got 1, but there is no such"),
    ],
)
def test_bad_costs(value: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_costs(value, 3)


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


def test_a_goal_is_read() -> None:
    goal = read_goal("payment", None, {"reward": "99%", "communication": 5e6}, regret_known=True)
    assert goal.performance == goal.partner == goal.bought == "reward"
    settled = goal.settle({"reward": 200.0, "communication": 1.0, "payment": 0.0, "regret": 0.0})
    assert [limit.value for limit in settled.limits] == [198.0, 5e6]
    assert str(settled.limits[0]) == "at least reward 198 (99 % of paying everyone)"
    assert read_goal(None, None, {}, regret_known=False).aim == "reward"
    for text, value in {"1e4": 1e4, "1,234,567.5": 1234567.5, " 20 ": 20.0}.items():
        [limit] = read_goal(None, None, {"payment": text}, regret_known=True).limits
        assert limit.value == value


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("regret", "reward", {}), "got both"),
        (("reward", None, {}), "--minimize: got 'reward'"),
        ((None, "payment", {}), "--maximize: got 'payment'"),
        ((None, None, {"payment": "lots"}), "--budget: got 'lots'"),
        ((None, None, {"payment": -1.0}), "--budget: got -1.0"),
        ((None, None, {"payment": "nan"}), "--budget: got 'nan'"),
        ((None, None, {"payment": "1,5"}), "--budget: got '1,5'"),  # 1.5, or 15?
        ((None, None, {"payment": "12,5%"}), "--budget: got '12,5%'"),
        ((None, None, {"reward": "-5%"}), "--min-reward: got '-5%'"),
    ],
)
def test_bad_goals(arguments: tuple[Any, Any, dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_goal(*arguments, regret_known=True)


def test_unknown_regret_is_no_aim() -> None:
    with pytest.raises(InputError, match="this log does not know"):
        read_goal("regret", None, {}, regret_known=False)
    with pytest.raises(InputError, match="--max-regret"):
        read_goal("payment", None, {"regret": 3}, regret_known=False)


def test_how_far_outside() -> None:
    assert Limit("payment", 200.0).excess([{"payment": 300.0}], []) == 0.5
    assert Limit("reward", 200.0).excess([{"reward": 100.0}, {"reward": 200.0}], []) == 0.25
    assert Limit("payment", 0.0).excesses([{"payment": 3.0}, {"payment": 0.0}], []) == [3.0, 0.0]
    goal = Goal("regret", (Limit("payment", 200.0), Limit("reward", 200.0)))
    assert goal.violation([{"payment": 100.0, "reward": 100.0}], []) == 0.5
    # A share: of 200 on average, but run by run of 100 and of 300; and of as many as there are.
    half = Limit("payment", 100.0, share=50.0)
    everyone = [{"payment": 100.0}, {"payment": 300.0}]
    assert half.excesses([{"payment": 60.0}, {"payment": 140.0}], everyone) == [0.1, -0.1]
    assert half.excesses([{"payment": 60.0}], everyone) == [0.1]


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


def test_reward_of_a_log_that_skips() -> None:
    figures = {"steps": 100.0, "matched": 20.0, "reward": 5.0, "regret": math.nan}
    record = Record({}, 0, "", {**figures, "payment": 3.0, "communication": 9.0}, {})
    assert figures_of(record)["reward"] == 25.0
    assert figures_of(record)["payment"] == 3.0


def test_noise_is_what_neither_setting_nor_seed_explains() -> None:
    """Every run is the sum of both, so nothing is left; then one setting that is not."""
    plain = [[(10.0 * n + 3.0 * seed, 0.0) for seed in range(4)] for n in range(5)]
    known = evidence(plain)
    assert noise(known, known.settings, "regret", 4) == pytest.approx(0.0, abs=1e-12)
    chance = np.random.default_rng(1)
    rough = [[(10.0 * n + 3.0 * s + chance.normal(0, 2), 0.0) for s in range(6)] for n in range(99)]
    known = evidence(rough)
    assert noise(known, known.settings, "regret", 6) == pytest.approx(2.0, rel=0.15)


def test_the_hopeless_are_given_up() -> None:
    goal = Goal("regret", (Limit("payment", 100.0),))
    known = evidence([
        [(10.0, 50.0), (12.0, 50.0)],  # good
        [(10.1, 40.0), (12.1, 40.0)],  # a little worse, cheaper
        [(50.0, 60.0), (52.0, 60.0)],  # clearly beaten by the first
        [(50.0, 10.0), (52.0, 10.0)],  # as bad, but nobody that is as cheap is better
        [(5.0, 160.0), (7.0, 160.0)],  # far outside
        [(5.0, 140.0), (7.0, 140.0)],  # outside, but not by half
    ])  # fmt: skip
    assert survivors(known, known.settings, goal, 2) == [setting(n) for n in (0, 1, 3, 5)]
    nobody = Goal("regret", (Limit("payment", 1.0),))
    assert setting(3) in survivors(known, known.settings, nobody, 2)  # far out, but all are


points = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


@given(points)
def test_a_frontier_is_what_nothing_beats(found: list[tuple[int, int]]) -> None:
    where = {setting(n): (float(x), float(y)) for n, (x, y) in enumerate(found)}
    kept = pareto(where)
    for one, (x, y) in where.items():
        better = [(a, b) for a, b in where.values() if a <= x and b <= y and (a, b) != (x, y)]
        assert (where[one] in [where[k] for k in kept]) == (not better)
    assert len({where[one] for one in kept}) == len(kept)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.integers(2, 9))
def test_thinning_keeps_both_ends(payments: list[float], count: int) -> None:
    payments.sort()
    settings = [setting(n) for n in range(len(payments))]
    kept = thin(settings, payments, count)
    assert len(kept) == min(count, len(settings))
    assert (kept[0], kept[-1]) == (settings[0], settings[-1])
    assert kept == [one for one in settings if one in kept]


def test_as_good_for_less_traffic() -> None:
    goal = Goal("regret", (Limit("payment", 100.0),))
    table = [
        [(10.0, 50.0), (20.0, 50.0), (30.0, 50.0)],  # chosen
        [(11.0, 50.0), (19.0, 50.0), (30.6, 50.0)],  # 0.2 worse, standard error 0.6
        [(10.1, 50.0), (20.1, 50.0), (30.1, 50.0)],  # worse for sure
        [(10.0, 51.0), (20.0, 51.0), (30.0, 51.0)],  # dearer
        [(10.0, 50.0), (20.0, 50.0), (30.0, 50.0)],  # sends hardly less
    ]
    known = evidence(table, sent=[100.0, 50.0, 20.0, 30.0, 81.0])
    first, *others = known.settings
    assert thrifty(known, goal, [first, *others], first) == setting(1)
    assert thrifty(known, goal, [first, setting(2), setting(3), setting(4)], first) is None
    assert thrifty(known, Goal("payment"), known.settings, first) is None
    # A limit that the chosen one keeps must be kept.
    tight = Goal("regret", (Limit("regret", 20.1),))
    assert thrifty(known, tight, known.settings, first) is None


def test_the_choice_is_safe_and_the_way_out_is_named() -> None:
    goal = Goal("regret", (Limit("payment", 100.0),))
    table = [
        [(10.0, 99.0), (10.0, 60.0), (10.0, 120.0)],  # best, within by its mean only
        [(12.0, 80.0), (12.0, 81.0), (12.0, 82.0)],  # for sure
        [(11.0, 150.0), (11.0, 150.0), (11.0, 150.0)],  # outside
    ]
    known = evidence(table)
    assert choose(known, known.settings, goal) == setting(1)
    assert choose(known, [setting(0), setting(2)], goal) == setting(0)
    tight = Goal("regret", (Limit("payment", 10.0), Limit("regret", 11.0)))
    assert choose(known, known.settings, tight) == setting(1)  # violation 7.1 + 0.09
    assert easiest(known, tight, known.settings) == {"payment": setting(0)}
    assert front(known, goal, known.settings, 3) == [setting(1), setting(0)]
    assert Setting(FREE, None, 2.0, 0.1).table({"reads": "stale"}, 3.0) == {
        "kind": "IncFedUCB",
        "mechanism": {"kind": "PaymentFree"},
        "threshold": 2.0,
        "costs": 3.0,
        "ridge": 0.1,
        "reads": "stale",
    }
