"""Frontiers: what nothing beats, what is chosen, and what would be as good for less."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from incfed.planning.goals import Goal, Limit
from incfed.planning.selection import choose, easiest, front, pareto, thin, thrifty
from incfed.planning.space import FREE, Setting
from support.planning import evidence, setting

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
