"""The coordinator, driven in step over a trace, does what the simulator does."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from support.federation import federate, same, synthetic
from support.worlds import MECHANISMS, Kind, costs, mechanisms, traces


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


def test_a_longer_trace(tmp_path: Path) -> None:
    trace = synthetic()
    algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.7), threshold=0.5, costs=2.0)
    federation = federate(tmp_path / "ledger.db", trace, algorithm)
    assert same(trace, algorithm, federation) > 20
    assert sum(sum(event["payments"].values()) for event in federation.of("closed")) > 10
    federation.store.close()
