"""The fast path equals the literal reference: choice for choice, round for round, cent for cent."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
import reference
from worlds import MECHANISMS, costs, mechanisms, settings_of_a_run, traces


def compare(
    trace: incfed.Trace,
    mechanism: tuple[str, dict[str, Any]],
    prices: float | list[float],
    options: dict[str, Any],
) -> None:
    kind, knobs = mechanism
    algorithm = incfed.IncFedUCB(mechanism=MECHANISMS[kind](**knobs), costs=prices, **options)
    fast = incfed.simulate(trace, algorithm)
    slow = reference.run(
        trace.clients,
        trace.items[trace.arms],
        trace.rewards,
        trace.expected,
        trace.count,
        mechanism=mechanism,
        costs=np.array(prices),
        **options,
    )
    assert [r.step for r in fast.rounds] == [r.step for r in slow.rounds]
    assert [r.trigger for r in fast.rounds] == [r.trigger for r in slow.rounds]
    price_of = np.broadcast_to(np.array(prices), trace.count)
    for ours, theirs in zip(fast.rounds, slow.rounds, strict=True):
        assert ours.participants.tolist() == theirs.participants.tolist()
        allowed = 1e-8 * (1.0 + price_of[theirs.participants])
        assert (np.abs(ours.payments - theirs.payments) <= allowed).all()
        assert ours.pending == theirs.pending
        assert ours.idle == theirs.idle
        assert ours.communication == theirs.communication
        np.testing.assert_allclose(ours.ratio, theirs.ratio, rtol=1e-8)
    np.testing.assert_allclose(fast.reward, slow.reward, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fast.regret, slow.regret, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(fast.communication, slow.communication)
    np.testing.assert_allclose(fast.payment, slow.payment, rtol=1e-8, atol=1e-8)


@settings(max_examples=500, deadline=None)
@given(st.data(), traces(), mechanisms(), settings_of_a_run())
def test_any_small_world(
    data: st.DataObject,
    trace: incfed.Trace,
    mechanism: tuple[str, dict[str, Any]],
    options: dict[str, Any],
) -> None:
    compare(trace, mechanism, data.draw(costs(trace.count)), options)
