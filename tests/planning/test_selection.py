"""Which settings get more seeds, which one is chosen, and which are worth a look."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.planning.goals import Goal, Limit
from incfed.planning.selection import (
    CostlierSettings,
    choose,
    easiest,
    front,
    noise,
    pareto,
    spending,
    survivors,
    thin,
)
from incfed.planning.space import FREE, Setting
from support.planning import evidence, setting


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


def test_settings_that_never_vary_say_nothing_about_chance() -> None:
    """Most pay nothing, whatever the seed. What two seeds say of the others is not final: they pay
    1, give or take 0.5 (up with one seed, down with the other), and differ by a hair."""
    free = [[(90.0, 0.0)] * 2 for _ in range(20)]
    paid = [[(10.0, 1 + 0.01 * n + 0.5 * (-1) ** (n + k)) for k in range(2)] for n in range(9)]
    dear = [[(10.0, 9.0 + 0.1 * k) for k in range(2)]]
    known = evidence([*free, *paid, *dear])
    goal = Goal("payment", (Limit("regret", 40.0),))
    last = setting(29)
    assert survivors(known, known.settings, goal, 2) == [setting(n) for n in range(20, 29)]
    assert last not in survivors(known, [last], goal, 2)
    assert noise(known, known.settings, "payment", 2) == noise(
        known, [setting(n) for n in range(20, 30)], "payment", 2
    )
    # If none varies, or one only, nothing is known of chance, and nobody is given up for a hair.
    assert noise(known, [setting(0), setting(1), last], "payment", 2) == math.inf


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


def test_what_more_of_a_limit_would_bring() -> None:
    goal = Goal("regret", (Limit("payment", 100.0), Limit("communication", 10.0)))
    table = [[(10.0, 5.0)] * 2, [(9.9, 14.0)] * 2, [(12.0, 60.0)] * 2, [(11.0, 30.0)] * 2,
             [(1.0, 101.0)] * 2]  # fmt: skip
    known = evidence(table, sent=[9.5, 9.5, 9.5, 9.5, 9.5])
    # the second pays hardly more, the last too much; of traffic nothing is left
    assert spending(known, known.settings, goal, setting(0)) == {
        "payment": CostlierSettings(2, setting(3))
    }
    assert spending(known, [setting(0)], goal, setting(0)) == {}
    assert spending(known, known.settings, Goal("payment", goal.limits), setting(0)) == {}


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
