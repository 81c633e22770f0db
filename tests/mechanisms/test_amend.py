"""Rounds that are decided again because clients failed: each mechanism keeps its promise."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.types import Floats, Mask
from support.rounds import open_round
from support.worlds import Table, tables

LOTS = tables(low=-1, high=2, least=2, most=8)


def failing(
    mechanism: incfed.Mechanism, table: Table, seed: int, **known: float
) -> Iterator[tuple[incfed.Round, Mask, Floats, Floats]]:
    """Some of those who were asked fail, three times over; the others have delivered. Yields each
    round as it is decided again: the round, who delivered, what it was offered, what all are paid.
    """
    chance = np.random.default_rng(seed)
    round = open_round(table, **known)
    decision = mechanism.decide(round)
    S, payments = decision.participants, decision.payments
    delivered = round.nobody
    for _ in range(3):
        failed = S & ~delivered & (chance.random(len(S)) < 0.4)
        left = ~failed
        delivered = (delivered | S)[left]
        offered = np.where(delivered, payments[left], 0.0)
        uploads = [one for one, stays in zip(table.uploads, left, strict=True) if stays]
        table = Table(table.V, uploads, table.costs[left])
        round = open_round(table, **known)
        decision = mechanism.decide(round)
        S = delivered | decision.participants
        payments = np.maximum(offered, mechanism.amend(round, decision, S, offered))
        assert (payments[~S] == 0.0).all()
        yield round, delivered, offered, payments


@given(LOTS, st.integers(0, 99), st.sampled_from([0.0, 10.0, 60.0]), st.sampled_from([0.0, 97.0]))
def test_no_budget_is_exceeded(table: Table, seed: int, per_round: float, spent: float) -> None:
    mechanism = incfed.BudgetFeasible(per_round, total=100.0)
    limit = min(per_round, 100.0 - spent)
    for round, _, offered, payments in failing(mechanism, table, seed, spent=spent):
        assert math.fsum(payments) <= limit * (1.0 + 1e-12)
        owed = round.settle(round.everyone).payments
        if math.fsum(np.maximum(owed, offered)) <= limit and (payments > 0.0).all():
            assert (payments >= owed * (1.0 - 1e-9)).all(), "who is owed is paid while it lasts"


@given(LOTS, st.integers(0, 99), st.sampled_from([0.0, 8.0, 50.0]))
def test_a_posted_price_is_the_price(table: Table, seed: int, price: float) -> None:
    for _, delivered, _, payments in failing(incfed.PostedPrice(price), table, seed):
        assert set(payments.tolist()) <= {0.0, price}
        assert (payments[delivered] == price).all()


@given(LOTS, st.integers(0, 99), st.sampled_from([0.0, 30.0, 1e3]))
def test_a_pot_is_split_once(table: Table, seed: int, pot: float) -> None:
    mechanism = incfed.ShapleySplit(pot, samples=10)
    for _, delivered, offered, payments in failing(mechanism, table, seed):
        assert math.fsum(payments) <= pot * (1.0 + 1e-12)
        assert (payments >= offered).all()
        if delivered.any():
            assert math.fsum(payments) == pytest.approx(pot), "what is left goes to the others"


@given(LOTS, st.integers(0, 99), st.sampled_from([0.3, 1.0]), st.sampled_from([5.0, 150.0]))
def test_an_auction_pays_costs_and_at_most_the_reserve(
    table: Table, seed: int, cover: float, reserve: float
) -> None:
    for round, _, _, payments in failing(incfed.Truthful(cover, reserve), table, seed):
        assert payments.max(initial=0.0) <= reserve
        paid = payments > 0.0
        assert (payments[paid] >= round.costs[paid] * (1.0 - 1e-9)).all()


def test_who_is_paid_from_what_is_left_of_a_budget() -> None:
    # d = 1, and so much is known that data is worth next to nothing: each is owed its cost.
    table = Table(np.array([[1e9]]), [np.ones((1, 1))] * 3, np.array([4.0, 5.0, 3.0]))
    round = open_round(table)
    everyone, none = round.everyone, incfed.Decision(round.nobody, np.zeros(3))
    mechanism = incfed.BudgetFeasible(per_round=10.0)
    offered = np.array([4.0, 0.0, 0.0])
    amended = mechanism.amend(round, none, everyone, offered)
    assert amended == pytest.approx([4.0, 0.0, 3.0], rel=1e-6)
    amended = mechanism.amend(round, none, everyone)
    assert amended == pytest.approx([4.0, 0.0, 3.0], rel=1e-6)


def test_shares_of_a_pot_of_which_some_was_offered() -> None:
    # Three alike, so a third each; the first was offered half, and the others share the rest.
    table = Table(np.array([[1e9]]), [np.ones((1, 1))] * 3, np.ones(3))
    round = open_round(table)
    none = incfed.Decision(round.nobody, np.zeros(3))
    mechanism = incfed.ShapleySplit(12.0)
    amended = mechanism.amend(round, none, round.everyone, np.array([6.0, 1.0, 0.0]))
    assert amended == pytest.approx([6.0, 3.0, 3.0], rel=1e-4)
    amended = mechanism.amend(round, none, round.everyone, np.array([12.0, 0.0, 0.0]))
    assert amended == pytest.approx([12.0, 0.0, 0.0])
