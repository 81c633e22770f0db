"""Limits by hand, and what must hold: nobody is paid above any of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import incfed
from incfed.mechanisms.rehearsal import RIDGE
from incfed.protocol.deciding import Offers, decide, decide_again, shortfall
from incfed.protocol.global_statistics import GlobalStatistics
from incfed.rules.limits import Past, build_limits, usual_prices
from support.cases import Case
from support.federation import made
from support.worlds import MECHANISMS, Kind, mechanisms, tables
from support.worlds import Table as Drawn

LIMITS = incfed.Limits()


def of(costs: list[float], *, budget: float = np.inf, **more: Any) -> Case:
    """One step of length 1 each, in one dimension, ridge 1, all paid: of n clients, each knows 2
    of n + 1, so that data is worth (n + 1) / 2 - 1 to it."""
    uploads = {j: made(1, 0, np.ones((1, 1)), cost) for j, cost in enumerate(costs)}
    shared = GlobalStatistics.empty(1, 1.0)
    mechanism = incfed.PayEveryone()
    return Case(
        uploads, lambda epoch: shared, mechanism, 1.0, budget=budget,
        **{"limits": LIMITS, "members": len(costs), **more},
    )  # fmt: skip


def near(payments: dict[int, float]) -> Any:
    return {client: pytest.approx(paid) for client, paid in payments.items()}


def test_one_greedy_price_costs_the_others_nothing() -> None:
    """Data is worth 1 to each of three; without client 2, a half to the others."""
    costs = [2.0, 2.0, 1e6]
    assert decide(of(costs, budget=100.0, limits=None).open()).data_only
    offers = decide(of(costs, budget=100.0).open())
    assert offers.payments == near({0: 1.5, 1: 1.5})
    assert (offers.data_only, offers.removed) == (False, {2: "budget"})


@pytest.mark.parametrize(
    ("limits", "removed"),
    [
        ({"per_payment": 5.0}, "per_payment"),
        ({"per_round": 10.0}, "per_round"),
        ({"reserve": 50.0}, "reserve"),
        ({"per_client": 12.0}, "per_client"),
        ({"price_rise": 2.0}, "price_rise"),
        ({"price_spread": 5.0}, "price_spread"),
    ],
)
def test_each_limit_is_named(limits: dict[str, Any], removed: str) -> None:
    past = {2: Past(paid=3.0, price=7.0)}
    offers = decide(of([2.0, 2.0, 99.0], limits=incfed.Limits(**limits), past=past).open())
    assert offers.payments == near({0: 1.5, 1: 1.5})
    assert offers.removed == {2: removed}


def test_if_all_are_too_much_together_the_largest_go_first() -> None:
    """Three are owed 3, 4 and 4. Without the last, two are owed 3.5 and 4.5: 8 together."""
    offers = decide(of([4.0, 5.0, 5.0], limits=incfed.Limits(per_round=8.0)).open())
    assert offers.payments == near({0: 3.5, 1: 4.5})
    assert offers.removed == {2: "per_round"}  # of equal payments that of the highest id
    fewer = decide(of([4.0, 5.0, 5.0], limits=incfed.Limits(per_round=7.9)).open())
    assert fewer.payments == near({0: 4.0})


def test_those_removed_may_share_for_data_alone() -> None:
    """Five clients: data is worth 2. The price posted, 3, is too much for anybody."""
    posted = of([1.0, 1.0, 1.0, 1.0, 9.0])._replace(mechanism=incfed.PostedPrice(price=3.0))
    offers = decide(posted._replace(limits=incfed.Limits(per_payment=2.0)).open())
    assert offers.payments == {0: 0.0, 1: 0.0, 2: 0.0, 3: 0.0}
    assert offers.data_only
    assert set(offers.removed.values()) == {"per_payment"}


def test_a_price_that_jumps_counts_as_far_as_it_may_rise() -> None:
    limits, past = incfed.Limits(price_rise=2.0), Past(0.0, 5.0)
    seen = []
    for _ in range(5):
        seen.append(limits.allowance(50.0, past, 1e3).amount)
        past = limits.next(past, 50.0, None, 3)
    assert seen == [0.0, 0.0, 0.0, 1e3, 1e3]  # 10, 20, 40, 80
    free = limits.next(Past(0.0, 0.0), 7.0, None, 3)  # what is below 1 counts as 1
    assert free.price == 2.0


def test_a_price_that_falls_may_rise_again() -> None:
    limits, past = incfed.Limits(price_rise=2.0), Past(0.0, 30.0)
    for price in (1.0, 40.0, 2.0):
        assert limits.allowance(price, past, 1e3).amount == 1e3
        past = limits.next(past, price, 1.0, 3)
    assert past == Past(3.0, 40.0, 9)


def test_what_the_others_want_is_the_measure() -> None:
    """Client 3 wants more than five times the median of 2, 2 and 9; who wants nothing, was revoked
    or has nothing in the model does not count, and one other client is none to go by."""
    spread = incfed.Limits(price_spread=5.0)
    past = {7: Past(price=9.0, steps=1), 8: Past(price=0.0, steps=1), 9: Past()}
    past |= {5: Past(price=1.0, steps=1, gone=True), 6: Past(price=1.0)}  # revoked; withdrawn
    assert usual_prices({0: 2.0, 1: 2.0, 3: 99.0}, past) == {0: 9.0, 1: 9.0, 3: 2.0}
    assert decide(of([2.0, 2.0, 0.0, 11.0], limits=spread, past=past).open()).removed == {
        3: "price_spread"
    }
    assert not decide(of([2.0, 2.0, 0.0, 9.9], limits=spread, past=past).open()).removed
    assert usual_prices({0: 2.0, 1: 90.0}, {}) == {}
    assert not decide(of([2.0, 90.0, 0.0], limits=spread).open()).removed
    low = of([0.1, 0.1, 0.1, 4.9], limits=incfed.Limits(price_spread=5.0))  # counts as 1
    assert not decide(low.open()).removed


@given(st.dictionaries(st.integers(0, 9), st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0]), min_size=1))
def test_the_usual_price_is_the_median_of_the_others(prices: dict[int, float]) -> None:
    past = {20: Past(price=3.0, steps=2), 21: Past(price=0.0, steps=2), 22: Past(price=9.0)}
    everyone = {**prices, 20: 3.0}
    for client in prices:
        others = [price for other, price in everyone.items() if other != client and price > 0.0]
        expected = np.median(others) if len(others) > 1 else None
        assert usual_prices(prices, past).get(client) == expected


def test_nobody_crowds_the_others_out() -> None:
    """Of 30 steps that are shared and 11 that are uploaded, client 2 would have 31."""
    few, many = np.ones((1, 1)), np.ones((9, 1))
    uploads = {0: made(1, 0, few, 0.0), 1: made(1, 0, few, 0.0), 2: made(1, 0, many, 0.0)}
    past = {2: Past(steps=22), 5: Past(steps=8)}
    table = of([0.0] * 3, past=past)._replace(uploads=uploads)
    held = table._replace(limits=incfed.Limits(largest_share=0.75))
    assert decide(held.open()) == Offers({0: 0.0, 1: 0.0}, False, removed={2: "largest_share"})
    fits = incfed.Limits(largest_share=0.76)
    assert set(decide(table._replace(limits=fits).open()).payments) == {0, 1, 2}
    assert set(decide(held._replace(members=2).open()).payments) == {0, 1, 2}
    assert set(decide_again(held.open(), {2: 0.0}, add=True).payments) == {0, 1, 2}  # it delivered


def test_nobody_has_many_times_what_the_others_have() -> None:
    """Of the others, 0 and 1 have one step each and 5 has eight: their mean is 10 / 3."""
    few, many = np.ones((1, 1)), np.ones((10, 1))
    uploads = {0: made(1, 0, few, 0.0), 1: made(1, 0, few, 0.0), 2: made(1, 0, many, 0.0)}
    table = of([0.0] * 3, past={5: Past(steps=8)})._replace(uploads=uploads)
    held = table._replace(limits=incfed.Limits(steps_spread=2.99))
    assert decide(held.open()) == Offers({0: 0.0, 1: 0.0}, False, removed={2: "steps_spread"})
    assert set(decide(table._replace(limits=incfed.Limits(steps_spread=3.0)).open()).payments) == {
        0,
        1,
        2,
    }
    assert set(decide(held._replace(members=2).open()).payments) == {0, 1, 2}
    two = {client: uploads[client] for client in (1, 2)}  # one other is no measure
    assert set(decide(held._replace(uploads=two, past={}).open()).payments) == {1, 2}


def test_what_each_sharer_can_tell_of_the_others_is_of_many_steps() -> None:
    """Made-up steps of one's own do not help to read off what somebody else shares."""
    few, many = np.ones((1, 1)), np.ones((10, 1))
    uploads = {0: made(1, 0, few, 0.0), 2: made(1, 0, many, 0.0)}
    table = of([0.0] * 3)._replace(uploads=uploads, limits=incfed.Limits(least_steps=2))
    assert decide(table.open()) == Offers({}, False, removed=dict.fromkeys((0, 2), "least_steps"))
    more = table._replace(uploads=uploads | {1: made(1, 0, few, 0.0)})
    assert set(decide(more.open()).payments) == {0, 1, 2}


def test_too_few_sharers_or_steps_change_nothing() -> None:
    few = of([0.0, 0.0, 0.0], limits=incfed.Limits(least_sharers=4))
    assert decide(few.open()) == Offers({}, False, removed=dict.fromkeys(range(3), "least_sharers"))
    assert decide(few._replace(limits=incfed.Limits(least_steps=3)).open()).payments == {}
    assert len(decide(few._replace(limits=incfed.Limits(least_steps=2)).open()).payments) == 3
    assert len(decide(few._replace(members=2).open()).payments) == 3  # nothing to hide there
    assert shortfall(few.open(), [0, 1]) == "least_sharers"
    assert shortfall(few.open(), []) is None
    # Who delivered is kept until the round closes: others may still join.
    assert decide_again(few.open().without([2]), {0: 0.0}, add=True).payments == {0: 0.0, 1: 0.0}


def test_in_minor_units() -> None:
    limits = incfed.Limits(per_payment=1.005)  # no payment of 1.01
    table = of([2.002, 2.002, 2.009], money_digits=2, limits=limits)  # 1.01, 1.01, 1.01
    assert decide(table.open()).payments == {}
    enough = incfed.Limits(per_payment=1.01, per_round=3.03)
    assert decide(table._replace(limits=enough).open()).payments == {0: 1.01, 1: 1.01, 2: 1.01}
    paid = table._replace(limits=incfed.Limits(per_client=1.31), past={0: Past(0.1 + 0.2)})
    assert 0 in decide(paid.open()).payments  # 1.01 is left, but for rounding


money = st.sampled_from([None, 0.0, 0.5, 5.0, 30.0, 1e9])


@given(
    st.data(), tables(low=-1, high=2, least=1, most=8), mechanisms(), money, money, money, money,
    st.sampled_from([np.inf, 0.4, 0.5, 10.0, 100.0]), st.sampled_from([None, 2]),
)  # fmt: skip
def test_nobody_is_paid_above_any_limit(
    data: st.DataObject, drawn: Drawn, mechanism: Kind, per_round: float | None,
    per_payment: float | None, per_client: float | None, reserve: float | None, budget: float,
    digits: int | None,
) -> None:  # fmt: skip
    kind, knobs = mechanism
    n, d = len(drawn.costs), drawn.V.shape[0]
    shared = GlobalStatistics.of(drawn.V, np.zeros(d), RIDGE)
    uploads = {j: made(1, 0, drawn.uploads[j], float(drawn.costs[j])) for j in range(n)}
    limits = incfed.Limits(
        per_round=per_round, per_payment=per_payment, per_client=per_client, reserve=reserve
    )
    past = {0: Past(3.0, 1.0)}
    plain = Case(
        uploads, lambda epoch: shared, MECHANISMS[kind](**knobs), RIDGE, spent=0.5, budget=budget,
        money_digits=digits, members=n,
    )  # fmt: skip
    table = plain._replace(limits=limits, past=past)
    free = plain._replace(budget=np.inf)
    assert decide(free.open()) == decide(free._replace(limits=LIMITS).open())  # to the last digit

    first = decide(table.open())
    kept = {client: paid for client, paid in first.payments.items() if data.draw(st.booleans())}
    failed = [client for client in first.payments if client not in kept]
    again = decide_again(table.open().without(failed), kept, add=data.draw(st.booleans()))
    event(f"{'somebody' if first.removed else 'nobody'} removed")
    for offers in (first, again):
        for client, paid in offers.payments.items():
            assert 0.0 <= paid <= (np.inf if per_payment is None else per_payment)
            before = past.get(client, Past()).paid
            assert before + paid <= (np.inf if per_client is None else max(per_client, before))
            if paid and reserve is not None:
                assert drawn.costs[client] <= reserve
        assert offers.total <= (np.inf if per_round is None else per_round)
        assert not offers.total or table.spent + offers.total <= budget
        assert not set(offers.payments) & set(offers.removed) or not any(
            offers.payments[client] for client in offers.removed if client in offers.payments
        )
    assert set(kept) <= set(again.payments)
    assert all(again.payments[client] >= paid for client, paid in kept.items())


@pytest.mark.parametrize(
    ("given_", "error"),
    [
        ({"per_round": -1.0}, "limits.per_round: got -1.0, must be a number from 0"),
        ({"per_payment": "much"}, "limits.per_payment: got 'much', must be a number"),
        ({"price_rise": 0.5}, "limits.price_rise: got 0.5, must be a number from 1"),
        (
            {"largest_share": 0.0},
            "limits.largest_share: got 0.0, must be a number from 0 to 1",
        ),
        ({"price_spread": 0.9}, "limits.price_spread: got 0.9, must be a number from 1"),
        ({"steps_spread": 0.9}, "limits.steps_spread: got 0.9, must be a number from 1"),
        ({"least_sharers": 0}, "limits.least_sharers: got 0, must be a whole number of at least 1"),
        ({"least_sharers": "none"}, "limits.least_sharers: got None, must be a whole number"),
        ({"per_rond": 1.0}, "limits.per_rond: got 1.0, but there is no such setting"),
        (7, "limits: got 7, must be a table, such as { per_round = 100.0 }"),
    ],
)
def test_bad_limits_are_refused_by_name(given_: Any, error: str) -> None:
    with pytest.raises(incfed.InputError) as refused:
        build_limits(given_, "limits")
    assert str(refused.value).startswith(error)


def test_no_limit_in_words() -> None:
    start = incfed.Limits(per_round=5.0, least_sharers=2)
    found = build_limits({"per_round": "none", "reserve": 3.0}, "limits", start)
    assert found == incfed.Limits(reserve=3.0, least_sharers=2)
    with pytest.raises(incfed.InputError, match="limits: got 5, must be a Limits"):
        incfed.IncFedUCB(incfed.PayEveryone(), 0.1, limits=5)  # type: ignore[arg-type]
