"""The coordinator, driven in step over a trace, does what the simulator does; and every message may
come twice, at any later time: nothing changes, the answer is the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.ledger.chain import head
from incfed.protocol.messages import Answer, Delivery
from incfed.service.coordinator.errors import Conflict
from incfed.service.wire import StateView
from support.federation import Federation, federate, made, same, synthetic
from support.worlds import MECHANISMS, Kind, costs, mechanisms, traces


def test_every_message_may_come_twice(tmp_path: Path) -> None:
    two = Federation(
        tmp_path / "l.db", 2, dim=2, threshold=1.0, mechanism=incfed.PayEveryone(), ridge=1.0
    )
    x, here = np.array([[1.0, 0.5]]), two.coordinator
    messages: list[tuple[int, Callable[[], StateView]]] = [
        (0, lambda: here.open_round(0, epoch=0)),
        (0, lambda: here.upload(0, made(1, 0, x, 3.0))),
        (1, lambda: here.upload(1, made(1, 0, x, 3.0))),
        (0, lambda: here.answer(0, Answer(1, 1, True))),
        (0, lambda: here.deliver(0, Delivery(1, x[0]))),
        (1, lambda: here.deliver(1, Delivery(1, x[0]))),
    ]

    def entries() -> int:
        with two.store.read() as connection:
            return head(connection).number

    for number, (_, send) in enumerate(messages):
        first, written = send(), entries()
        if number < 5 and number != 0:
            assert send() == first
        for client, again in messages[1 : number + 1]:  # delayed, and in any order
            assert again() == here.state(client)
        assert entries() == written
    assert here.state(0).epoch == 1
    with pytest.raises(Conflict, match=r"^epoch: got 0, must be 1"):
        messages[0][1]()  # a late one opens nothing
    changed: list[Callable[[], StateView]] = [
        lambda: here.upload(0, made(1, 0, x, 4.0)),
        lambda: here.upload(0, made(1, 0, 0.9 * x, 3.0)),
        lambda: here.answer(0, Answer(1, 1, False)),
        lambda: here.deliver(0, Delivery(1, 0.9 * x[0])),
    ]
    written = entries()
    for send in changed:
        with pytest.raises(Conflict):
            send()
    assert entries() == written
    two.store.close()


@settings(max_examples=30)
@given(st.data(), traces(count=(2, 6), steps=(10, 30)), mechanisms())
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
