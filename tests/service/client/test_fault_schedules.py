"""Clients on a network that loses, repeats and delays, in processes that die: by seed.

The agents and their files are the real ones; network, clock and crashes are simulated. In the end
what each client learned is what it shared plus what it still has, no step lost and none twice.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import incfed
from incfed.service.client import state_folder
from incfed.service.client.agent import Agent, Backoff
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.client.policies import Accept, accept_all, cost_function
from incfed.service.client.state_folder import Snapshot
from incfed.service.client.sync import PendingSync
from incfed.service.client.traffic import Traffic
from incfed.service.codec import read
from incfed.service.requests import Request
from incfed.service.wire import FederationView
from support.fake_coordinator import Fake

DIM = 4
SCHEDULES = int(os.environ.get("INCFED_SCHEDULES", "20"))  # of each kind; more in `make soak`


class Member:
    """One client's process, and what it was told over all its lives."""

    def __init__(self, net: Net, who: int, folder: Path) -> None:
        self.net, self.who, self.folder = net, who, folder
        self.learned: list[tuple[Any, float]] = []
        self.late: list[tuple[Request, tuple[int, Any]]] = []  # answers to polls on their way
        folder.mkdir()
        self.start()

    def start(self) -> None:
        start = state_folder.load(self.folder)
        if start is None:
            _, said = self.net.fake.handle(self.who, "GET", "/v1/federation", None)
            start = Snapshot.new(read(FederationView, said))
        self.durable = DurableLearner(self.folder, start)
        cost = cost_function(lambda stake: 0.05 * stake.steps)
        self.agent = Agent(self.durable, cost, self.net.accept, Traffic())
        self.agent.backoff = Backoff(np.random.default_rng(self.who))
        self.late.clear()

    def crash(self) -> None:
        """kill -9: what was handed to the system is there, nothing else."""
        self.durable._journal.close()
        self.net.power(self)
        self.start()
        if self.net.cuts:
            del self.learned[self.durable.steps :]
        assert self.durable.steps == len(self.learned)

    def learn(self, x: Any, y: float) -> None:
        self.durable.learn(x, y)
        self.learned.append((x.copy(), y))

    def check(self) -> None:
        V, b = np.zeros((DIM, DIM)), np.zeros(DIM)
        for x, y in self.learned:
            V, b = V + np.outer(x, x), b + y * x
        pending, (V_given, b_given) = self.durable.learner.pending, self.net.fake.given[self.who]
        assert self.net.fake.steps_given[self.who] + pending.steps == len(self.learned)
        np.testing.assert_allclose(V_given + pending.V, V, atol=1e-9)
        np.testing.assert_allclose(b_given + pending.b, b, atol=1e-9)


class Net:
    def __init__(self, seed: int, folder: Path, fake: Fake, cuts: bool = False) -> None:
        self.chance, self.fake, self.now, self.cuts = np.random.default_rng(seed), fake, 0.0, cuts
        self.faults = True
        self.synced: dict[str, int] = {}
        self.stray: list[tuple[int, Request]] = []  # requests that arrive some time after
        self.accept: Accept = lambda _: bool(self.chance.random() < 0.8)
        self.members = [Member(self, who, folder / str(who)) for who in range(fake.count)]

    def fsync(self, fd: int) -> None:
        path = os.readlink(f"/proc/self/fd/{fd}")
        self.synced[path] = os.fstat(fd).st_size

    def power(self, member: Member) -> None:
        """A power cut takes some or all of what was not synced, and may leave rubbish."""
        if self.cuts:
            path = member.durable._journal.path
            size = path.stat().st_size
            kept = int(self.chance.integers(self.synced.get(str(path), 0), size + 1))
            with open(path, "r+b") as file:
                file.truncate(kept)
                file.seek(kept)
                file.write(self.chance.bytes(int(self.chance.integers(0, size - kept + 1))))

    def reach(self, who: int, request: Request) -> tuple[int, Any]:
        return self.fake.handle(who, request.method, request.path, request.body)

    def carry(self, member: Member, request: Request) -> None:
        """One request, and what the world makes of it."""
        agent, who = member.agent, member.who
        fate = 2 * self.chance.random() if self.faults else 1.0
        if fate < 0.06:  # lost on the way there
            agent.failed(request, ConnectionError("lost"), self.now)
        elif fate < 0.12:  # lost on the way back
            self.reach(who, request)
            agent.failed(request, ConnectionError("lost"), self.now)
        elif fate < 0.18:  # given up, and it arrives after all
            self.stray.append((who, request))
            agent.failed(request, ConnectionError("timed out"), self.now)
        elif fate < 0.22:
            member.crash()
        elif fate < 0.26:
            self.reach(who, request)
            member.crash()
        elif fate < 0.29:
            agent.replied(request, 503, None, self.now)
        else:
            if fate < 0.35:  # twice
                self.reach(who, request)
            agent.replied(request, *self.reach(who, request), self.now)

    def turn(self, member: Member) -> bool:
        """Does this member have anything to do?"""
        self.now += float(self.chance.exponential(3.0)) if self.faults else 1000.0
        if member.late and self.chance.random() < 0.5:
            late, reply = member.late.pop(int(self.chance.integers(len(member.late))))
            member.agent.replied(late, *reply, self.now)
        if (request := member.agent.next_request(self.now)) is not None:
            self.carry(member, request)
            return True
        if (poll := member.agent.poll(self.now)) is not None and len(member.late) < 2:
            member.late.append((poll, self.reach(member.who, poll)))
        return False

    def act(self) -> None:
        member = self.members[int(self.chance.integers(len(self.members)))]
        act = self.chance.random()
        if act < 0.15:
            x = self.chance.standard_normal(DIM)
            member.learn(x / np.linalg.norm(x), float(self.chance.standard_normal()))
        elif act < 0.17:
            member.crash()
        elif act < 0.19:
            self.fake.deadline()
        elif act < 0.21:
            member.agent.sync(PendingSync())
        elif act < 0.27 and self.stray:
            self.reach(*self.stray.pop(int(self.chance.integers(len(self.stray)))))
        else:
            self.turn(member)

    def settle(self) -> None:
        """The world is kind from now on: everybody catches up."""
        self.faults, self.accept = False, accept_all
        for who, request in self.stray:
            self.reach(who, request)
        syncs = [PendingSync() for _ in self.members]
        for member, sync in zip(self.members, syncs, strict=True):
            member.agent.sync(sync)
        for _ in range(40):
            busy = [self.turn(member) for member in self.members]
            if not any(busy):
                self.fake.deadline()
                for member in self.members:
                    if not member.agent.halted:
                        member.agent.state = None
        assert all(sync.future.done() for sync in syncs)


def play(seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch, cuts: bool = False) -> Fake:
    count = 1 + seed % 4
    kinds = [incfed.PayEveryone(), incfed.PaymentFree(), incfed.PaymentEfficient(beta=0.6)]
    fake = Fake(count, DIM, kinds[seed % 3], threshold=[0.2, 2.0][seed % 2])
    net = Net.__new__(Net)
    monkeypatch.setattr(os, "fsync", lambda fd: net.fsync(fd))
    net.__init__(seed, folder, fake, cuts)  # type: ignore[misc]
    for _ in range(400):
        net.act()
    net.settle()
    assert not fake.violations
    for member in net.members:
        assert member.agent.problem is None
        assert member.durable.learner.epoch == fake.epoch
        assert member.durable.learner.frozen is None
        member.check()
        member.durable._journal.close()
    shared = sum((V for V, _ in fake.given), np.zeros((DIM, DIM)))
    np.testing.assert_allclose(fake.aggregator.server.shared.V, shared, atol=1e-9)
    return fake


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_kill(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(seed, tmp_path, monkeypatch)


@pytest.mark.parametrize("seed", range(SCHEDULES, 2 * SCHEDULES))
def test_power_cuts(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(seed, tmp_path, monkeypatch, cuts=True)


@settings(max_examples=max(10, settings().max_examples // 20))  # in `make soak`: a thousand
@given(st.integers(2000, 2**32), st.booleans())
def test_any(seed: int, cuts: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        play(seed, Path(folder), monkeypatch, cuts)


def test_the_schedules_get_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = 0
    for seed in range(8):
        (tmp_path / str(seed)).mkdir()
        fake = play(seed, tmp_path / str(seed), monkeypatch)
        closed += sum(len(record.participants) > 0 for record in fake.closed)
    assert closed > 30
