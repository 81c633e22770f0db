"""Bounds on what a liar gains depend on the options of a mechanism and on the highest cost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.mechanisms.registry import BUILT_IN, MECHANISMS
from support.rounds import open_round
from support.worlds import Table, tables

OPTIONS = {
    "BudgetFeasible": {"per_round": 1.0},
    "PostedPrice": {"price": 1.0},
    "ShapleySplit": {"pot": 1.0},
    "Truthful": {"cover": 0.7, "reserve": 1.0},
}


def test_only_three_mechanisms_have_one() -> None:
    found = [
        name
        for name, make in BUILT_IN.items()
        if make(**OPTIONS.get(name, {})).lie_bound(1.0) is not None
    ]
    assert sorted(found) == ["PaymentFree", "PostedPrice", "Truthful"]


def test_options_decide() -> None:
    assert incfed.Truthful(0.7, reserve=198.0).lie_bound(180.0) is not None
    assert incfed.Truthful(0.7, reserve=199.0).lie_bound(180.0) is None
    assert incfed.Truthful(0.6, reserve=198.0).lie_bound(180.0) is None
    assert "up to 30 in a round" in incfed.PostedPrice(150.0).lie_bound(180.0)
    assert "gains nothing" in incfed.PostedPrice(180.0).lie_bound(180.0)


@given(tables(low=-1, high=2, least=1, most=6), st.data(), st.sampled_from([0.0, 3.0, 40.0, 1e3]))
def test_a_price_bounds_what_lies_gain(table: Table, data: st.DataObject, price: float) -> None:
    """In a round: what the own cost is above the price, and nothing if it is not."""
    liar = data.draw(st.integers(0, len(table.costs) - 1))
    costs = table.costs.copy()
    costs[liar] = data.draw(st.sampled_from([0.0, 0.5 * price, 1.1 * price, 1e4]))
    cost = float(table.costs[liar])

    def utility(asked: Table) -> float:
        decision = incfed.PostedPrice(price).decide(open_round(asked))
        return float(decision.payments[liar] - decision.participants[liar] * cost)

    gain = utility(table._replace(costs=costs)) - utility(table)
    assert gain <= max(0.0, cost - price) + 1e-9 * (1.0 + cost)
    if price >= np.max(table.costs):
        assert gain <= 0.0


def test_a_pinned_mechanism_says_what_its_own_does(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import incfed\nclass Own(incfed.PaymentFree): pass\n")
    pinned = MECHANISMS.pinned("own.py:Own", "mechanism", tmp_path)
    assert pinned.lie_bound(1.0) == incfed.PaymentFree().lie_bound(1.0)
