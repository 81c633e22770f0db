"""Deciding as written out, whichever V_g clients hold; and deciding once more: who delivered stays,
is never paid less, and is never left short."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import incfed
from incfed.mechanisms.rehearsal import RIDGE
from incfed.protocol.deciding import Offers, decide, decide_again
from incfed.protocol.global_statistics import GlobalStatistics
from incfed.protocol.messages import Upload
from incfed.protocol.packing import pack_matrix, pack_rows
from reference.mechanisms import Table as Literal
from reference.mechanisms import decide as decide_literally
from support.cases import Case
from support.federation import made
from support.worlds import MECHANISMS, Kind, features, mechanisms, prices, tables
from support.worlds import Table as Drawn


@given(st.data(), tables(low=-1, high=2, least=2, most=8), mechanisms())
def test_nobody_who_delivered_ends_worse_off(
    data: st.DataObject, drawn: Drawn, mechanism: Kind
) -> None:
    kind, knobs = mechanism
    n, d = len(drawn.costs), drawn.V.shape[0]
    shared = GlobalStatistics.of(drawn.V, np.zeros(d), RIDGE)
    uploads = {j: made(1, 0, drawn.uploads[j], float(drawn.costs[j])) for j in range(n)}
    budget = data.draw(st.sampled_from([np.inf, 1.0, 20.0, 100.0]))
    own = MECHANISMS[kind](**knobs)
    table = Case(uploads, lambda epoch: shared, own, RIDGE, spent=0.5, budget=budget)
    first = decide(table.open())
    assert table.spent + first.total <= max(budget, table.spent)
    assert not first.data_only or budget < np.inf
    members = list(first.payments)
    failed = data.draw(st.lists(st.sampled_from(members), unique=True) if members else st.just([]))
    kept = {client: paid for client, paid in first.payments.items() if client not in failed}
    bonus = data.draw(st.sampled_from([0.0, 3.0]))  # an earlier offer may have been a better one
    kept = {client: paid + bonus for client, paid in kept.items()}
    left = table.open().without(failed)
    assert (len(left.clients), left.called - left.count) == (n - len(failed), len(failed))
    add = data.draw(st.booleans())
    again = decide_again(left, kept, add=add)
    literal = Literal(drawn.V, drawn.data, drawn.V + drawn.data, drawn.costs, RIDGE)
    event("grew" if len(again.payments) > len(kept) else "as it was")
    S = np.isin(np.arange(n), list(again.payments))
    owed = literal.payments(S, S)
    assert set(kept) <= set(again.payments) <= set(left.clients)
    assert add or set(kept) == set(again.payments)
    larger = {client: max(kept.get(client, 0.0), owed[client]) for client in again.payments}
    held = {client: kept.get(client, 0.0) for client in again.payments}
    if again.data_only and again.payments == held:
        event("no money for more")  # who is added comes for data alone
        owed_to_kept = sum(larger[client] for client in kept)
        assert (
            table.spent + owed_to_kept >= budget - 1e-6 or owed_to_kept <= sum(held.values()) + 1e-6
        )
        return
    for client, paid in again.payments.items():
        slack = 1e-8 * (1.0 + drawn.costs[client])
        assert paid >= kept.get(client, 0.0)
        assert paid >= owed[client] - slack
        assert paid <= larger[client] + slack
    assert not again.total or table.spent + again.total <= budget
    if add and not again.data_only and own.beta is not None:
        everyone = np.isin(np.arange(n), left.clients)
        ratio = literal.shared(S), literal.shared(everyone)
        (_, some), (_, all_) = (np.linalg.slogdet(V + RIDGE * np.eye(d)) for V in ratio)
        assert np.exp(some - all_) >= own.beta * (1 - 1e-8)


def three_at(cost: float, *, spent: float, budget: float) -> Case:
    """det V_g(all) = 4, det V_i = 2: data is worth 1 to each of three."""
    uploads = {j: made(1, 0, np.ones((1, 1)), cost) for j in range(3)}
    pay = MECHANISMS["pay_everyone"]()
    shared = GlobalStatistics.empty(1, 1.0)
    return Case(uploads, lambda epoch: shared, pay, 1.0, spent=spent, budget=budget)


def test_what_was_offered_is_kept_when_less_is_owed() -> None:
    table = three_at(2.0, spent=0.0, budget=np.inf)
    again = decide_again(table.open(), {1: 1.25}, add=True)  # 1 is owed
    assert again.payments == {0: pytest.approx(1.0), 1: 1.25, 2: pytest.approx(1.0)}


@pytest.mark.parametrize("short", [0.0, 1e-15, 1e-12])
def test_how_a_processor_rounds_does_not_decide_what_is_affordable(short: float) -> None:
    """The budget is just what is owed, but for rounding; and it is never overspent."""
    table = three_at(2.0, spent=7.0, budget=10.0 * (1.0 - short))
    first, again = (
        decide(table.open()),
        decide_again(table.open(), {1: 0.5, 2: 1.0 - short}, add=True),
    )
    for verdict in (first, again):
        assert not verdict.data_only
        assert verdict.payments == {k: pytest.approx(1.0, rel=1e-9) for k in range(3)}
        assert table.spent + verdict.total <= table.budget
    assert again.payments[2] >= 1.0 - short
    assert decide(table._replace(budget=10.0 - 1e-6).open()).data_only


def test_what_rounding_alone_would_pay_is_nothing_to_a_budget_below_what_is_spent() -> None:
    assert decide(three_at(1.0 + 1e-12, spent=7.0, budget=5.0).open()) == Offers(
        {0: 0.0, 1: 0.0, 2: 0.0}, False
    )
    assert decide(three_at(1.0 + 1e-6, spent=7.0, budget=5.0).open()).data_only


def test_payments_are_rounded_up_before_the_budget_is_asked() -> None:
    """Each is owed 1.004: with two digits 1.01."""
    table = three_at(2.004, spent=0.0, budget=3.02)
    assert decide(table.open()).total == pytest.approx(3.012)
    assert decide(table._replace(money_digits=2).open()).data_only
    enough = table._replace(money_digits=2, budget=3.03)  # 1.01 + 1.01 + 1.01 > 3.03 in floats
    assert decide(enough.open()) == Offers({0: 1.01, 1: 1.01, 2: 1.01}, False)
    kept = {0: 1.05}
    again = decide_again(table._replace(money_digits=2, budget=9.0).open(), kept, add=True)
    assert again.payments == {0: 1.05, 1: 1.01, 2: 1.01}


@given(st.data(), mechanisms(), st.integers(0, 8), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_as_written_out(data: st.DataObject, mechanism: Kind, n: int, d: int, seed: int) -> None:
    kind, knobs = mechanism
    chance = np.random.default_rng(seed)
    shape = data.draw(st.sampled_from(["spread", "subspace", "unit"]))
    past = [np.zeros((d, d))]  # V_g of every epoch
    for _ in range(data.draw(st.integers(0, 4))):
        x = features(chance, shape, int(chance.integers(0, 12)), 1, d)[:, 0]
        past.append(past[-1] + x.T @ x)
    present = len(past) - 1
    epochs = chance.integers(0, present + 1, n)
    rows = [features(chance, shape, int(chance.integers(1, 2 * d + 1)), 1, d)[:, 0] for _ in epochs]
    asked = np.array([data.draw(prices(-2, 3)) for _ in range(n)])
    ids = [2 * j + 1 for j in range(n)]
    uploads = {
        ids[j]: Upload(
            0, int(epochs[j]), len(rows[j]), float(asked[j]),
            pack_rows(rows[j]) if len(rows[j]) < d else pack_matrix(rows[j].T @ rows[j]),
        )
        for j in range(n)
    }  # fmt: skip
    kept = [GlobalStatistics.of(V, np.zeros(d), RIDGE) for V in past]
    table = Case(uploads, kept.__getitem__, MECHANISMS[kind](**knobs), RIDGE, present)
    verdict = decide(table.open())
    dV = np.array([x.T @ x for x in rows]).reshape(-1, d, d)
    old = np.array([past[epoch] for epoch in epochs]).reshape(-1, d, d)
    S, money = decide_literally(
        kind, past[-1], dV, old + dV, asked, RIDGE, behind=past[-1] - old, **knobs
    )
    event("somebody lags" if (epochs < present).any() else "nobody lags")
    assert list(verdict.payments) == [ids[j] for j in np.flatnonzero(S)]
    np.testing.assert_allclose(
        list(verdict.payments.values()), money[S], rtol=1e-8, atol=1e-8 * (1 + asked.max(initial=0))
    )


@pytest.mark.parametrize("add", [True, False])
@pytest.mark.parametrize(
    ("mechanism", "most"),
    [
        (incfed.BudgetFeasible(per_round=10.0, total=10.0), 10.0),
        (incfed.ShapleySplit(pot=30.0, samples=50), 30.0),
        (incfed.PostedPrice(price=8.0), math.inf),
    ],
    ids=lambda one: type(one).__name__,
)
@settings(max_examples=60)
@given(drawn=tables(low=-1, high=2, least=2, most=8), chance=st.randoms(use_true_random=False))
def test_a_round_decided_again_keeps_the_mechanism_s_promise(
    mechanism: incfed.Mechanism, most: float, add: bool, drawn: Drawn, chance: random.Random
) -> None:
    n, d = len(drawn.costs), drawn.V.shape[0]
    shared = GlobalStatistics.of(drawn.V, np.zeros(d), RIDGE)
    uploads = {j: made(1, 0, drawn.uploads[j], float(drawn.costs[j])) for j in range(n)}
    one = Case(uploads, lambda epoch: shared, mechanism, RIDGE).open()
    offers = decide(one)
    for _ in range(3):  # some fail, the others have delivered
        failed = [client for client in offers.payments if chance.random() < 0.4]
        if not failed:
            break
        kept = {c: paid for c, paid in offers.payments.items() if c not in failed}
        one = one.without(failed)
        offers = decide_again(one, kept, add=add)
        assert offers.total <= most * (1.0 + 1e-9)
        if isinstance(mechanism, incfed.PostedPrice):
            assert set(offers.payments.values()) <= {8.0}
