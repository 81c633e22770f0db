"""Rounds worked out by hand: d = 1, lambda = 1, so that det V_g(S) = 1 + the sum of dV over S."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.records import read_epoch
from incfed.protocol.messages import Answer, Delivery
from incfed.service.coordinator.errors import Conflict
from reference.mechanisms import FloatArray
from support.federation import Federation, cents, made

ONE = np.ones((1, 1))


def worth(dV: float) -> FloatArray:
    """Rows with this dV."""
    return np.full((1, 1), np.sqrt(dV))


class Rounds:
    """Federations in one folder, closed at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[Federation] = []

    def __call__(self, count: int, mechanism: incfed.Mechanism, **options: Any) -> Federation:
        given = {"dim": 1, "ridge": 1.0, "threshold": 1.0, "mechanism": mechanism, **options}
        self.made.append(Federation(self.folder / f"{len(self.made)}.db", count, **given))
        return self.made[-1]


@pytest.fixture
def federate(tmp_path: Path) -> Iterator[Rounds]:
    rounds = Rounds(tmp_path)
    yield rounds
    for one in rounds.made:
        one.store.close()


def shared(federation: Federation) -> float:
    """V_g."""
    with federation.store.read() as connection:
        epoch = federation.coordinator.state(0).epoch
        return float(read_epoch(connection, epoch, 1)[0][0, 0])


def stage(federation: Federation, client: int = 0) -> str:
    seen = federation.coordinator.state(client).round
    assert seen is not None
    return seen.stage


def test_offers_are_made_when_all_live_clients_have_uploaded(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone())
    three.upload([0, 1], [ONE, ONE], 2.0)
    assert (stage(three), three.offered()) == ("open", {})
    three.coordinator.upload(2, made(1, 0, ONE, 2.0))
    # det V_g(all) = 4, det V_i = 2: data is worth 1, money the other 1
    assert three.offered() == {k: (1, pytest.approx(1.0)) for k in range(3)}
    for k in range(3):
        assert shared(three) == 0.0
        state = three.deliver(k, 1, ONE)
    assert state.epoch == 1
    assert stage(three) == "closed"
    assert shared(three) == 3.0
    news = three.coordinator.download(1, 0)
    assert news.epoch == 1
    assert news.shared == {1: pytest.approx(1.0)}
    assert news.V.matrix() == [[3.0]]
    assert news.b == [3.0]
    again = three.coordinator.download(1, 1)
    assert (again.since, again.shared, again.V.matrix().tolist()) == (1, {}, [[0.0]])


def test_who_is_silent_is_left_out(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone(), upload_time=5.0, live_time=60.0)
    three.upload([0, 1], [ONE, ONE], 2.0)
    three.wait(4.9)
    assert stage(three) == "open"
    three.wait(0.2)
    assert sorted(three.offered()) == [0, 1]
    with pytest.raises(Conflict, match=r"^round: got 1, must be a round that is open for uploads"):
        three.coordinator.upload(2, made(1, 0, ONE, 2.0))


def test_who_was_not_heard_of_for_long_is_not_waited_for(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone(), live_time=60.0)
    three.clock.now += 61.0
    three.upload([0], [ONE], 2.0)
    assert sorted(three.offered()) == [0]


def test_idle_clients_are_counted_and_offered_nothing(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone())
    three.upload([0, 1, 2], [ONE, ONE[:0], ONE], 2.0)
    assert sorted(three.offered()) == [0, 2]
    three.deliver(0, 1, ONE)
    three.deliver(2, 1, ONE)
    [closed] = three.of("closed")
    assert closed["idle"] == 1
    assert closed["communication"] == 3 * 1 + 3 * 1 + 3 * 2  # docs/paper.md, reading 11, d = 1


def test_who_declines_is_asked_again_next_time(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone())
    number = three.upload([0, 1, 2], [ONE] * 3, 2.0)
    three.deliver(0, number, ONE)
    three.coordinator.answer(2, Answer(number, 1, False))
    three.deliver(1, number, ONE)
    # without client 2: det 3, so that data is worth 1/2 and money has to be 3/2
    assert three.of("closed")[0]["payments"] == {"0": 150, "1": 150}
    assert shared(three) == 2.0
    assert not three.of("barred")
    three.upload([0, 1, 2], [ONE[:0], ONE[:0], ONE], 2.0)
    assert sorted(three.offered()) == [2]


def test_who_fails_to_deliver_is_not_paid_and_sits_out(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone(), barred_time=60.0, answer_time=5.0)
    three.upload([0, 1, 2], [ONE] * 3, 2.0)
    three.coordinator.answer(1, Answer(1, 1, True))
    three.deliver(0, 1, ONE)
    three.deliver(2, 1, ONE)
    three.wait(5.0)
    assert three.of("closed")[0]["payments"] == {"0": 150, "2": 150}
    with pytest.raises(Conflict, match="deadline"):
        three.deliver(1, 1, ONE)
    assert three.coordinator.download(1, 0).shared == {}
    for number in (2, 3, 4):
        three.clock.now += 25.0
        epoch = three.coordinator.state(0).epoch
        three.coordinator.open_round(0)
        for k in range(3):
            three.coordinator.upload(k, made(number, epoch, ONE if k == 1 else ONE[:0], 0.0))
        assert (stage(three), sorted(three.offered())) == (
            ("closed", []) if number < 4 else ("offered", [1])
        )


def left_out(three: Federation, number: int, caller: int) -> bool:
    """Is client 1 left out of this round, although it alone has data?"""
    [epoch] = {three.coordinator.state(k).epoch for k in range(3)}
    three.coordinator.open_round(caller)
    for k in range(3):
        three.coordinator.upload(k, made(number, epoch, ONE if k == 1 else ONE[:0], 0.0))
    out = stage(three) == "closed"
    if not out:
        assert sorted(three.offered()) == [1]
    return out


def test_bars_run_in_time_and_not_in_rounds_that_the_barred_can_open(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone(), barred_time=60.0, answer_time=5.0)
    number = three.upload([0, 1, 2], [ONE] * 3, 2.0)
    three.deliver(0, number, ONE)
    three.deliver(2, number, ONE)
    three.wait(5.0)
    until = three.clock.now + 60.0
    assert [event["until_time"] for event in three.of("barred")] == [until]
    for number in (2, 3, 4, 5):
        assert left_out(three, number, caller=1)
    three.clock.now = until - 0.001
    assert left_out(three, 6, caller=0)
    three.clock.now = until
    assert not left_out(three, 7, caller=0)
    three.deliver(1, 7, ONE)


def test_a_bar_holds_for_the_whole_round_that_opened_before_its_end(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone(), barred_time=8.0, answer_time=5.0)
    number = three.upload([0, 1, 2], [ONE] * 3, 2.0)
    three.deliver(0, number, ONE)
    three.deliver(2, number, ONE)
    three.wait(5.0)
    number = three.upload([0, 1, 2], [ONE] * 3, 2.0)
    assert sorted(three.offered()) == [0, 2]
    three.deliver(0, number, ONE)
    three.wait(9.0)  # 2 fails; the bar of 1 is over when it is decided again
    assert [sorted(event["offers"]) for event in three.of("decided")[-2:]] == [["0", "2"], ["0"]]


def test_a_clock_that_was_set_back_ends_bars(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone(), barred_time=60.0, answer_time=5.0)
    number = three.upload([0, 1, 2], [ONE] * 3, 2.0)
    three.deliver(0, number, ONE)
    three.deliver(2, number, ONE)
    three.wait(5.0)
    three.clock.now -= 3600.0
    assert not left_out(three, 2, caller=0)
    three.deliver(1, 2, ONE)


def efficient(federate: Rounds, **options: Any) -> Federation:
    """dV = 8, 7.5, 7 at 100 each, beta 0.7. All: 23.5; 0 and 1: 16.5, which is .702 of it."""
    three = federate(3, incfed.PaymentEfficient(beta=0.7), answer_time=5.0, **options)
    three.upload([0, 1, 2], [worth(8.0), worth(7.5), worth(7.0)], 100.0)
    first = {0: (1, cents(100 - 7.5 / 9) / 100), 1: (1, cents(100 - 8 / 8.5) / 100)}
    assert three.offered() == first
    three.deliver(0, 1, worth(8.0))
    three.wait(5.0)
    return three


def test_a_round_is_decided_once_more_and_only_adds(federate: Rounds) -> None:
    # Without 1: all are 16, of which 0 alone has 9/16 < .7; so 2 is asked, and 0 is raised.
    three = efficient(federate)
    raised = {0: (2, cents(100 - 7 / 9) / 100), 2: (2, 99.0)}
    assert (stage(three), three.offered()) == ("offered", raised)
    with pytest.raises(Conflict, match=r"^attempt: got 1, must be 2"):
        three.coordinator.answer(2, Answer(1, 1, True))
    three.deliver(2, 1, worth(7.0))
    assert three.of("closed")[0]["payments"] == {"0": cents(100 - 7 / 9), "2": 9900}
    assert shared(three) == pytest.approx(15.0)


def test_after_the_last_attempt_it_closes_with_who_delivered(federate: Rounds) -> None:
    three = efficient(federate, attempts=1)
    assert stage(three) == "closed"
    assert three.of("closed")[0]["payments"] == {"0": 10_000}


def test_the_budget_is_reserved_and_its_end_is_said(federate: Rounds) -> None:
    # PayEveryone owes 0, 0 and 4; without 2, it owes nothing: det 3, worth 1/2 to each
    for budget, expected, removed in ((4.0, [0, 1, 2], {}), (3.9, [0, 1], {"2": "budget"})):
        three = federate(3, incfed.PayEveryone(), budget=budget)
        three.upload([0, 1, 2], [ONE] * 3, [0.5, 0.5, 5.0])
        assert three.of("decided")[0].get("removed", {}) == removed
        offered = three.offered()
        assert sorted(offered) == expected
        for k in expected:
            three.deliver(k, 1, ONE)
        assert sum(three.of("closed")[0]["payments"].values()) == (0 if removed else 400)


def test_without_money_for_a_raise_what_was_offered_is_paid(federate: Rounds) -> None:
    # four at 2 each: det 5, owed 1/2 each, 2 in all; without one: det 4, owed 1 each, 3 in all
    for budget, paid in ((3.0, 1.0), (2.9, 0.5)):
        four = federate(4, incfed.PayEveryone(), budget=budget, answer_time=5.0)
        four.upload([0, 1, 2, 3], [ONE] * 4, 2.0)
        for k in range(3):
            four.deliver(k, 1, ONE)
        four.wait(5.0)
        assert (stage(four), shared(four)) == ("closed", 3.0)
        assert four.of("decided")[-1]["data_only"] is False
        assert four.coordinator.download(0, 0).shared == {1: paid}
        assert four.coordinator.download(3, 0).shared == {}


def test_a_round_without_uploads_is_void(federate: Rounds) -> None:
    two = federate(2, incfed.PayEveryone(), upload_time=5.0)
    two.coordinator.open_round(0)
    two.wait(5.0)
    assert (stage(two), two.of("void")[0]["reason"]) == ("closed", "nobody uploaded")


def test_a_clock_set_back_makes_nobody_wait_longer(federate: Rounds) -> None:
    two = federate(2, incfed.PayEveryone(), upload_time=5.0, live_time=60.0)
    two.upload([0], [ONE], 2.0)
    two.clock.now -= 10_000.0
    two.coordinator.state(1)  # is heard of
    two.coordinator.tick()
    assert stage(two) == "open"
    two.wait(5.0)
    assert sorted(two.offered()) == [0]


def test_who_lags_may_upload_but_not_what_it_has_shared(federate: Rounds) -> None:
    three = federate(3, incfed.PayEveryone(), lag=1)
    three.upload([0, 1, 2], [ONE, ONE[:0], ONE[:0]], 2.0)
    three.deliver(0, 1, ONE)
    three.coordinator.open_round(0)
    with pytest.raises(Conflict, match=r"^epoch: got 0, must be from 1 to 1"):
        three.coordinator.upload(0, made(2, 0, ONE, 2.0))
    with pytest.raises(Conflict, match=r"^epoch: got 2, must be from 0 to 1"):
        three.coordinator.upload(1, made(2, 2, ONE, 2.0))
    three.coordinator.upload(0, made(2, 1, ONE[:0], 0.0))
    three.coordinator.upload(1, made(2, 0, ONE, 2.0))  # knows det 2; 3 is shared with it
    three.coordinator.upload(2, made(2, 0, ONE[:0], 0.0))
    assert three.offered() == {1: (1, pytest.approx(2.0 - (3.0 / 2.0 - 1.0)))}
    three.coordinator.deliver(1, Delivery(2, np.ones(1)))
    with pytest.raises(Conflict, match=r"^epoch: got 1, must be 2"):
        three.coordinator.open_round(1, epoch=1)
