"""Two processes with copies of one state folder: dV of one and db of the other are never added."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.ledger.audit import audit
from incfed.ledger.records import read_epoch
from incfed.protocol.messages import Answer, Delivery, Download
from incfed.service import requests
from incfed.service.client import state_folder
from incfed.service.client.agent import Agent
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.client.policies import accept_all, cost_function
from incfed.service.client.state_folder import Snapshot
from incfed.service.client.traffic import Traffic
from incfed.service.codec import read
from incfed.service.coordinator.errors import Conflict
from incfed.service.coordinator.starts import Caller
from incfed.service.coordinator.views import Wanted
from incfed.service.requests import Start
from incfed.service.wire import FederationView, StateView
from support.federation import Federation, made
from support.in_process_transport import DIM, reply

ONE, TWO = np.ones((1, DIM)), 2.0 * np.ones((1, DIM))


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Federation]:
    """Of two clients."""
    two = federate(tmp_path, threshold=0.3)
    yield two
    two.store.close()


def federate(folder: Path, **protocol: Any) -> Federation:
    return Federation(folder / "l.db", 2, dim=DIM, mechanism=incfed.PayEveryone(), **protocol)


class Process:
    """Of client 0."""

    def __init__(self, federation: Federation, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._here, self._chance = (
            federation.coordinator,
            np.random.default_rng(ord(folder.name[0])),
        )
        settings = read(FederationView, reply(self._here, 0, requests.get_federation())[1])
        kept = state_folder.load(folder) or Snapshot.new(settings)
        self.durable = DurableLearner(folder, kept._replace(settings=settings))
        self.agent = Agent(self.durable, cost_function(1.0), accept_all, Traffic())

    def learn(self, steps: int = 1) -> None:
        for _ in range(steps):
            self.durable.learn(self._chance.standard_normal(DIM), 0.5)

    def send(self, named: bool) -> None:
        """Its next request. `named`: it says which start it comes from."""
        request = self.agent.next_request(1e9)
        if request is not None:
            start = str(self.durable.start) if named else None
            self.agent.replied(request, *reply(self._here, 0, request, start), 0.0)


def work(*processes: Process, named: bool = True) -> None:
    """All that they have to send; who names its start asks for the state first."""
    for one in processes:
        one.agent.state = None if named else one.agent.state
    for _ in range(40):
        for one in processes:
            one.send(named)


def test_the_later_one_wins_and_the_earlier_halts(pair: Federation, tmp_path: Path) -> None:
    first = Process(pair, tmp_path / "a")
    first.learn()
    work(first)
    first.durable.flush()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    second = Process(pair, tmp_path / "b")
    assert second.durable.start.number == first.durable.start.number + 1
    second.learn()
    work(second)
    assert not second.agent.halted
    first.learn()
    work(first)
    assert first.agent.halted
    with pytest.raises(incfed.InputError, match=r"^state: .*stop the other and start this one"):
        raise first.agent.problem or AssertionError
    first.durable.close()
    again = Process(pair, tmp_path / "a")  # as the error says
    work(again)
    assert not again.agent.halted
    second.learn()
    work(second)
    assert second.agent.halted


def test_copies_that_started_while_the_coordinator_was_away(
    pair: Federation, tmp_path: Path
) -> None:
    """Both arrive at the same number: the random part tells them apart, and one halts."""
    Process(pair, tmp_path / "a").durable.close()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    twins = [Process(pair, tmp_path / name) for name in "ab"]
    numbers = [twin.durable.start.number for twin in twins]
    assert numbers[0] == numbers[1]
    work(*twins)
    assert [twin.agent.halted for twin in twins] == [False, True]


def test_requests_of_an_earlier_start_are_refused_in_any_order(pair: Federation) -> None:
    here = pair.coordinator
    here.come_from(0, "2-aaaaaaaa")
    for old in ("1-aaaaaaaa", "2-bbbbbbbb"):
        with pytest.raises(Conflict, match=r"^Incfed-Start: got \d, must be 2: another process"):
            here.come_from(0, old)
    here.come_from(1, "1-aaaaaaaa")  # another client's
    here.come_from(0, "3-bbbbbbbb")
    assert here.last_start(0) == 3
    here.come_from(0, None)  # as a request that was written by hand
    here.open_round(0)


def test_what_only_reads_tells_starts_apart_too(pair: Federation) -> None:
    """Whichever coordinator is asked: nothing of it is kept in memory."""
    first, last, other = Start(1, "aaaaaaaa"), Start(2, "bbbbbbbb"), Start(1, "cccccccc")
    here, there = pair.coordinator, pair.another()
    asked = [Caller(0, first), Caller(1, other), Caller(1)]
    assert all(isinstance(one, StateView) for one in here.states(asked))
    assert here.last_start(0) == 1
    [news] = there.downloads([Wanted(0, None, start=last)])
    assert isinstance(news, Download)
    assert here.last_start(0) == 2
    refused, *answered = here.states(asked)
    assert isinstance(refused, Conflict)
    assert str(refused).startswith("Incfed-Start: got 1, must be 2: another process")
    assert all(isinstance(one, StateView) for one in answered)
    [old, news] = here.downloads([Wanted(0, None, start=first), Wanted(0, None, start=last)])
    assert isinstance(old, Conflict)
    assert isinstance(news, Download)


def test_to_refuse_an_earlier_start_takes_no_lock(
    pair: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one process that does not give up would keep everybody's polls waiting."""
    here = pair.coordinator
    here.come_from(0, "2-aaaaaaaa")
    monkeypatch.setattr(pair.store, "write", None)
    for old in (Start(1, "aaaaaaaa"), Start(2, "bbbbbbbb")):
        for [refused] in (
            here.states([Caller(0, old)]), here.downloads([Wanted(0, None, start=old)])
        ):  # fmt: skip
            assert isinstance(refused, Conflict)
            assert str(refused).startswith(f"Incfed-Start: got {old.number}, must be 2: another")


def test_an_answer_and_a_delivery_name_their_upload(pair: Federation) -> None:
    here = pair.coordinator
    mine, other = made(1, 0, ONE, 2.0).dV.digest(), made(1, 0, TWO, 2.0).dV.digest()
    pair.upload([0, 1], [ONE, ONE], 2.0)
    with pytest.raises(Conflict, match=r"^upload: must be the digest of your upload"):
        here.answer(0, Answer(1, 1, True, other))
    with pytest.raises(Conflict, match=r"^upload: must be the digest of your upload"):
        here.deliver(0, Delivery(1, 2.0 * ONE[0], upload=other))
    here.answer(0, Answer(1, 1, True, mine))
    here.deliver(0, Delivery(1, ONE[0], upload=mine))
    here.deliver(1, Delivery(1, ONE[0]))  # it need not
    assert pair.of("closed")


@pytest.mark.parametrize("finds_out", ["by its upload", "by its answer", "after a crash"])
def test_dV_of_one_and_db_of_the_other(pair: Federation, tmp_path: Path, finds_out: str) -> None:
    """Of two that name no start, who comes second sits the round out."""
    here = pair.coordinator
    late = Process(pair, tmp_path / "a")
    late.learn()
    here.open_round(1)
    here.upload(1, made(1, 0, ONE[:0], 0.0))
    if finds_out != "by its upload":
        late.durable.freeze(1, lambda _: 1.0)
    x = np.random.default_rng(9).standard_normal((4, DIM))
    if finds_out == "by its upload":
        late.agent.state = here.state(0)  # from before
        late.agent._has_settings = True
    here.upload(0, made(1, 0, x, 1.0))
    if finds_out == "after a crash":
        late.durable.close()
        pair.deliver(0, 1, x)
        late = Process(pair, tmp_path / "a")
        work(late, named=False)
        assert late.agent.halted
        assert "start with a new folder" in str(late.agent.problem)
        return
    work(late, named=False)
    assert late.durable.learner.frozen is None
    assert late.durable.pending == 1
    assert not pair.of("answered")
    pair.deliver(0, 1, x)
    [closed] = pair.of("closed")
    with pair.store.read() as connection:
        V, b = read_epoch(connection, closed["epoch"], DIM)
        assert audit(connection).findings == []
    np.testing.assert_allclose(V, x.T @ x)
    np.testing.assert_allclose(b, x.sum(axis=0))
    late.agent.state = None
    work(late, named=False)
    assert late.agent.halted  # its client has shared what its folder does not know
    assert late.durable.pending == 1


@pytest.mark.parametrize("steps", [1, DIM + 1])
def test_a_new_folder_that_learned_as_many_steps_as_the_old_one(tmp_path: Path, steps: int) -> None:
    """Rows are streamed: the old one's are the upload, and the new one has no db for them."""
    two = federate(tmp_path, trigger=incfed.Patient(0.0))
    old = Process(two, tmp_path / "a")
    old.learn(steps)
    here = two.coordinator
    signal = old.durable.signal(lambda _: 0.0, None)
    new = Process(two, tmp_path / "new")
    new.learn(steps)
    new.agent._has_settings, new.agent.state = True, here.state(0)
    request = new.agent.next_request(0.0)  # a signal of as many steps, which comes too late
    assert request is not None
    assert request.kind == "signal"
    here.come_from(0, str(old.durable.start))
    assert here.signal(0, signal).active is not None
    new.durable.start = new.durable.start._replace(number=9)
    answer = reply(here, 0, request, str(new.durable.start))
    new.agent.replied(request, *answer, 0.0)
    work(new)
    assert not two.of("delivered")
    two.store.close()
