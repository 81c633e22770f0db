"""Members that are silent, or call for rounds too often or without reason. d = 1, lambda = 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

import incfed
from incfed.ledger import tables
from incfed.ledger.records import Pruned
from incfed.ledger.settings import Settings
from incfed.protocol.checks import Refusal
from incfed.protocol.client import Learner
from incfed.protocol.global_statistics import GlobalStatistics
from incfed.protocol.messages import Signal, Upload
from incfed.protocol.packing import pack_matrix
from incfed.service.coordinator import conduct, handlers
from incfed.service.coordinator.errors import TooMany
from incfed.service.coordinator.handlers import say_nothing
from support.federation import Federation, made

ONE = np.ones((1, 1))
Make = Callable[..., Federation]


@pytest.fixture
def federate(tmp_path: Path) -> Iterator[Make]:
    known: list[Federation] = []

    def make(**options: Any) -> Federation:
        given = {"dim": 1, "ridge": 1.0, "threshold": 0.5, "mechanism": incfed.PayEveryone()}
        known.append(Federation(tmp_path / f"{len(known)}.db", 3, **given | options))
        return known[-1]

    yield make
    for one in known:
        one.store.close()


def play(three: Federation, number: int, rows: Any, caller: int = 0) -> float:
    """A round without client 2, whose caller uploads these rows; how long did it last?"""
    began, here = three.clock.now, three.coordinator
    here.state(2)
    epoch = here.open_round(caller).epoch
    for k in (0, 1):
        mine = rows if k == caller else ONE[:0]
        here.upload(k, made(number, epoch, mine, 1.0))
    while not three.of("decided") or three.of("decided")[-1]["round"] != number:
        three.wait(0.5)
    for k in three.offered():
        three.deliver(k, number, rows)
    return three.clock.now - began


def test_a_silent_member_is_awaited_twice_and_again_when_it_speaks(federate: Make) -> None:
    three = federate(silent_rounds=2)
    assert [play(three, number, ONE) for number in (1, 2, 3, 4)] == [10.0, 10.0, 0.0, 0.0]
    epoch = three.coordinator.open_round(2).epoch
    for k in range(3):
        three.coordinator.upload(k, made(5, epoch, ONE[:0], 0.0))
    assert play(three, 6, ONE) == 10.0


def test_every_member_is_always_awaited_without_the_setting(federate: Make) -> None:
    three = federate()
    assert [play(three, number, ONE) for number in (1, 2, 3, 4)] == [10.0] * 4


def test_rounds_have_an_interval_per_caller(federate: Make) -> None:
    three = federate(round_interval=0.5, silent_rounds=1)
    play(three, 1, ONE)
    play(three, 2, ONE)
    with pytest.raises(TooMany, match=r"^round: must be 0.5 s after the last round that you"):
        three.coordinator.open_round(0)
    play(three, 3, ONE, caller=1)  # another one may
    three.clock.now += 0.5
    play(three, 4, ONE)


def test_rounds_have_a_pace_whoever_calls_for_them(federate: Make) -> None:
    """Members that take turns open no more of them together than one could."""
    three = federate(rounds_per_second=4.0, silent_rounds=1)
    play(three, 1, ONE)  # it waits for client 2, in vain
    play(three, 2, ONE)
    for caller in (0, 1):
        with pytest.raises(TooMany, match=r"^round: must be 0.25 s after the last round was"):
            three.coordinator.open_round(caller)
    three.clock.now += 0.25
    play(three, 3, ONE, caller=1)
    three.clock.now -= 50.0  # set back: nobody waits for that
    play(three, 4, ONE)


def test_who_calls_too_early_is_told_how_long_to_wait(federate: Make) -> None:
    """Whole seconds, rounded up: those until all that speaks against its call is over."""
    three = federate(rounds_per_second=0.05, round_interval=50.0, silent_rounds=1)
    play(three, 1, ONE)  # takes 10 s: client 2 is silent
    three.clock.now += 2.5
    own, any_ = "50 s after the last round that you called for", "20 s after the last round was"
    for caller, why, seconds in ((0, own, "38"), (1, any_, "8")):
        with pytest.raises(TooMany, match=why) as refused:
            three.coordinator.open_round(caller)
        assert refused.value.headers == {"Retry-After": seconds}


def test_calls_without_reason_are_counted_and_then_ignored(federate: Make) -> None:
    """0.5 = log(1 + dV) * steps: dV = 0.2 is too little, dV = 1 enough."""
    three = federate(false_calls=2, ignored_time=30.0, silent_rounds=1)
    little = np.sqrt(0.2) * ONE
    play(three, 1, little)
    play(three, 2, ONE)  # puts an end to the count
    play(three, 3, ONE[:0])
    play(three, 4, 0.01 * ONE)
    with pytest.raises(TooMany, match=r"^round: must be called for by others"):
        three.coordinator.open_round(0)
    play(three, 5, 3.0 * ONE, caller=1)
    three.clock.now += 30.0
    play(three, 6, 9.0 * ONE)


def test_a_growth_that_no_steps_can_have(federate: Make) -> None:
    three = federate(threshold=None, trigger=incfed.Patient(1.0, signal="growth"), arm_norm=1.0)
    most = np.log(1.0 + 4.0)  # d log(1 + n L^2 / (lambda d)) for n = 4
    three.coordinator.signal(0, Signal(0, 4, 4, float(most), 1.0))
    for growth in (1.01 * most, 1.7e308):
        with pytest.raises(Refusal, match=r"^growth: got .*, must be at most 1.609437912: 4 steps"):
            three.coordinator.signal(0, Signal(0, 4, 4, float(growth), 1.0))


def private(seed: int, epsilon: float) -> tuple[Learner, Upload]:
    """An honest client with noise, at the step at which it calls for a round, and its upload."""
    chance = np.random.default_rng(seed)
    rules = incfed.IncFedUCB(incfed.PayEveryone(), threshold=10.0, ridge=1.0).rules(2)
    learner = Learner(2, rules)
    learner.privacy, learner.normals = incfed.Privacy(epsilon), chance.standard_normal
    for _ in range(100):
        x = chance.standard_normal(2)
        if learner.learn(x / np.linalg.norm(x), 0.5):
            return learner, learner.freeze(1, 0.0)
    raise AssertionError("it never calls")


def test_noise_makes_no_honest_call_a_false_one(federate: Make) -> None:
    """Noise hides growth that the caller saw, so its data does not justify its call; the number of
    its steps does."""
    settings = Settings(
        dim=2, mechanism=incfed.PayEveryone(), threshold=10.0, ridge=1.0, arm_norm=1.0
    )
    empty = GlobalStatistics.empty(2, 1.0)
    calls = [private(seed, epsilon)[1] for seed in range(40) for epsilon in (1.0, 4.0)]
    unjustified = [one for one in calls if not conduct.justified(one, settings, empty)]
    assert len(unjustified) > 10  # of 80
    assert all(conduct.possible(one, settings, empty) for one in calls)
    assert not conduct.possible(calls[0]._replace(steps=2), settings, empty)
    assert not conduct.possible(calls[0]._replace(steps=0), settings, empty)
    assert not conduct.possible(None, settings, empty)


def test_the_most_that_steps_can_add() -> None:
    """No rows add more, and by hand: the least eigenvalues rise to one level."""
    chance = np.random.default_rng(8)
    for _ in range(300):
        dim, steps = chance.integers(1, 6), int(chance.integers(1, 9))
        basis, _ = np.linalg.qr(chance.standard_normal((dim, dim)))
        V = (basis * 10.0 ** chance.uniform(-2, 3, dim)) @ basis.T
        values, vectors = np.linalg.eigh(V)
        most = conduct.most_growth(values, steps, 1.5)
        for spread in (0.0, 0.3, 3.0):  # near the direction of the least, or anywhere
            rows = vectors[:, 0] + spread * chance.standard_normal((steps, dim))
            rows *= 1.5 / np.linalg.norm(rows, axis=1, keepdims=True)
            grown = np.linalg.slogdet(V + rows.T @ rows)[1] - np.linalg.slogdet(V)[1]
            assert grown <= most + 1e-9
    for least, steps, raised in (
        ([1.0, 1.0, 9.0], 1, [2.0, 1.0, 9.0]),
        ([1.0, 2.0, 9.0], 2, [2.5, 2.5, 9.0]),
        ([1.0, 9.0, 9.0], 3, [4.0, 9.0, 9.0]),
    ):
        grown = np.log(np.divide(raised, least)).sum()
        assert conduct.most_growth(np.array(least), steps, 1.0) == pytest.approx(grown)


def test_one_step_on_much_uneven_data_is_no_reason() -> None:
    """V_g = diag(1e6, 1e3): one step adds at most 0.001, whatever noise hides."""
    settings = Settings(
        dim=2, mechanism=incfed.PayEveryone(), threshold=1.0, ridge=1.0, arm_norm=1.0
    )
    base = GlobalStatistics.of(np.diag([1e6, 1e3]), np.zeros(2), 1.0)
    one = Upload(1, 1, 1, 0.0, pack_matrix(np.zeros((2, 2))))
    assert not conduct.possible(one, settings, base)
    assert not conduct.possible(one._replace(steps=30), settings, base)
    assert conduct.possible(one._replace(steps=40), settings, base)  # 40 log(1 + 40 / 1001) > 1


def test_noise_is_that_of_the_last_call(federate: Make) -> None:
    one = federate(round_interval=0.0)
    noisy = tables.conduct.c.noisy
    with one.store.touch() as connection:
        for said in (True, False):
            conduct.called(connection, 0, 0.0, said)
            assert conduct.was_noisy(connection, 0) == said
            assert connection.scalars(select(noisy)).all() == [said]


@pytest.mark.parametrize("noisy", [False, True])
def test_an_epoch_that_is_gone_is_no_reason(noisy: bool) -> None:
    def gone(epoch: int) -> GlobalStatistics:
        raise Pruned(epoch)

    upload = Upload(1, 0, 1, 0.0, pack_matrix(np.eye(1)))
    settings = Settings(dim=1, mechanism=incfed.PayEveryone(), threshold=0.1, ridge=1.0)
    assert not conduct.had_reason(upload, gone, settings, None, noisy)
    streams = Settings(dim=1, mechanism=incfed.PaymentFree(), trigger=incfed.News(0.5), ridge=1.0)
    assert conduct.had_reason(upload, gone, streams, None, noisy)  # the server saw the rows


@pytest.mark.parametrize("own", [False, True])  # noise of its own, or as the federation says
def test_a_private_caller_is_judged_by_its_steps(federate: Make, own: bool) -> None:
    """dV = 0, of 3 steps: noise may hide everything. Of one step it cannot be: log 2 < 1."""
    privacy = None if own else incfed.Privacy(epsilon=4)
    two = federate(false_calls=1, privacy=privacy, threshold=1.0, arm_norm=1.0, silent_rounds=1)

    def call(number: int, steps: int) -> None:
        epoch = two.coordinator.state(0).epoch
        two.coordinator._send(0, handlers.open_round, handlers.Open(noisy=own))
        nothing = pack_matrix(np.zeros((1, 1)))
        two.coordinator.upload(0, Upload(number, epoch, steps, 0.0, nothing))
        for k in (1, 2):
            two.coordinator.upload(k, made(number, epoch, ONE[:0], 0.0))
        for k in two.offered():
            two.deliver(k, number, ONE[:0])

    call(1, 3)
    call(2, 3)
    call(3, 1)
    with pytest.raises(TooMany, match="called for by others"):
        call(4, 3)


def test_a_barred_caller_is_not_a_false_one(tmp_path: Path) -> None:
    two = Federation(
        tmp_path / "ledger.db", 2, dim=1, threshold=1e-9, mechanism=incfed.PayEveryone(),
        false_calls=3,
    )  # fmt: skip
    with two.store.touch() as connection:
        own = tables.clients.c.id == 0
        connection.execute(
            tables.clients.update().where(own).values(barred_until=two.clock() + 9.0)
        )
    one = np.ones((1, 1))
    two.upload([0, 1], [one, one], 1.0)
    with two.store.read() as connection:
        assert connection.scalars(select(tables.conduct.c.false_calls)).all() == [0]
    two.store.close()


def test_to_be_there_is_not_to_speak(tmp_path: Path) -> None:
    """A new start, or a key once more, does not make others wait again."""
    two = Federation(
        tmp_path / "ledger.db", 2, dim=1, threshold=1e-9, mechanism=incfed.PayEveryone(),
        silent_rounds=1,
    )  # fmt: skip
    with two.store.touch() as connection:
        row = {"client": 1, "silent": 1, "false_calls": 0, "noisy": False}
        connection.execute(tables.conduct.insert().values(row))

    def silent() -> int:
        with two.store.read() as connection:
            return connection.scalar(select(tables.conduct.c.silent)) or 0

    two.coordinator.handle([(1, say_nothing, None)])
    assert silent() == 1
    two.coordinator.open_round(1)
    assert silent() == 0
    two.store.close()


def test_what_an_ignored_client_claims_opens_no_round_for_others(tmp_path: Path) -> None:
    three = Federation(
        tmp_path / "ledger.db", 3, dim=1, ridge=1.0, mechanism=incfed.PaymentFree(), false_calls=3,
        trigger=incfed.Patient(1.0, signal="growth", factor=1.0),
    )  # fmt: skip
    with three.store.touch() as connection:
        row = {"client": 0, "silent": 0, "false_calls": 0, "noisy": False}
        until = three.clock() + 30.0
        connection.execute(tables.conduct.insert().values(row | {"ignored": until}))
    claim = Signal(epoch=0, learned=5, steps=5, growth=1.5, cost=0.1)
    assert three.coordinator.signal(0, claim).round is None
    assert three.coordinator.signal(1, claim).round is None  # it is alone, as far as one can trust
    assert three.coordinator.signal(2, claim).round is not None
    three.store.close()
