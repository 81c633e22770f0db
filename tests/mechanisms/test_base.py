"""What a Round says about determinants, against plain numpy; and a set that grows one client at a
time, against the round asked afresh."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.kernels.ucb import TIE
from incfed.mechanisms.base import Coalition
from incfed.mechanisms.rehearsal import RIDGE, make_round
from incfed.types import Mask
from reference.mechanisms import FloatArray
from support.worlds import Table, tables


def open_round(table: Table) -> incfed.Round:
    return make_round(table.V, table.uploads, table.costs, 2)


def logdet(V: FloatArray) -> float:
    sign, value = np.linalg.slogdet(V + RIDGE * np.eye(len(V)))
    assert sign == 1.0
    return float(value)


def plain_value(table: Table, S: Mask) -> float:
    return logdet(table.V + table.data[S].sum(axis=0))


def with_member(S: Mask, j: int) -> Mask:
    larger = S.copy()
    larger[j] = True
    return larger


def plain_incentives(table: Table, S: Mask) -> FloatArray:
    """Eq. 4: members get what S gives them, the others what joining would."""
    grown = [
        plain_value(table, with_member(S, j)) - logdet(table.V + table.data[j])
        for j in range(len(S))
    ]
    return np.asarray(np.expm1(np.clip(grown, 0.0, 700.0)))


@st.composite
def tables_with_set(draw: st.DrawFn) -> tuple[Table, Mask]:
    table = draw(tables(most=8))
    n = len(table.costs)
    return table, np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)


@given(tables_with_set(), st.floats(0, 1))
def test_determinants(case: tuple[Table, Mask], beta: float) -> None:
    table, S = case
    round = open_round(table)
    value, full = plain_value(table, S), plain_value(table, round.everyone)
    assert round.value(S) == pytest.approx(value, rel=1e-11, abs=1e-11)
    assert round.full_value == pytest.approx(full, rel=1e-11, abs=1e-11)
    single = [logdet(table.V + dV) for dV in table.data]
    np.testing.assert_allclose(round.logdets, single, rtol=1e-11, atol=1e-11)
    gains = [
        0.0 if S[j] else plain_value(table, with_member(S, j)) - value for j in range(len(round))
    ]
    np.testing.assert_allclose(round.contributions(S), gains, rtol=1e-9, atol=1e-10)
    assert round.meets(round.everyone, 1.0)
    assert round.meets(S, 0.0)
    ratio = np.exp(value - full)
    if abs(ratio - beta) > 1e-6:  # closer than that the tolerance decides: see below
        assert round.meets(S, beta) == (ratio >= beta)


@given(tables_with_set())
def test_incentives(case: tuple[Table, Mask]) -> None:
    table, S = case
    round = open_round(table)
    incentives = plain_incentives(table, S)
    np.testing.assert_allclose(round.incentives(S), incentives, rtol=1e-8, atol=1e-9)
    near = np.abs(incentives - table.costs) < 1e-6 * (1.0 + table.costs)
    willing = incentives >= table.costs
    np.testing.assert_array_equal(round.willing(S)[~near], willing[~near])
    # `needed` says the same in logarithms
    reach = np.array([plain_value(table, with_member(S, j)) for j in range(len(S))])
    np.testing.assert_array_equal((reach >= round.needed)[~near], willing[~near])


@given(tables_with_set())
def test_settling_pays_what_data_does_not_cover(case: tuple[Table, Mask]) -> None:
    table, S = case
    decision = open_round(table).settle(S)
    short = np.maximum(0.0, table.costs - plain_incentives(table, S))
    assert decision.participants.tolist() == S.tolist()
    allowed = 1e-8 * (1.0 + table.costs)
    assert (np.abs(decision.payments - np.where(S, short, 0.0)) <= allowed).all()


def one_number(*data: float, costs: float = 0.0) -> incfed.Round:
    """d = 1: client i holds one step of length sqrt(data_i); det V_g(S) = 0.1 + sum over S."""
    uploads = [np.array([[np.sqrt(x)]]) for x in data]
    return make_round(np.zeros((1, 1)), uploads, np.full(len(data), costs), len(data))


@pytest.mark.parametrize(("beyond", "met"), [(0.0, True), (1e-10, True), (1e-8, False)])
def test_beta_is_met_up_to_rounding(beyond: float, met: bool) -> None:
    round = one_number(0.4, 0.5)  # {0}: 0.5 of 1.0
    assert round.meets(np.array([True, False]), 0.5 * (1 + beyond)) == met


@pytest.mark.parametrize(("beyond", "willing"), [(0.0, True), (1e-10, True), (1e-8, False)])
def test_costs_are_covered_up_to_rounding(beyond: float, willing: bool) -> None:
    # Together 1.0, alone 0.5 and 0.6: incentives 1 and 2/3
    round = one_number(0.4, 0.5, costs=1.0 + beyond)
    assert round.willing(round.everyone).tolist() == [willing, False]


def test_an_incentive_beyond_all_numbers_stays_finite() -> None:
    data = [np.array([[1e-3] * 40]), 1e8 * np.eye(40)]  # 2^1000 times and more
    round = make_round(np.zeros((40, 40)), data, np.array([1e300, 1e300]), 2)
    incentives = round.incentives(round.everyone)
    assert np.isfinite(incentives).all()
    assert incentives[0] > 1e300 > incentives[1]
    assert round.settle(round.everyone).payments[0] == 0.0


def test_what_a_round_knows() -> None:
    table = Table(np.eye(2), [np.ones((1, 2)), np.ones((3, 2))], np.array([1.0, 2.0]))
    round = open_round(table)
    assert len(round) == 2
    assert round.count == 6  # clients 1 and 3, and of 0, 2, 4, 5 nothing was heard
    assert round.clients.tolist() == [1, 3]
    assert round.costs.tolist() == [1.0, 2.0]
    assert round.everyone.tolist() == [True, True]
    assert round.nobody.tolist() == [False, False]
    everyone = round.everyone
    everyone[:] = False
    assert round.everyone.all(), "it hands out copies"


BOOLS = st.lists(st.booleans(), min_size=12, max_size=12)


def mask(bits: list[bool], n: int) -> Mask:
    return np.array(bits[:n], bool)


def agree(S: Coalition, round: incfed.Round) -> None:
    assert S.value == pytest.approx(round.value(S.members), rel=1e-10, abs=1e-10)


@given(tables(), BOOLS, BOOLS)
def test_growing(table: Table, first: list[bool], asked: list[bool]) -> None:
    round = open_round(table)
    n = len(round)
    among = mask(asked, n)
    S = round.coalition(mask(first, n))
    before = S.members.copy()
    while (left := among & ~S.members).any():
        gains = round.contributions(S.members)
        top = gains[left].max()
        best = S.best(among)
        assert left[best]
        assert gains[best] >= top - TIE - 1e-10
        # nobody of a lower id ties with the best, rounding aside
        assert not (left & (gains >= top - TIE + 1e-10))[:best].any()
        price = max(0.0, table.costs[best] - round.incentives(S.members)[best])
        assert S.price(best) == pytest.approx(price, rel=1e-8, abs=1e-8 * (1 + table.costs[best]))
        plus = S.members.copy()
        plus[best] = True
        for beta in (0.3, 0.9):
            assert S.meets(beta) == round.meets(S.members, beta)
            assert S.meets(beta, plus=best) == round.meets(plus, beta)
        S.add(best)
        agree(S, round)
    assert (S.members == (before | among)).all()
    assert S.best(among) == -1
    paid = among & S.members
    short = np.maximum(0.0, table.costs - round.incentives(S.members))
    allowed = 1e-8 * (1.0 + table.costs)
    assert (np.abs(S.owed(paid) - np.where(paid, short, 0.0)) <= allowed).all()


@given(tables(low=-1, high=2), BOOLS, BOOLS, st.booleans())
def test_welcoming(table: Table, first: list[bool], asked: list[bool], ranked: bool) -> None:
    round = open_round(table)
    n = len(round)
    among = mask(asked, n)
    S = round.coalition(mask(first, n))
    if ranked:  # bounds from before the set grew must not keep anybody out
        S.contributions(among)
        if (best := S.best(among)) >= 0:
            S.add(best)
    expected = S.members.copy()
    for j in np.flatnonzero(among):  # Alg. 4 lines 5-8: by id, the set growing
        if round.willing(expected)[j]:
            expected[j] = True
    S.welcome(among)
    assert S.members.tolist() == expected.tolist()
    agree(S, round)


@given(tables(low=-1, high=2), BOOLS, BOOLS, st.floats(0, 1), st.booleans())
def test_recruiting_is_turns_of_best_and_welcome(
    table: Table, first: list[bool], asked: list[bool], beta: float, welcome: bool
) -> None:
    round = open_round(table)
    n = len(round)
    among = mask(asked, n)
    fast, slow = round.coalition(mask(first, n)), round.coalition(mask(first, n))
    picked, expected = round.nobody, round.nobody
    found = fast.recruit(among, picked, until=beta, welcome=welcome)
    turns = 0
    while (best := slow.best(among)) >= 0:
        turns += 1
        expected[best] = True
        slow.add(best)
        if welcome:
            slow.welcome(among)
        if slow.meets(beta):
            break
    assert found == (turns > 0)
    assert picked.tolist() == expected.tolist()
    assert fast.members.tolist() == slow.members.tolist()
    agree(fast, round)
