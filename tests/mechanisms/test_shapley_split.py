"""ShapleySplit: its estimates against all orders, and that the pot is split by them."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.mechanisms.rehearsal import RIDGE
from reference.mechanisms import FloatArray, logdet
from support.rounds import literal, open_round
from support.worlds import Table, tables


def exact_values(table: Table) -> FloatArray:
    """What each client adds, averaged over all orders."""
    n, plain = len(table.costs), literal(table)
    values = np.zeros(n)
    for order in permutations(range(n)):
        S = np.zeros(n, bool)
        before = float(logdet(table.V, RIDGE))
        for j in order:
            S[j] = True
            after = float(logdet(plain.shared(S), RIDGE))
            values[j] += (after - before) / math.factorial(n)
            before = after
    return values


@pytest.mark.parametrize("seed", range(5))
def test_estimates_are_as_close_as_their_errors_say(seed: int) -> None:
    chance = np.random.default_rng(seed)
    x = chance.standard_normal((5, 3))
    uploads = [chance.standard_normal((int(r), 3)) for r in chance.integers(1, 6, 5)]
    table = Table(x.T @ x, uploads, np.ones(5))
    round = open_round(table)
    values, errors = incfed.ShapleySplit(1.0, samples=2000).values(round, round.everyone)
    assert values.sum() == pytest.approx(round.full_value - round.start_value)
    assert (errors < 0.05 * values).all()
    assert (np.abs(values - exact_values(table)) < 5.0 * errors).all()


ORDERS = [
    [3, 0, 1, 4, 2, 5],
    [5, 0, 1, 4, 3, 2],
    [1, 0, 3, 5, 2, 4],
    [2, 4, 0, 3, 1, 5],
    [0, 1, 4, 2, 5, 3],
]


@given(tables(low=-1, high=3), st.sampled_from([0.0, 10.0, 1e3, 1e6]))
def test_the_pot_is_split_among_those_who_are_not_underpaid(table: Table, pot: float) -> None:
    mechanism = incfed.ShapleySplit(pot, samples=10)
    round = open_round(table)
    decision = mechanism.decide(round)
    S = decision.participants
    values = mechanism.values(round, S).values
    if S.any() and values.sum() > 0.0:
        np.testing.assert_allclose(decision.payments, pot * values / values.sum(), atol=1e-12 * pot)
        assert decision.payments.sum() == pytest.approx(pot)
    gained = round.incentives(S) + decision.payments
    assert (gained[S] >= table.costs[S] - 1e-8 * (1.0 + table.costs[S])).all()


def test_who_leaves_makes_the_others_richer() -> None:
    # d = 1: three alike, cost 4 each, data worth nothing much. A pot of 10 keeps two of them.
    table = Table(np.array([[1e3]]), [np.ones((1, 1))] * 3, np.full(3, 4.0))
    decision = incfed.ShapleySplit(10.0).decide(open_round(table))
    assert decision.participants.sum() == 2
    assert decision.payments.sum() == pytest.approx(10.0)
    assert decision.payments[decision.participants] == pytest.approx([5.0, 5.0], rel=1e-3)


def test_orders_depend_on_the_round_alone() -> None:
    chance = np.random.default_rng(3)
    table = Table(np.eye(3), [chance.standard_normal((1, 3)) for _ in range(6)], np.ones(6))
    mechanism = incfed.ShapleySplit(100.0, samples=5)
    one, two = mechanism.decide(open_round(table)), mechanism.decide(open_round(table))
    other = mechanism.decide(open_round(table, number=1))
    assert one.payments.tolist() == two.payments.tolist()
    assert one.payments.tolist() != other.payments.tolist()
    # What was recorded with one version must be drawn again by the next.
    assert mechanism._orders(open_round(table)).tolist() == ORDERS


def test_settings_are_checked() -> None:
    with pytest.raises(incfed.InputError, match="pot: got -1, must be a number from 0"):
        incfed.ShapleySplit(-1)
    with pytest.raises(incfed.InputError, match="samples: got 1, must be a whole number from 2"):
        incfed.ShapleySplit(1, samples=1)


@pytest.mark.parametrize("size", [0.0, 1e-9])
def test_a_client_that_adds_nothing_is_not_paid_less_than_nothing(size: float) -> None:
    for seed in range(40):
        chance = np.random.default_rng(seed)
        x = 1e3 * chance.standard_normal((5, 3))
        uploads = [chance.standard_normal((8, 3)), size * chance.standard_normal((8, 3))]
        table = Table(x.T @ x, uploads, np.zeros(2))
        decision = incfed.ShapleySplit(30.0).decide(open_round(table))
        assert (decision.payments >= 0.0).all()
        assert decision.payments.sum() == pytest.approx(30.0)
