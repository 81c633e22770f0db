"""A federation under faults, from a seed: messages lost, doubled, delayed, out of order and played
again; a coordinator and clients that die at named points, or are away for long; two processes with
copies of one folder; a clock that jumps; a disk that fills up.

One process. The coordinator, its SQLite, the clients' agents and their files are the real ones;
network, time and deaths are simulated. Everything follows from the seed.
"""

from __future__ import annotations

import heapq
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy.exc import OperationalError

import incfed
from incfed.ledger.clients import enrol
from incfed.ledger.settings import Settings
from incfed.service import requests
from incfed.service.client.sync import PendingSync
from incfed.service.codec import read
from incfed.service.requests import Request
from incfed.service.wire import FederationView
from support.failpoints import FAILPOINTS, POINTS, client_failpoints, coordinator_failpoints
from support.federation import TRUSTING, WIDE, Clock
from support.in_process_transport import DIM, Reply, reply
from support.simulated_client import Killed, Member
from support.single_messages import SingleCoordinator
from support.sqlite import Disk

TIMEOUT = 1.0  # seconds that a client waits for an answer
TICK = 0.5
NEWS = ("opened", "decided", "closed", "void")


class EventQueue:
    def __init__(self) -> None:
        self.time = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def number(self) -> int:
        """One that nothing else has."""
        return next(self._numbers)

    def later(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.time + delay, self.number(), action))

    def until(self, end: float, before_each: Callable[[], None]) -> None:
        """Let time pass."""
        while self._queue and self._queue[0][0] <= end:
            self.time, _, action = heapq.heappop(self._queue)
            before_each()
            action()
        self.time = end


class Died(BaseException):
    """The coordinator, in the middle of something."""


class Schedule(EventQueue):
    def __init__(self, seed: int, disk: Disk, folder: Path, **protocol: Any) -> None:
        super().__init__()
        self.chance = chance = np.random.default_rng(seed)
        self.disk, self.store = disk, disk.wipe()
        self.clock = Clock()
        self.jump = 0.0
        mechanisms = (incfed.PaymentEfficient(beta=0.8), incfed.PayEveryone(), incfed.PaymentFree())
        self.settings = Settings(
            dim=DIM, mechanism=mechanisms[seed % 3], upload_time=1.5,
            answer_time=1.5, live_time=15.0, attempts=2, barred_time=2.0, lag=2,
            budget=None if seed % 2 else float(chance.uniform(0, 8)), **WIDE, **TRUSTING,
            **protocol or {"threshold": 0.3},
        )  # fmt: skip
        self.point, self.place = POINTS[seed % len(POINTS)], FAILPOINTS[seed % len(FAILPOINTS)]
        self._spared = {self.point: 1 + seed // 13 % 2, self.place: 1 + seed // 18 % 2}
        self.faults = False
        self.seen: Counter[str] = Counter()  # faults, and what came of them
        self.events: list[dict[str, Any]] = []
        self.ghosts: list[Member] = []  # processes with a folder of which a copy is used now
        self._back = 0.0  # when the coordinator answers again
        self._sent: list[tuple[int, Request, str]] = []
        self._waiting: list[Callable[[], None]] = []  # polls
        self._holes: dict[tuple[int, int], bool] = {}  # does this delivery never arrive?
        self.coordinator = self._begin()
        costs = chance.choice([0.0, 0.5, 2.0, 10.0], 2 + seed // 3 % 3)
        self.members = []
        for k, stream in enumerate(chance.spawn(len(costs))):
            with self.store.write() as connection:
                enrol(connection, f"client {k}", self.clock())
            (folder / f"{seed}-{k}").mkdir()
            self.members.append(Member(k, float(costs[k]), folder / f"{seed}-{k}", stream))
            if any("answer" in one for one in (self.point, self.place)):
                self.members[-1].declines = 0.5  # only who declines answers
            self._rise(self.members[-1])
            self.later(chance.uniform(0, 1), partial(self._learn, self.members[-1]))
        self.later(TICK, self._tick)

    # --------------------------------------------------------------------- from outside

    def run(self, seconds: float) -> None:
        self.faults = True
        try:
            with client_failpoints(self._place), coordinator_failpoints(self._reached):
                self.until(seconds, self._set_clock)
        finally:
            self.faults = False

    def settle(self) -> None:
        """No more faults, but for a clock set back by more than anybody would wait: everybody comes
        to rest with what is shared."""
        self.disk.full = False
        self._back = 0.0
        self.jump -= 1000.0
        for member in self.members:
            member.good = True
        for _ in range(80):
            for member in self.members:
                if member.alive:
                    member.agent.sync(PendingSync())  # as `Client.sync` does: no backoff
                    self._go(member)
            self.until(self.time + 2.0, self._set_clock)
            if self._rests():
                return
        raise AssertionError("no rest")

    def close(self) -> None:
        for member in (*self.members, *self.ghosts):
            if member.alive:
                member.die()
        self.store.close()

    def _rests(self) -> bool:
        """Is no round running, and does everybody know all that is shared?"""
        now = self.coordinator.state(0)
        running = now.round is not None and now.round.stage in ("open", "offered")
        return not running and all(
            member.alive
            and not member.durable.due
            and (not member.durable.everyone or member.durable.learner.epoch == now.epoch)
            and member.durable.learner.frozen is None
            and not member.durable.learner.triggered
            for member in self.members
        )

    # ------------------------------------------------------------------ time and deaths

    def _set_clock(self) -> None:
        self.clock.now = 1_000_000.0 + self.time + self.jump

    def _begin(self) -> SingleCoordinator:
        return SingleCoordinator(self.store, self.settings, self.clock, self._said)

    def _said(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        if event["event"] in NEWS:
            waiting, self._waiting = self._waiting, []
            for again in waiting:
                self.later(0.0, again)

    def _reached(self, point: str) -> None:
        assert point in POINTS
        if self.faults and self._fatal(point, self.point):
            self.seen[f"coordinator died: {point}"] += 1
            raise Died(point)

    def _place(self, place: str) -> None:
        if self.faults and self._fatal(place, self.place):
            self.seen[f"client died: {place}"] += 1
            raise Killed(place)

    def _fatal(self, name: str, worst: str) -> bool:
        """Certainly where this schedule is at its worst, the first or second time; else rarely."""
        if name == worst and self._spared[name]:
            self._spared[name] -= 1
            return not self._spared[name]
        return bool(self.chance.random() < (0.2 if name == worst else 0.005))

    def _alive(self, member: Member, action: Callable[[], None]) -> None:
        """Something that a client does, and may not survive."""
        try:
            action()
        except Killed:
            member.die()
            if member not in self.ghosts:
                self.later(self.chance.choice([0.1, 0.5, 3.0]), partial(self._rise, member))

    def _copy(self, member: Member) -> None:
        """A second process with a copy of this one's folder; this one goes on."""
        self.seen["twin"] += 1
        folder = member.folder.with_name(f"{member.folder.name}+")
        shutil.copytree(member.folder, folder)
        twin = member.twin(folder, self.chance.spawn(1)[0])
        self.members[member.number] = twin
        self.ghosts.append(member)
        faults, self.faults = self.faults, False
        self._rise(twin)
        self.coordinator.come_from(twin.number, str(twin.durable.start))
        self.faults = faults
        self.later(self.chance.uniform(0, 1), partial(self._learn, twin))

    def _rise(self, member: Member) -> None:
        said = reply(self.coordinator, member.number, requests.get_federation())[1]
        try:
            member.start(read(FederationView, said))
        except Killed:
            self.later(0.5, partial(self._rise, member))
        else:
            self._go(member)

    def _dead(self) -> None:
        """The coordinator is started again; who waited for its news hears that it was gone."""
        self.store.close()
        full, self.disk.full = self.disk.full, False
        faults, self.faults = self.faults, False
        self.coordinator = self._begin()
        self.faults, self.disk.full = faults, full
        self._waiting.clear()

    # ------------------------------------------------------------- what everybody does

    def _learn(self, member: Member) -> None:
        if not self.faults:
            return
        if member.alive:
            self._alive(member, member.learn)
            self._go(member)
        self.later(self.chance.uniform(0.4, 1.0), partial(self._learn, member))

    def _go(self, member: Member) -> None:
        """What the client's thread does when it wakes."""
        if not member.alive:
            return

        def go() -> None:
            agent = member.agent
            if member in self.ghosts and agent.halted:
                assert "another one with a copy of this folder" in str(agent.problem)
                self.seen["twin halted"] += 1
                member.die()
                return
            assert not agent.halted, agent.problem
            if member.request is None and (request := agent.next_request(self.time)) is not None:
                member.request = self.number()
                self._send(member, request, member.request)
            if member.request is None and member.polling is None:
                if (poll := agent.poll(self.time)) is not None:
                    member.polling = self.number()
                    self._send(member, poll, member.polling)
                rest, life = agent.pause(self.time), member.life
                if rest is not None and not self.time < member.waking <= self.time + rest:
                    member.waking = self.time + rest
                    self.later(rest, lambda: self._go(member) if life == member.life else None)

        self._alive(member, go)

    def _send(self, member: Member, request: Request, number: int) -> None:
        self._place(f"{request.kind}.before")
        start = str(member.durable.start)
        self._sent.append((member.number, request, start))
        timeout = 3 * TIMEOUT if request.wait else TIMEOUT
        self.later(timeout, lambda: self._hear(member, number, request, None))
        copies = int(self.chance.choice([0, *[1] * 25, 2, 2])) if self.faults else 1
        if request.kind == "delivery":
            hole = self._holes.setdefault(
                (member.number, request.number), self.faults and self.chance.random() < 0.06
            )
            copies = 0 if hole else copies
        self.seen[("lost", "sent", "doubled")[copies]] += 1
        for _ in range(copies):
            self.later(self._delay(), lambda: self._arrive(member, request, number, start))

    def _delay(self) -> float:
        slow = self.faults and self.chance.random() < 0.05
        self.seen["delayed"] += slow
        return float(self.chance.uniform(0.5, 3) if slow else self.chance.uniform(0, 0.1))

    def _arrive(self, member: Member, request: Request, number: int, start: str) -> None:
        answer = self._ask(member.number, request, start)
        said = answer[1] if answer is not None and answer[0] == 200 else None
        known = isinstance(said, dict) and said.get("version", 0)
        if request.kind == "poll" and member.polling == number and 0 < known <= request.version:
            self._waiting.append(lambda: self._arrive(member, request, number, start))
            return
        if self.faults and self.chance.random() < 0.03:
            self.seen["answer lost"] += 1
            return
        self.later(self._delay(), lambda: self._hear(member, number, request, answer))

    def _ask(self, who: int, request: Request, start: str) -> Reply | None:
        if self.time < self._back:
            return None
        try:
            answer = reply(self.coordinator, who, request, start)
        except Died:
            self._dead()
            return None
        self.seen["disk full"] += answer[0] == 503
        return answer

    def _hear(self, member: Member, number: int, request: Request, answer: Reply | None) -> None:
        """An answer; None: there is none."""
        if not member.alive or number not in (member.request, member.polling):
            return
        member.request = None if number == member.request else member.request
        member.polling = None if number == member.polling else member.polling
        if answer is None:
            member.agent.failed(request, ConnectionError("no answer"), self.time)
        else:
            self._alive(member, lambda: member.agent.replied(request, *answer, self.time))
        self._go(member)

    def _tick(self) -> None:
        if self.faults:
            self._mischief()
        try:
            if self.time >= self._back:
                self.coordinator.tick()
        except Died:
            self._dead()
        except OperationalError as error:
            if "full" not in str(error):
                raise
            self.seen["disk full"] += 1
        self.later(TICK, self._tick)

    def _mischief(self) -> None:
        if self.chance.random() < 0.02:
            self.seen["long outage"] += 1
            self._back = self.time + float(self.chance.choice([3.0, 6.0]))
        once = self.members[int(self.chance.integers(len(self.members)))]
        if self.chance.random() < 0.015 and once.alive and not self.disk.full:
            self._copy(once)
        dice = self.chance.random()
        if dice < 0.04:
            jump = float(self.chance.choice([-1000.0, -5.0, 5.0, 1000.0]))
            self.seen[f"clock {'forward' if jump > 0 else 'back'}"] += 1
            self.jump += jump
        elif dice < 0.07:
            self.disk.full = True
        elif dice < 0.16:
            self.disk.full = False
        elif dice < 0.35 and self._sent:
            self.seen["replayed"] += 1
            self._ask(*self._sent[self.chance.integers(len(self._sent))])
