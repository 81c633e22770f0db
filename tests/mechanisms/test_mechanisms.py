"""What every built-in mechanism keeps, in every round of any run, recomputed from the records; and
that one made-up round at a time it decides as the literal one does. (Whole runs reach the odd
corners of a round only by accident; here they are drawn directly.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

import incfed
from incfed.mechanisms.rehearsal import RIDGE, make_round
from reference.mechanisms import decide
from support.replay import Ledger, logdet, replay, telltale
from support.worlds import (
    MECHANISMS,
    Kind,
    Table,
    costs,
    efficient,
    mechanisms,
    settings_of_a_run,
    tables,
    traces,
)


@given(st.data(), traces(), mechanisms(), settings_of_a_run())
def test_nobody_loses_and_beta_is_met(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    trace = telltale(trace)
    kind, knobs = mechanism
    asked = data.draw(costs(trace.count))
    algorithm = incfed.IncFedUCB(MECHANISMS[kind](**knobs), costs=asked, **options)
    result = incfed.simulate(trace, algorithm)
    price = np.broadcast_to(np.array(asked, float), trace.count)
    ridge = options["ridge"]
    for opened in replay(trace, result, Ledger(trace)):
        record, V_g, dV = opened.record, opened.V_g, opened.dV
        shared = record.participants
        assert (np.diff(shared) > 0).all()
        assert (opened.pending[shared] > 0).all()
        assert opened.pending[record.trigger] > 0
        assert record.pending == np.count_nonzero(opened.pending)
        assert record.idle == trace.count - record.pending
        assert (record.payments >= 0).all()
        value = logdet(V_g + dV[shared].sum(axis=0), ridge)
        for i, paid in zip(shared, record.payments, strict=True):
            incentive = np.expm1(min(700.0, value - logdet(V_g + dV[i], ridge)))
            assert incentive + paid >= price[i] - 1e-8 * (1.0 + price[i])
        ratio = np.exp(value - logdet(V_g + dV.sum(axis=0), ridge))
        assert record.ratio == pytest.approx(ratio, rel=1e-8)
        if kind == "pay_everyone":
            assert len(shared) == record.pending
        if kind == "payment_free":
            assert record.payment == 0.0
        if kind == "payment_efficient":
            assert ratio >= knobs["beta"] * (1 - 1e-8)


# the fifth brings 5.6e-10 of log det: less than a ratio can tell
HARDLY = Table(np.array([[89.6]]), [np.array([[x]]) for x in (2.4, 2.1, -1.5, 1.2, -2.4e-4, -0.02)],
               np.ones(6))  # fmt: skip


@given(
    tables(),
    st.sampled_from(["descending", "ascending"]),
    st.booleans(),
    st.booleans(),
)
@example(HARDLY, "descending", False, False)
def test_at_beta_one_everyone_is_paid_alike(
    table: Table, order: str, iterative: bool, absorb: bool
) -> None:
    round = make_round(table.V, table.uploads, table.costs, len(table.costs))
    efficient = incfed.PaymentEfficient(1.0, order=order, iterative=iterative, absorb=absorb)
    ours, all_of_them = efficient.decide(round), incfed.PayEveryone().decide(round)
    assert all_of_them.participants.all()
    # Who is left out brings nothing that a ratio of one could tell; else all are bought.
    shared = [x.T @ x for x, joins in zip(table.uploads, ours.participants, strict=True) if joins]
    everything = table.V + sum(x.T @ x for x in table.uploads)
    lost = logdet(everything, RIDGE) - logdet(table.V + sum(shared), RIDGE)
    assert lost <= 1e-9 + 1e-12  # docs/paper.md, reading 7, and rounding
    if not ours.participants.all():
        return
    allowed = 1e-8 * (1.0 + table.costs)
    assert (np.abs(ours.payments - all_of_them.payments) <= allowed).all()


@given(tables(), mechanisms())
def test_a_decision_does_not_depend_on_the_order_of_questions(table: Table, kind: Kind) -> None:
    mechanism = MECHANISMS[kind[0]](**kind[1])
    fresh = make_round(table.V, table.uploads, table.costs, len(table.costs))
    asked = make_round(table.V, table.uploads, table.costs, len(table.costs))
    asked.stable_set()
    asked.incentives(asked.everyone)
    asked.meets(asked.nobody, 0.5)
    one, two = mechanism.decide(fresh), mechanism.decide(asked)
    assert one.participants.tolist() == two.participants.tolist()
    assert one.payments.tolist() == two.payments.tolist()


def test_settings_name_every_option() -> None:
    chosen = incfed.PaymentEfficient(0.7, order="ascending", payment_free=False, absorb=True)
    assert chosen.settings() == {
        "kind": "PaymentEfficient",
        "beta": 0.7,
        "order": "ascending",
        "payment_free": False,
        "iterative": True,
        "absorb": True,
    }
    assert incfed.PayEveryone().settings() == {"kind": "PayEveryone"}
    assert incfed.PaymentFree().settings() == {"kind": "PaymentFree"}
    assert incfed.PayEveryone().beta == 1.0
    assert incfed.PaymentFree().beta is None


def compare(table: Table, mechanism: Kind) -> incfed.Decision:
    kind, options = mechanism
    n = len(table.costs)
    data = table.data
    round = make_round(table.V, table.uploads, table.costs, n + 1)
    fast = MECHANISMS[kind](**options).decide(round)
    who, money = decide(kind, table.V, data, table.V + data, table.costs, RIDGE, **options)
    assert fast.participants.tolist() == who.tolist()
    assert (np.abs(fast.payments - money) <= 1e-8 * (1.0 + table.costs)).all()
    return fast


@given(tables(), mechanisms())
def test_any_round(table: Table, mechanism: Kind) -> None:
    compare(table, mechanism)


@given(tables(low=0, high=2.5, least=3), efficient(st.floats(0.5, 0.999)))
def test_rounds_in_which_several_are_paid(table: Table, mechanism: Kind) -> None:
    decision = compare(table, mechanism)
    event(f"paid: {min(3, np.count_nonzero(decision.payments))}")
    if mechanism[1]["order"] == "ascending":
        event(f"ascending, paid: {min(3, np.count_nonzero(decision.payments))}")
