"""PostedPrice: the largest set that takes the offer, against removal one at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from reference.mechanisms import stable_set
from support.rounds import literal, open_round
from support.worlds import Table, tables


@given(tables(low=-1, high=3), st.sampled_from([0.0, 0.5, 10.0, 99.0, 100.0, 1e4]))
def test_all_who_share_for_data_and_the_price(table: Table, price: float) -> None:
    decision = incfed.PostedPrice(price).decide(open_round(table))
    lowered = table._replace(costs=np.maximum(0.0, table.costs - price))
    assert decision.participants.tolist() == stable_set(literal(lowered)).tolist()
    assert decision.payments.tolist() == [price if one else 0.0 for one in decision.participants]


def test_a_price_of_nothing_is_payment_free() -> None:
    table = Table(np.eye(2), [np.ones((1, 2)), 2.0 * np.eye(2)], np.array([0.5, 3.0]))
    free = incfed.PaymentFree().decide(open_round(table))
    posted = incfed.PostedPrice(0.0).decide(open_round(table))
    assert posted.participants.tolist() == free.participants.tolist()
    assert not posted.payments.any()


def test_settings_are_checked() -> None:
    with pytest.raises(
        incfed.InputError, match=r"price: got -1, must be a number from 0 to 1e\+100"
    ):
        incfed.PostedPrice(-1)
