"""A set that grows one client at a time says the same as the round asked afresh."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.kernels.ucb import TIE
from incfed.mechanisms.base import Coalition, Mask
from support.worlds import Table, open_round, tables

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
