"""BudgetFeasible: within its budgets, and close to the best that they buy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.mechanisms.rehearsal import RIDGE
from reference.mechanisms import logdet
from support.rounds import literal, open_round, subsets, unequal_table
from support.worlds import Table, tables


@given(tables(low=-1, high=3), st.sampled_from([0.0, 1.0, 50.0, 1e9]), st.floats(0.0, 200.0))
def test_no_budget_is_exceeded(table: Table, per_round: float, spent: float) -> None:
    mechanism = incfed.BudgetFeasible(per_round=per_round, total=100.0)
    decision = mechanism.decide(open_round(table, spent=spent))
    assert decision.payments.sum() <= min(per_round, max(0.0, 100.0 - spent)) * (1.0 + 1e-15)
    free = incfed.PaymentFree().decide(open_round(table))
    assert (decision.participants >= free.participants).all()
    if per_round == 1e9:
        everything = incfed.BudgetFeasible(1e9).decide(open_round(table))
        assert everything.participants.all()


def test_one_large_client_beats_several_cheap_ones() -> None:
    # d = 1, lambda 0.1: client 0 has the better rate, and then the budget is used up.
    uploads = [np.array([[0.1]]), np.array([[3.0]])]
    table = Table(np.array([[0.9]]), uploads, np.array([0.02, 10.0]))
    decision = incfed.BudgetFeasible(10.0).decide(open_round(table))
    assert decision.participants[1]


def test_it_gets_most_of_what_the_budget_could_buy() -> None:
    chance = np.random.default_rng(1)
    shares = []
    for _ in range(40):
        table = unequal_table(chance, clients=8)
        plain, limit = literal(table), float(table.costs.sum() / 3.0)
        start = float(logdet(table.V, RIDGE))
        best = max(
            float(logdet(plain.shared(S), RIDGE))
            for S in subsets(len(table.costs))
            if plain.payments(S, S).sum() <= limit
        )
        round = open_round(table)
        found = round.value(incfed.BudgetFeasible(limit).decide(round).participants)
        if best > start:
            shares.append((found - start) / (best - start))
    assert len(shares) > 30
    assert min(shares) > 0.5
    assert np.mean(shares) > 0.97


def test_a_run_stays_within_the_total() -> None:
    world = incfed.Synthetic(clients=6, dim=4, arms=4, pool=30)
    mechanism = incfed.BudgetFeasible(per_round=8.0, total=30.0)
    algorithm = incfed.IncFedUCB(mechanism, threshold=0.2, costs=3.0)
    result = incfed.simulate(world, algorithm, steps=400)
    assert 25.0 < result.payment[-1] <= 30.0
    assert result.rounds.payment.max() <= 8.0


def test_settings_are_checked() -> None:
    with pytest.raises(incfed.InputError, match="per_round: got -1, must be a number from 0"):
        incfed.BudgetFeasible(-1)
    with pytest.raises(incfed.InputError, match="total: got 'all', must be a number from 0"):
        incfed.BudgetFeasible(1, total="all")  # type: ignore[arg-type]
