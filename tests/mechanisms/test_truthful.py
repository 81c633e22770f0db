"""Truthful: worked examples, the literal auction, and that no lie pays."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import incfed
from incfed.mechanisms.rehearsal import RIDGE, rehearse
from reference.mechanisms import decide as literal
from support.misreports import best_lies, decide, random_table
from support.worlds import Table, tables

ROUNDS = int(os.environ.get("INCFED_MISREPORTS", "500"))  # more in `make soak`
COVERS = st.one_of(st.sampled_from([1e-3, 0.5, 0.7, 1.0]), st.floats(1e-6, 1.0))


def line(*data: float, costs: list[float]) -> Table:
    """d = 1, V_g = 0.9: det V_g(S) = 1 + sum over S, as lambda is 0.1."""
    return Table(np.array([[0.9]]), [np.array([[math.sqrt(x)]]) for x in data], np.array(costs))


def outcome(table: Table, cover: float, reserve: float) -> tuple[list[int], list[float]]:
    decision = decide(incfed.Truthful(cover, reserve), table, table.costs)
    members = decision.participants
    return np.flatnonzero(members).tolist(), decision.payments[members].tolist()


def test_the_runner_up_sets_the_price() -> None:
    # 1 + 3 = 4 of 7 is enough for cover 0.5: log 4 > log 3.5. Capped, both gain log 3.5, so that 0
    # wins at 10 against 20, and would have won up to 20.
    who, paid = outcome(line(3.0, 3.0, costs=[10.0, 20.0]), 0.5, 100.0)
    assert who == [0]
    assert paid == pytest.approx([20.0])


def test_gains_of_different_size_are_paid_by_the_rate() -> None:
    # cover 1: everything is needed, so that each is essential and gets the reserve.
    who, paid = outcome(line(1.0, 2.0, costs=[1.0, 5.0]), 1.0, 50.0)
    assert (who, paid) == ([0, 1], [50.0, 50.0])
    # cover 0.7 of 4: 2.8 is reached by {1} alone (3), not by {0} alone (2). Of 0 first: log 2 for 1
    # against log 2.8 for 5, so 0 is picked, then 1. Without 0: 1 is picked, at gain log 2.8, and
    # that is enough: 0 gets 5 log 2 / log 2.8. Without 1 the target is out of reach.
    who, paid = outcome(line(1.0, 2.0, costs=[1.0, 5.0]), 0.7, 50.0)
    assert who == [0, 1]
    # (V_g + lambda = 1; the target is 1e-9 below log 2.8)
    assert paid == pytest.approx([5.0 * math.log(2.0) / math.log(2.8), 50.0])


def test_who_asks_more_than_the_reserve_does_not_move_the_target() -> None:
    # Client 2 would be most of the determinant; of the others, one reaches half.
    who, paid = outcome(line(3.0, 3.0, 1e6, costs=[10.0, 20.0, 101.0]), 0.5, 100.0)
    assert who == [0]
    assert paid == pytest.approx([20.0])


def test_no_cost_comes_first_and_is_paid_like_anyone() -> None:
    who, paid = outcome(line(3.0, 3.0, costs=[20.0, 0.0]), 0.5, 100.0)
    assert who == [1]
    assert paid == pytest.approx([20.0])


def test_ties_go_to_the_lowest_id() -> None:
    twins = line(3.0, 3.0, 3.0, costs=[10.0, 10.0 * (1 + 1e-12), 10.0 * (1 - 1e-12)])
    assert outcome(twins, 0.35, 100.0)[0] == [0]


def test_nobody_eligible() -> None:
    assert outcome(line(3.0, 3.0, costs=[10.0, 20.0]), 0.5, 9.0) == ([], [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cover": 0.0, "reserve": 1.0}, "cover: got 0.0, must be a number from 0 to 1"),
        ({"cover": 1.1, "reserve": 1.0}, "cover: got 1.1"),
        ({"cover": 0.5, "reserve": -1.0}, "reserve: got -1.0, must be a number from 0 to"),
        ({"cover": 0.5, "reserve": math.inf}, "reserve: got inf"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(incfed.InputError, match=said):
        incfed.Truthful(**options)


def test_its_promise_is_of_the_eligible() -> None:
    mechanism = incfed.Truthful(cover=0.7, reserve=100.0)
    assert mechanism.beta is None
    assert mechanism.settings() == {"kind": "Truthful", "cover": 0.7, "reserve": 100.0}
    for _, round in rehearse(60, 3):
        eligible = round.costs <= 100.0
        floor = round.value(eligible) + math.log(0.7) - 1e-9
        assert mechanism.promised(round) == floor
        S = mechanism.decide(round).participants
        assert round.value(S) >= floor - 1e-11
        assert not S[~eligible].any()


@given(tables(low=-1, high=3), COVERS, st.sampled_from([5.0, 100.0, 2000.0]))
def test_any_round_is_decided_as_the_literal_auction_does(
    table: Table, cover: float, reserve: float
) -> None:
    fast = decide(incfed.Truthful(cover, reserve), table, table.costs)
    who, money = literal(
        "truthful", table.V, table.data, table.V + table.data, table.costs, RIDGE,
        cover=cover, reserve=reserve,
    )  # fmt: skip
    event(f"winners: {min(4, np.count_nonzero(who))}")
    event(f"between cost and reserve: {bool(((money > table.costs) & (money < reserve)).any())}")
    assert fast.participants.tolist() == who.tolist()
    np.testing.assert_allclose(fast.payments, money, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("rows", [1, 3, 30])
def test_large_rounds_too(rows: int) -> None:
    chance = np.random.default_rng(rows)
    x = chance.standard_normal((200, 6))
    uploads = [chance.standard_normal((int(r), 6)) for r in chance.integers(1, rows + 1, 25)]
    table = Table(x.T @ x, uploads, chance.uniform(10.0, 100.0, 25))
    fast = decide(incfed.Truthful(0.7, 150.0), table, table.costs)
    who, money = literal(
        "truthful", table.V, table.data, table.V + table.data, table.costs, RIDGE,
        cover=0.7, reserve=150.0,
    )  # fmt: skip
    assert fast.participants.tolist() == who.tolist()
    np.testing.assert_allclose(fast.payments, money, rtol=1e-9)
    assert 5 < who.sum() < 25


def test_no_lie_pays_and_nobody_loses() -> None:
    mechanism = incfed.Truthful(cover=0.7, reserve=150.0)
    winners = 0
    for seed in range(ROUNDS):
        for lie in best_lies(mechanism, random_table(seed)):
            assert lie.gain <= 1e-6 * (1.0 + lie.cost), (seed, lie)
            assert lie.honest >= -1e-6 * (1.0 + lie.cost), (seed, lie)
            winners += lie.honest > 0.0
    assert winners > ROUNDS


def test_the_search_finds_the_lie_against_payment_efficient() -> None:
    lies = [
        lie
        for seed in range(50)
        for lie in best_lies(incfed.PaymentEfficient(beta=0.7), random_table(seed))
    ]
    profitable = [lie for lie in lies if lie.gain > 0.01 * (1.0 + lie.cost)]
    assert len(profitable) > 0.2 * len(lies)
    assert any(lie.report > lie.cost and lie.lying > 0.0 for lie in profitable)


@given(st.integers(0, 2**32 - 1), st.integers(0, 8), st.floats(0.0, 1.0))
def test_who_wins_wins_with_any_lower_cost(seed: int, who: int, factor: float) -> None:
    table = random_table(seed)
    mechanism = incfed.Truthful(cover=0.7, reserve=150.0)
    before = decide(mechanism, table, table.costs)
    i = who % len(table.costs)
    costs = table.costs.copy()
    costs[i] *= factor
    after = decide(mechanism, table, costs)
    assert after.participants[i] >= before.participants[i]
    if before.participants[i]:  # and is paid the same
        assert after.payments[i] == pytest.approx(before.payments[i], rel=1e-6, abs=1e-9)


def test_it_is_checked_like_any_other() -> None:
    assert incfed.check_mechanism(incfed.Truthful(cover=0.7, reserve=1000.0)) == 206

    class Short(incfed.Truthful):
        def decide(self, round: incfed.Round) -> incfed.Decision:
            return incfed.Decision(round.nobody, np.zeros(len(round)))

    with pytest.raises(incfed.MechanismError, match="the promised value is not reached"):
        incfed.check_mechanism(Short(cover=0.7, reserve=1000.0))


def test_what_it_pays_does_not_depend_on_the_order_of_clients() -> None:
    table = random_table(7)
    order = np.random.default_rng(0).permutation(len(table.costs))
    mirrored = Table(table.V, [table.uploads[i] for i in order], table.costs[order])
    mechanism = incfed.Truthful(cover=0.8, reserve=150.0)
    one, two = decide(mechanism, table, table.costs), decide(mechanism, mirrored, mirrored.costs)
    assert one.payments[order].tolist() == pytest.approx(two.payments.tolist())
