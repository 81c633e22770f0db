"""Settings in between: bisection towards sums of money that nothing tried so far has cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.planning.evidence import Evidence
from incfed.planning.filling import NARROW, WIDE, along, between, rarer, widest_gap
from incfed.planning.goals import Goal, Limit
from incfed.planning.space import Setting, Space, read_space
from support.planning import setting

USUAL = 0.5
GOAL = Goal("regret", (Limit("payment", 10_000.0),))


def paper_like(one: Setting) -> float:
    """Payments as in the paper's world: they rise with beta and fall with D_c, and are 0 below."""
    if one.threshold is None or one.mechanism == "PaymentFree":
        return 0.0
    beta = 1.0 if one.beta is None else one.beta
    return max(0.0, 200_000.0 * (1 + math.log10(beta) / 2) - 60_000.0 * math.log(one.threshold))


def search(
    space: Space, batches: int, pays: Callable[[Setting], float] = paper_like, goal: Goal = GOAL
) -> tuple[Evidence, list[Setting]]:
    """Runs of the first settings, and of those in between, batch by batch."""
    known, found, wanted = Evidence(range(2)), [], space.first(USUAL)
    for _ in range(batches + 1):
        for one in wanted:
            regret = 20.0 + (one.ridge - 0.2) ** 2
            known.add(one, [{"regret": regret, "payment": pays(one), "reward": 0.0,
                             "communication": 1.0}] * 2)  # fmt: skip
        best = min(known.settings, key=lambda one: known.means(one)["regret"])
        wanted = between(known, space, goal, best, 8)
        found += wanted
    return known, found


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"mechanisms": ["PaymentEfficient"]},
        {"mechanisms": ["PayEveryone"]},
        {"mechanisms": ["PaymentFree", {"kind": "PostedPrice", "price": 9.0}]},
        {"beta": [0.0, 1.0], "downloads": ["everyone"], "widths": ["paper"]},
    ],
    ids=["all", "beta", "only D_c", "no beta", "from zero"],
)
def test_sums_up_to_the_budget_are_met(table: dict[str, Any]) -> None:
    space = read_space(table, {}, USUAL)
    known, found = search(space, 8)
    assert len(found) == len(set(found))
    assert all(space.holds(one) for one in found)
    inside = sorted(paid for one in found if 0 < (paid := paper_like(one)) <= 10_000)
    assert len(inside) >= 10
    places = [0.0, *(math.sqrt(paid / 10_000) for paid in inside), 1.0]
    assert max(high - low for low, high in pairwise(places)) < 0.3
    best = min(known.settings, key=lambda one: known.means(one)["regret"])
    assert {(one.width, one.download, one.ridge) for one in found[-8:]} == {
        (best.width, best.download, best.ridge)
    }


def test_nothing_is_proposed_where_nothing_pays() -> None:
    for table in ({"mechanisms": ["PaymentFree"]}, {"triggers": ["Patient"]}):
        assert search(read_space(table, {}, USUAL), 2)[1] == []
    assert search(read_space({}, {}, USUAL), 2, lambda one: 0.0)[1] == []


def test_without_a_budget_all_sums_count() -> None:
    known, found = search(read_space({}, {}, USUAL), 4, goal=Goal("regret"))
    top = max(map(paper_like, known.settings))
    places = sorted(math.sqrt(paper_like(one) / top) for one in known.settings)
    assert found
    assert max(high - low for low, high in pairwise(places)) < 0.15


@given(st.lists(st.floats(0.0, 1e6), max_size=20))
def test_the_widest_gap_is_halved(sums: list[float]) -> None:
    known = sorted([0.0, *sums])
    target = widest_gap(known)
    roots = [math.sqrt(one) for one in known]
    gaps = [high - low for low, high in pairwise(roots)]
    if target is None:
        assert all(gap <= NARROW * roots[-1] for gap in gaps)
    else:
        nearest = min(abs(math.sqrt(target) - root) for root in roots)
        assert nearest == pytest.approx(max(gaps) / 2)


def test_the_best_with_rarer_rounds() -> None:
    space = read_space({"threshold": [0.5, 3.0]}, {}, USUAL)
    best = space.make(
        "PaymentFree", "Threshold", "one-for-one", "mixture", threshold=1.0, ridge=0.3
    )
    assert [one.threshold for one in rarer(space, best, {best}, 3)] == [2.0, 1.4, 3.0]
    found = rarer(space, best, {best, replace(best, threshold=2.0)}, 1)
    assert found == [replace(best, threshold=1.4)]  # and in all else the same
    patient = space.make("PaymentFree", "Patient", "everyone", "paper", news=4.0)
    assert [one.news for one in rarer(space, patient, {patient}, 2)] == [8.0, 5.6]
    dearest = replace(best, threshold=3.0)
    assert rarer(space, dearest, {dearest}, 2) == []  # nothing is rarer


def known(figures: dict[float, float]) -> Evidence:
    """Settings that pay so much, and have so much regret."""
    found = Evidence(range(2))
    for n, (paid, regret) in enumerate(figures.items()):
        run = {"regret": regret, "payment": paid, "reward": 0.0, "communication": 1.0}
        found.add(setting(n), [run] * 2)
    return found


def test_a_frontier_shows_what_was_tried_in_its_gaps() -> None:
    """On the scale of square roots: 0 and 100 lie far apart, and so do 100 and the budget."""
    figures = {0.0: 10.0, 25.0: 12.0, 30.0: 11.0, 100.0: 5.0, 100.5: 9.0, 144.0: 7.0,
               225.0: 8.0, 900.0: 1.0}  # fmt: skip
    found = known(figures)

    def paid(budget: float) -> list[float]:
        goal = Goal("regret", (Limit("payment", budget),))
        line = along(found, goal, found.settings[:-1], 2, 8)
        return [found.means(one)["payment"] for one in line]

    # 0 and 100 are the frontier (the last one is left out); 30 is the best in between.
    assert paid(100.0) == [0.0, 30.0, 100.0]
    assert paid(225.0) == [0.0, 30.0, 100.0, 144.0]  # 225 is the budget itself
    assert paid(400.0) == [0.0, 30.0, 100.0, 144.0, 225.0]
    free = known({0.0: 10.0, 4.0: 11.0})
    assert along(free, Goal("regret"), free.settings, 2, 8) == [setting(0)]


@given(st.dictionaries(st.integers(0, 60), st.integers(0, 9), min_size=1, max_size=25))
def test_no_gap_of_a_frontier_hides_what_was_tried(figures: dict[int, int]) -> None:
    found = known({float(x * x): float(y) for x, y in figures.items()})
    goal = Goal("regret", (Limit("payment", 2500.0),))
    roots = [math.sqrt(found.means(one)["payment"])
             for one in along(found, goal, found.settings, 2, 8)]  # fmt: skip
    assert roots == sorted(set(roots))
    end = max(roots[-1], min(50.0, max(figures)))
    for low, high in pairwise([*roots, end]):
        room = WIDE * end / 4
        hidden = [x for x in figures if low + room < x < high - room]
        assert high - low <= WIDE * end or not hidden
