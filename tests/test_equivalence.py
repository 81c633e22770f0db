"""The fast path equals the literal reference: choice for choice, round for round, cent for cent."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

import incfed
import reference
from worlds import (
    MECHANISMS,
    Costs,
    Kind,
    costs,
    efficient,
    mechanisms,
    settings_of_a_run,
    traces,
)


def compare(
    trace: incfed.Trace, mechanism: Kind, prices: Costs, options: dict[str, Any]
) -> reference.Run:
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
    np.testing.assert_array_equal(fast.matched, slow.matched)
    np.testing.assert_array_equal(fast.communication, slow.communication)
    np.testing.assert_allclose(fast.payment, slow.payment, rtol=1e-8, atol=1e-8)
    return slow


def most_paid(run: reference.Run) -> int:
    return max((int((r.payments > 0).sum()) for r in run.rounds), default=0)


@given(st.data(), traces(), mechanisms(), settings_of_a_run())
def test_any_small_world(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    compare(trace, mechanism, data.draw(costs(trace.count)), options)


@given(
    st.data(),
    traces(unknown=st.sampled_from([0.05, 0.5, 0.9, 1.0])),
    mechanisms(),
    settings_of_a_run(),
)
def test_worlds_that_do_not_know_every_reward(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    slow = compare(trace, mechanism, data.draw(costs(trace.count)), options)
    event(f"rounds: {min(len(slow.rounds), 2)}, skipped: {slow.matched[-1] < trace.length}")


@given(
    st.data(),
    traces(count=(4, 12), dim=(2, 8), steps=(30, 120)),
    efficient(st.floats(0.5, 0.999)),
    settings_of_a_run(thresholds=(1.0, 3.0, 8.0, 20.0)),
)
def test_worlds_in_which_several_are_paid(
    data: st.DataObject, trace: incfed.Trace, mechanism: Kind, options: dict[str, Any]
) -> None:
    # Many with much to share, at costs near what the data is worth: the search has work to do.
    slow = compare(trace, mechanism, data.draw(costs(trace.count, 0, 3)), options)
    event(f"paid in one round: {min(most_paid(slow), 3)}")
