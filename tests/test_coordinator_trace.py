"""The coordinator, driven in step over a trace, does what the simulator does."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from federations import Federation, run_in_step
from incfed.ledger.records import read_epoch
from worlds import MECHANISMS, Kind, costs, mechanisms, traces


def same(trace: incfed.Trace, algorithm: incfed.IncFedUCB, federation: Federation) -> int:
    """Run both; returns the number of rounds."""
    run = incfed.Simulation(trace, algorithm)
    run.advance(trace.length)
    expected = run.result().rounds
    run_in_step(trace, algorithm, federation)
    closed = federation.of("closed")
    assert len(closed) == len(expected)
    for record, event, opened in zip(expected, closed, federation.of("opened"), strict=True):
        assert opened["client"] == record.trigger
        paid = event["payments"]
        assert [int(client) for client in paid] == record.participants.tolist()
        np.testing.assert_allclose(list(paid.values()), record.payments, rtol=1e-9, atol=1e-9)
        assert event["communication"] == record.communication
        assert event["ratio"] == pytest.approx(record.ratio, rel=1e-9)
        assert event["idle"] == record.idle
    shared = run._server.shared
    with federation.store.read() as connection:
        V, b = read_epoch(connection, len(closed), trace.dim)
    np.testing.assert_allclose(V, shared.V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b, shared.b, rtol=1e-9, atol=1e-9)
    return len(closed)


def federate(url: str | Path, trace: incfed.Trace, algorithm: incfed.IncFedUCB) -> Federation:
    names = ("mechanism", "threshold", "ridge", "noise", "delta", "exploration")
    known: dict[str, Any] = {name: getattr(algorithm, name) for name in names}
    return Federation(url, trace.count, dim=trace.dim, **known)


@settings(max_examples=30)
@given(st.data(), traces(count=(2, 6), steps=(10, 60)), mechanisms())
def test_as_the_simulator_does(data: st.DataObject, trace: incfed.Trace, mechanism: Kind) -> None:
    kind, knobs = mechanism
    asked = data.draw(costs(trace.count, -1, 2))
    threshold = data.draw(st.sampled_from([0.05, 0.5, 3.0]))
    algorithm = incfed.IncFedUCB(MECHANISMS[kind](**knobs), threshold, asked)
    with tempfile.TemporaryDirectory() as folder:
        federation = federate(Path(folder, "ledger.db"), trace, algorithm)
        same(trace, algorithm, federation)
        federation.store.close()


def synthetic(count: int = 10, steps: int = 600) -> incfed.Trace:
    chance = np.random.default_rng(7)
    theta = chance.standard_normal(5)
    arms = chance.standard_normal((steps, 8, 5))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ (theta / np.linalg.norm(theta)) + 0.1 * chance.standard_normal((steps, 1))
    return incfed.Trace(chance.integers(0, count, steps), arms, rewards, count=count)


def test_a_longer_trace(tmp_path: Path) -> None:
    trace = synthetic()
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=0.5, costs=2.0)
    federation = federate(tmp_path / "ledger.db", trace, algorithm)
    assert same(trace, algorithm, federation) > 20
    assert sum(sum(event["payments"].values()) for event in federation.of("closed")) > 10
    federation.store.close()
