"""CostAware and Exact: against all subsets, against each other, and against PaymentEfficient."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import incfed
from support.rounds import literal, open_round, subsets, unequal_table
from support.worlds import Table, tables

BETA = st.one_of(st.sampled_from([0.3, 0.7, 1.0]), st.floats(0.01, 1.0))


def total(mechanism: incfed.Mechanism, table: Table) -> float:
    return float(mechanism.decide(open_round(table)).payments.sum())


def line(*data: float, costs: list[float]) -> Table:
    """d = 1, V_g = 0.9: det V_g(S) = 1 + sum over S, as lambda is 0.1."""
    return Table(np.array([[0.9]]), [np.array([[math.sqrt(x)]]) for x in data], np.array(costs))


def test_the_cheap_one_is_bought_where_the_largest_was() -> None:
    # All: 10. beta 0.3: {0} gives 4, {1} 7. PaymentEfficient buys the largest contributor, 1.
    table = line(3.0, 6.0, costs=[10.0, 100.0])
    assert total(incfed.PaymentEfficient(0.3), table) == pytest.approx(100.0)
    for mechanism in (incfed.CostAware(0.3), incfed.Exact(0.3)):
        decision = mechanism.decide(open_round(table))
        assert decision.participants.tolist() == [True, False]
        assert decision.payments.tolist() == pytest.approx([10.0, 0.0])


def test_more_than_beta_needs_can_be_cheaper() -> None:
    # {1} alone meets 0.5 of 20 and costs 10. With 0 (cost 2, and 20/2 - 1 = 9 from data) 1 gains
    # 20/19 - 1 and costs 10 - 0.05: joining is free for 0 once 1 is in, so all are in.
    table = line(1.0, 18.0, costs=[2.0, 10.0])
    decision = incfed.Exact(0.5).decide(open_round(table))
    assert decision.participants.tolist() == [True, True]
    assert decision.payments.tolist() == pytest.approx([0.0, 10.0 - 1.0 / 19.0])


@settings(max_examples=settings().max_examples // 3)
@given(tables(low=-1, high=3, most=6), BETA)
def test_exact_is_the_cheapest_of_all_sets(table: Table, beta: float) -> None:
    plain = literal(table)
    least = min(
        float(plain.payments(S, S).sum()) for S in subsets(len(table.costs)) if plain.meets(S, beta)
    )
    event("paid" if least > 0 else "free")
    decision = incfed.Exact(beta).decide(open_round(table))
    assert decision.payments.sum() == pytest.approx(least, rel=1e-6, abs=1e-6)
    assert decision.gap == pytest.approx(0.0, abs=1e-6 * (1.0 + least))
    assert plain.meets(decision.participants, beta * (1.0 - 1e-9))


@settings(max_examples=settings().max_examples // 3)
@given(tables(low=-1, high=3), BETA)
def test_cost_aware_is_never_dearer_than_the_others(table: Table, beta: float) -> None:
    mine = total(incfed.CostAware(beta), table)
    allowed = 1e-8 * (1.0 + table.costs.sum())
    assert mine <= total(incfed.PaymentEfficient(beta), table) + allowed
    assert mine <= total(incfed.PayEveryone(), table) + allowed
    assert total(incfed.Exact(beta), table) <= mine + allowed


@pytest.mark.parametrize("beta", [0.3, 0.7, 0.9])
def test_cost_aware_is_within_one_percent_of_exact_on_average(beta: float) -> None:
    chance = np.random.default_rng(int(100 * beta))
    several = [unequal_table(chance) for _ in range(100)]
    exact = np.array([total(incfed.Exact(beta), table) for table in several])
    aware = np.array([total(incfed.CostAware(beta), table) for table in several])
    greedy = np.array([total(incfed.PaymentEfficient(beta), table) for table in several])
    assert exact.mean() > 0.0
    assert aware.mean() <= 1.01 * exact.mean()
    assert greedy.mean() > 1.05 * exact.mean(), "else there is nothing to save"


def test_sixteen_clients_are_proved_and_a_small_search_says_what_it_left_open() -> None:
    chance = np.random.default_rng(0)
    gaps = []
    for _ in range(10):
        x = chance.standard_normal((1000, 10))
        uploads = [chance.standard_normal((2, 10)) for _ in range(16)]
        table = Table(x.T @ x, uploads, 10.0 + chance.random(16))
        proved = incfed.Exact(0.9).decide(open_round(table))
        assert proved.gap == 0.0
        hasty = incfed.Exact(0.9, nodes=2).decide(open_round(table))
        missed = hasty.payments.sum() - proved.payments.sum()
        assert -1e-6 <= missed <= hasty.gap + 1e-6
        gaps.append(hasty.gap)
    assert max(gaps) > 0.0


def test_settings_are_checked() -> None:
    for wrong in (-0.1, 1.1, math.nan):
        for kind in (incfed.CostAware, incfed.Exact):
            with pytest.raises(
                incfed.InputError, match=r"beta: got .*, must be a number from 0 to 1"
            ):
                kind(beta=wrong)
    with pytest.raises(incfed.InputError, match="nodes: got 0, must be a whole number from 1"):
        incfed.Exact(0.7, nodes=0)
    assert incfed.Exact(0.7).settings() == {"kind": "Exact", "beta": 0.7, "nodes": 200_000}
