"""steps_per_second: no client shares more than it can have learned since it last shared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.settings import Settings
from incfed.protocol.checks import Refusal
from incfed.protocol.messages import Signal, Upload
from incfed.protocol.packing import pack_matrix
from incfed.service.coordinator import rates
from support.federation import Federation, made

OPTIONS: dict[str, Any] = {
    "dim": 1, "ridge": 1.0, "threshold": 1.0, "mechanism": incfed.PayEveryone(),
    "steps_per_second": 10.0,
}  # fmt: skip


class Make(Protocol):
    def __call__(self, **options: Any) -> Federation: ...


@pytest.fixture
def federate(tmp_path: Path) -> Iterator[Make]:
    """Two clients that can learn ten steps a second; audited at the end."""
    federations: list[Federation] = []

    def make(**options: Any) -> Federation:
        federations.append(Federation(tmp_path / "l.db", 2, **OPTIONS | options))
        return federations[-1]

    yield make
    with federations[0].store.read() as connection:
        assert audit(connection).findings == []
    federations[0].store.close()


def upload(two: Federation, client: int, steps: int) -> None:
    """To the round in progress, or to a new one."""
    state = two.coordinator.open_round(client)
    assert state.round is not None
    dV = pack_matrix(np.full((1, 1), float(steps)))
    two.coordinator.upload(client, Upload(state.round.number, state.epoch, steps, 0.0, dV))


def share(two: Federation, steps: int) -> None:
    """Client 0 does, after some time."""
    upload(two, 0, steps)
    number, state = len(two.of("opened")), two.coordinator.state(1)
    two.coordinator.upload(1, made(number, state.epoch, np.empty((0, 1)), 0.0))
    two.deliver(0, number, np.ones((1, 1)))


def refused(two: Federation, steps: int, most: int) -> None:
    said = rf"^steps: got {steps}, must be at most {most} now: no more than steps_per_second, 10,"
    with pytest.raises(Refusal, match=said):
        upload(two, 0, steps)


def test_by_hand(federate: Make) -> None:
    two = federate()
    refused(two, 11, 10)  # what is learned in a second is allowed at once
    two.wait(9.0)
    refused(two, 101, 100)  # it enrolled 9 s ago
    share(two, 100)
    two.wait(2.0)
    refused(two, 121, 120)  # the round in which it shared opened 11 s ago
    share(two, 120)
    two.clock.now += 3.0
    refused(two, 41, 40)
    share(two, 40)
    assert len(two.of("closed")) == 3


def test_a_clock_that_was_set_back(federate: Make) -> None:
    two = federate()
    two.clock.now -= 3600.0
    for k in range(2):
        two.coordinator.state(k)
    refused(two, 11, 10)
    share(two, 10)


def test_streamed_steps(federate: Make) -> None:
    two = federate(threshold=None, trigger=incfed.Patient(1e9), steps_per_second=0.0)
    dV = pack_matrix(np.full((1, 1), 50.0))
    two.coordinator.signal(0, Signal(0, 50, 50, 0.1, 0.0, None, dV))
    patient = incfed.Patient(0.0)
    two.settings = replace(two.settings, steps_per_second=10.0, trigger=patient)
    two.coordinator = two.another()
    with pytest.raises(Refusal, match="steps_per_second"):
        two.coordinator.signal(0, Signal(0, 51, 51, 0.1, 0.0, None, dV))
    one = pack_matrix(np.full((1, 1), 1.0))
    two.coordinator.signal(1, Signal(0, 1, 1, 0.1, 0.0, None, one))
    assert [(event["client"], event["steps"]) for event in two.of("uploaded")] == [(0, 0), (1, 1)]
    two.deliver(1, 1, np.ones((1, 1)))


def test_the_audit_finds_what_a_coordinator_let_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = Federation(tmp_path / "l.db", 2, **OPTIONS)
    monkeypatch.setattr(rates, "excess", lambda *_: {})
    upload(two, 0, 11)
    with two.store.read() as connection:
        [found] = audit(connection).findings
    assert "client 0: more steps than steps_per_second allows" in found
    two.store.close()


@given(rate=st.floats(0.01, 1e4), times=st.lists(st.floats(0.0, 1e4), min_size=1, max_size=20))
def test_whoever_shares_all_that_is_allowed_stays_near_the_rate(
    rate: float, times: list[float]
) -> None:
    """Rounds that open so long after one another, shared in at once: in all, no more than the rate
    allows in that time and a second for each round."""
    settings = Settings(dim=1, mechanism=incfed.PayEveryone(), threshold=1.0, steps_per_second=rate)
    total = sum(settings.most_steps(since) for since in times)
    assert total <= rate * (sum(times) + len(times)) * (1.0 + 1e-9)
    assert replace(settings, steps_per_second=0.0).most_steps(0.0) > 1e300
