"""A run of the fast path beside one of the literal reference."""

from __future__ import annotations

from typing import Any

import numpy as np

import incfed
from reference import simulation as reference
from support.worlds import MECHANISMS, Costs, Kind


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
