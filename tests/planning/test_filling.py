"""Settings in between: bisection towards sums of money that nothing tried so far has cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incfed.planning.evidence import Evidence
from incfed.planning.filling import NARROW, between, widest_gap
from incfed.planning.goals import Goal, Limit
from incfed.planning.space import Setting, Space, read_space

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
