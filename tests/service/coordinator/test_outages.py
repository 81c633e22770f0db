"""Deadlines count only time in which the coordinator could have been answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.protocol.messages import Answer
from support.federation import Federation, made
from support.postgres import Postgres

ONE = np.ones((1, 1))


class Federations:
    def __init__(self, folder: Path) -> None:
        self._folder, self.made = folder, list[Federation]()

    def __call__(self, **options: Any) -> Federation:
        given = {"dim": 1, "ridge": 1.0, "threshold": 1.0, "mechanism": incfed.PayEveryone()}
        path = self._folder / f"{len(self.made)}.db"
        self.made.append(Federation(options.pop("url", path), 3, **given | options))
        return self.made[-1]


@pytest.fixture
def federate(tmp_path: Path) -> Iterator[Federations]:
    """With three clients; audited at the end."""
    federations = Federations(tmp_path)
    yield federations
    for one in federations.made:
        with one.store.read() as connection:
            assert audit(connection).findings == []
        one.store.close()


def offered(federation: Federation) -> int:
    number = federation.upload([0, 1, 2], [ONE] * 3, 2.0)
    assert sorted(federation.offered()) == [0, 1, 2]
    return number


@pytest.mark.parametrize("away", [2.1, 11.0, 3600.0])
def test_nobody_is_barred_for_an_outage(federate: Federations, away: float) -> None:
    three = federate()
    number = offered(three)
    three.wait(8.0 if away < 3.0 else 0.5)
    three.clock.now += away
    three.coordinator = three.another()
    three.coordinator.tick()
    [moved] = three.of("deadline")[-1:]
    assert moved["deadline"] == three.clock.now + 10.0
    assert moved["silence"] == pytest.approx(away)
    three.wait(9.0)
    for k in range(3):
        three.deliver(k, number, ONE)
    assert sorted(three.of("closed")[0]["payments"]) == ["0", "1", "2"]
    assert not three.of("barred")


def test_a_delivery_may_be_the_first_to_come_back(federate: Federations) -> None:
    three = federate()
    number = offered(three)
    three.clock.now += 11.0
    three.coordinator = three.another()
    for k in range(3):
        three.deliver(k, number, ONE)
    assert sorted(three.of("closed")[0]["payments"]) == ["0", "1", "2"]


def test_a_long_transaction_is_an_outage(
    federate: Federations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 14 s, while the round is decided: the deadline is over when clients hear of it."""
    three = federate()
    decide = incfed.PayEveryone.decide

    def slowly(self: incfed.PayEveryone, round: Any) -> Any:
        three.clock.now += 14.0
        return decide(self, round)

    with monkeypatch.context() as patch:
        patch.setattr(incfed.PayEveryone, "decide", slowly)
        number = three.upload([0, 1, 2], [ONE] * 3, 2.0)
    three.coordinator.tick()
    for k in range(3):
        three.deliver(k, number, ONE)
    assert sorted(three.of("closed")[0]["payments"]) == ["0", "1", "2"]
    assert not three.of("barred")


def test_who_does_not_come_back_is_left_out_and_not_barred(federate: Federations) -> None:
    three = federate()
    number = offered(three)
    three.clock.now += 11.0
    three.wait(0.5)
    for k in (0, 1):
        three.deliver(k, number, ONE)
    three.wait(11.0)
    assert sorted(three.of("closed")[0]["payments"]) == ["0", "1"]
    assert not three.of("barred")
    number = three.upload([0, 1, 2], [ONE] * 3, 2.0)  # the next failure is its own
    three.coordinator.answer(2, Answer(number, 1, True))
    for k in (0, 1):
        three.deliver(k, number, ONE)
    three.wait(11.0)
    assert [event["client"] for event in three.of("barred")] == [2]


def test_nobody_is_barred_in_the_next_stage_either(federate: Federations) -> None:
    """Client 0 has uploaded when the coordinator goes down. The others are back first, and the
    round is decided while it still waits for an answer from before."""
    three = federate(answer_time=3.0)
    three.upload([0, 1], [ONE, ONE], 2.0)
    three.clock.now += 20.0
    three.coordinator = three.another()
    three.coordinator.upload(2, made(1, 0, ONE, 2.0))
    assert sorted(three.offered()) == [0, 1, 2]
    for k in (1, 2):
        three.deliver(k, 1, ONE)
    three.wait(3.5)
    assert sorted(three.of("closed")[0]["payments"]) == ["1", "2"]
    assert not three.of("barred")


def test_silences_of_one_stage_do_not_make_those_of_the_next_too_short(
    federate: Federations,
) -> None:
    three = federate()
    three.upload([0, 1], [ONE, ONE], 2.0)
    for away in (3.0, 5.0):
        three.clock.now += away
        three.coordinator.tick()
    three.coordinator.upload(2, made(1, 0, ONE, 2.0))
    assert sorted(three.offered()) == [0, 1, 2]
    three.clock.now += 5.0
    three.coordinator.tick()
    assert [one["silence"] for one in three.of("deadline")] == [3.0, 5.0, 5.0]


def test_uploads_are_awaited_anew_and_who_was_live_still_is(federate: Federations) -> None:
    three = federate(live_time=60.0)
    three.upload([0, 1], [ONE, ONE], 2.0)
    three.wait(1.0)
    three.clock.now += 300.0
    three.coordinator.tick()
    three.wait(9.0)
    assert not three.of("decided")
    three.coordinator.upload(2, made(1, 0, ONE, 2.0))
    assert sorted(three.offered()) == [0, 1, 2]


def test_a_coordinator_that_is_always_slow_comes_to_an_end(federate: Federations) -> None:
    three = federate()
    offered(three)
    for _ in range(60):
        three.clock.now += 5.0
        three.coordinator.tick()
    assert three.of("closed")
    assert len(three.of("deadline")) < 5


@pytest.mark.parametrize("time", [0.05, 0.3, 1.0, 1.5, 3.0])
def test_ticks_as_they_come_are_no_silence(federate: Federations, time: float) -> None:
    three = federate(answer_time=time, upload_time=time)
    offered(three)
    for _ in range(16):
        three.clock.now += 0.25
        three.coordinator.tick()
    assert three.of("closed")
    assert not three.of("deadline")


def test_one_of_several_coordinators_is_enough(federate: Federations, postgres: Postgres) -> None:
    three = federate(url=postgres.database("heartbeat"))
    offered(three)
    here, there = three.coordinator, three.another()
    three.coordinator = there  # the other one hears nothing for 11 s
    three.wait(9.5)
    here.tick()
    assert not three.of("deadline")
    assert not three.of("barred")
    three.clock.now += 1.0
    here.tick()
    assert len(three.of("barred")) == 3


def test_a_clock_set_forward_is_an_outage(federate: Federations) -> None:
    three = federate()
    number = offered(three)
    three.clock.now += 1000.0
    three.coordinator.tick()
    for k in range(3):
        three.deliver(k, number, ONE)
    assert three.of("closed")
