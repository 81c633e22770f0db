"""A federation under faults, from a seed: messages lost, doubled, delayed, out of order and played
again; a coordinator that dies at named points; a clock that jumps; a disk that fills up.

One process, real SQLite, a simulated network and clock. Clients keep their state (their disk), ask
one thing at a time, and forget a question that was not answered in time.
"""

from __future__ import annotations

import heapq
import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

import incfed
from federations import WIDE, Clock
from incfed.kernels.step import Rules
from incfed.ledger.clients import enrol
from incfed.ledger.settings import Settings
from incfed.ledger.store import Store
from incfed.protocol.checks import Refusal
from incfed.protocol.client import Learner
from incfed.protocol.messages import Answer, Delivery, Download
from incfed.service.coordinator.coordinator import Coordinator
from incfed.service.coordinator.looking import State

DIM = 3
POINTS = ("before", "opened", "uploaded", "deciding", "offered", "answered", "delivered",
          "deciding again", "adding", "paying", "closing", "committing", "committed")  # fmt: skip
PATIENCE = 2.0  # seconds that a client waits for an answer


class Died(BaseException):
    """The coordinator, in the middle of something."""


class Agent:
    """A client: what it learned in all, what it thinks it shared, and what to ask next."""

    def __init__(self, number: int, cost: float, chance: np.random.Generator) -> None:
        rules = Rules(0.1, 0.1, 1.0, float("nan"), 0.3, False, 1)
        self.number, self.cost, self.chance = number, cost, chance
        self.learner = Learner(DIM, rules)
        self.V, self.b = np.zeros((DIM, DIM)), np.zeros(DIM)
        self.paid: dict[int, float] = {}
        self.promised: dict[int, float] = {}  # by round, when it delivered
        self.view: State | None = None
        self.asked: int | None = None  # the question it waits for
        self.moods: dict[int, str] = {}  # by round
        self.good = False  # from the end on: no more moods

    def learn(self) -> None:
        x, y = self.chance.standard_normal(DIM), float(self.chance.standard_normal())
        self.V += np.outer(x, x)
        self.b += y * x
        self.learner.learn(x, y)

    def question(self) -> tuple[str, tuple[Any, ...]] | None:
        """What to ask now; every decision is taken on a view that is used once."""
        view, self.view = self.view, None
        if view is None:
            return "state", ()
        seen, frozen = view.round, self.learner.frozen
        running = seen is not None and seen.stage in ("open", "offered")
        if frozen is not None and not (running and seen and seen.number == frozen[0]):
            return "download", (self.learner.epoch,)  # that round is over
        behind = frozen is None and view.epoch > self.learner.epoch
        if behind and not (running and self.chance.random() < 0.3):
            return "download", (self.learner.epoch,)
        if seen is None or not running:
            return ("open_round", (view.epoch,)) if self.learner.triggered else None
        if seen.stage == "open":
            if seen.uploaded:
                return None
            return "upload", (self.learner.freeze(seen.number, self.cost),)
        if seen.offer is None or seen.delivered or frozen is None:
            return None
        mood = self._mood(seen.number)
        if mood in ("silent",) or (mood == "promises" and seen.answered):
            return None
        if mood == "declines" and not seen.answered:
            return "answer", (Answer(seen.number, seen.offer.attempt, False),)
        if mood == "answers" and not seen.answered:
            return "answer", (Answer(seen.number, seen.offer.attempt, True),)
        if mood == "promises":
            return "answer", (Answer(seen.number, seen.offer.attempt, True),)
        if mood == "declines":
            return None
        self.promised[seen.number] = seen.offer.payment
        return "deliver", (Delivery(seen.number, self.learner.deliver(seen.number)),)

    def told(self, answer: State | Download) -> None:
        if isinstance(answer, State):
            self.view = answer
        else:
            assert not set(answer.shared) & set(self.paid), "told twice of one round"
            self.learner.take_in(answer)
            self.paid |= answer.shared

    def _mood(self, round: int) -> str:
        moods = 4 * ["answers", "delivers"] + ["declines", "promises", "silent"]
        drawn = self.moods.setdefault(round, str(self.chance.choice(moods)))
        return "delivers" if self.good else drawn


class Schedule:
    """Everything that happens follows from the seed."""

    def __init__(self, seed: int, template: Path, folder: Path) -> None:
        self.chance = chance = np.random.default_rng(seed)
        self.path = folder / f"{seed}.db"
        shutil.copy(template, self.path)
        self.clock = Clock()
        mechanisms = (incfed.PaymentEfficient(beta=0.8), incfed.PayEveryone(), incfed.PaymentFree())
        self.settings = Settings(
            dim=DIM, mechanism=mechanisms[seed % 3], threshold=0.3, upload_time=3.0,
            answer_time=3.0, live_time=15.0, attempts=2, barred_rounds=1, lag=2,
            budget=None if seed % 2 else float(chance.uniform(5, 60)), **WIDE,
        )  # fmt: skip
        self.faults = True
        self.full = False  # is the disk?
        self.crashes = 0
        self.events: list[dict[str, Any]] = []
        self.coordinator = self._start()
        costs = chance.choice([0.0, 0.5, 2.0, 10.0], 4)
        streams = chance.spawn(len(costs))
        self.agents = [Agent(k, float(c), streams[k]) for k, c in enumerate(costs)]
        with self.store.write() as connection:
            for agent in self.agents:
                enrol(connection, f"client {agent.number}", self.clock())
        self.time = 0.0
        self.jump = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._sent: list[tuple[Agent, str, tuple[Any, ...]]] = []

    def run(self, seconds: float) -> None:
        for agent in self.agents:
            self._later(self.chance.uniform(0, 1), partial(self._wake, agent))
        self._later(1.0, self._tick)
        self._until(seconds)

    def settle(self) -> None:
        """No more faults: everybody comes to rest with what is shared."""
        self.faults = self.full = False
        for agent in self.agents:
            agent.good = True
        for _ in range(60):
            self._until(self.time + 1.0)
            if self.rests():
                break

    def rests(self) -> bool:
        """Is no round running, and does everybody know all that is shared?"""
        seen = self.coordinator.state(0)
        running = seen.round is not None and seen.round.stage in ("open", "offered")
        learners = [agent.learner for agent in self.agents]
        known = all(one.epoch == seen.epoch and one.frozen is None for one in learners)
        eager = any(one.triggered for one in learners)
        return known and not running and not eager

    def close(self) -> None:
        self.store.close()

    def _start(self) -> Coordinator:
        self.store = Store(f"sqlite:///{self.path}")

        @event.listens_for(self.store.engine, "connect")
        def connected(connection: Any, _: object) -> None:
            connection.execute("PRAGMA synchronous = OFF")  # nothing here cuts the power

        @event.listens_for(self.store.engine, "begin")
        def begun(connection: Any) -> None:
            used = connection.exec_driver_sql("PRAGMA page_count").scalar()
            most = used if self.full else 2**30
            connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")

        self.store.engine.dispose()  # what it has opened already
        return Coordinator(
            self.store, self.settings, self.clock, said=self.events.append, reached=self._reached
        )

    def _reached(self, point: str) -> None:
        assert point in POINTS
        if self.faults and self.chance.random() < 0.02:
            self.crashes += 1
            raise Died(point)

    def _until(self, end: float) -> None:
        while self._queue and self._queue[0][0] <= end:
            self.time, _, action = heapq.heappop(self._queue)
            self.clock.now = 1_000_000.0 + self.time + self.jump
            action()
        self.time = end

    def _later(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.time + delay, next(self._numbers), action))

    def _wake(self, agent: Agent) -> None:
        if self.faults:
            agent.learn()
        self._ask(agent)
        self._later(self.chance.uniform(0.4, 1.0), lambda: self._wake(agent))

    def _ask(self, agent: Agent) -> None:
        if agent.asked is None and (question := agent.question()) is not None:
            agent.asked = number = next(self._numbers)
            self._send(agent, *question, number)
            self._later(PATIENCE, lambda: self._give_up(agent, number))

    def _give_up(self, agent: Agent, number: int) -> None:
        if agent.asked == number:
            agent.asked, agent.view = None, None

    def _send(self, agent: Agent, name: str, arguments: tuple[Any, ...], number: int) -> None:
        self._sent.append((agent, name, arguments))
        copies = self.chance.choice([0, 1, 1, 1, 1, 1, 1, 2]) if self.faults else 1
        for _ in range(copies):
            self._later(self._delay(), lambda: self._arrive(agent, name, arguments, number))

    def _delay(self) -> float:
        slow = self.faults and self.chance.random() < 0.1
        return float(self.chance.uniform(1, 6) if slow else self.chance.uniform(0, 0.1))

    def _arrive(self, agent: Agent, name: str, arguments: tuple[Any, ...], number: int) -> None:
        answer: Any = None
        try:
            answer = getattr(self.coordinator, name)(agent.number, *arguments)
        except Died:
            self._restart()
        except Refusal:
            agent.view = None
        except OperationalError as error:
            if "full" not in str(error):
                raise
        if not (self.faults and self.chance.random() < 0.1):
            self._later(self._delay(), lambda: self._answer(agent, number, answer))

    def _answer(self, agent: Agent, number: int, answer: Any) -> None:
        if agent.asked == number:
            agent.asked = None
            if answer is not None:
                agent.told(answer)
                if agent.view is not None:
                    self._ask(agent)

    def _tick(self) -> None:
        if self.faults:
            self._mischief()
        try:
            self.coordinator.tick()
        except Died:
            self._restart()
        except OperationalError as error:
            if "full" not in str(error):
                raise
        self._later(0.5, self._tick)

    def _mischief(self) -> None:
        dice = self.chance.random()
        if dice < 0.03:
            self.jump += float(self.chance.choice([-1000.0, -5.0, 5.0, 1000.0]))
        elif dice < 0.06:
            self.full = True
        elif dice < 0.12:
            self.full = False
        elif dice < 0.3 and self._sent:
            agent, name, arguments = self._sent[self.chance.integers(len(self._sent))]
            self._arrive(agent, name, arguments, -1)

    def _restart(self) -> None:
        self.store.close()
        faults, self.faults = self.faults, False
        full, self.full = self.full, False
        self.coordinator = self._start()
        self.faults, self.full = faults, full
