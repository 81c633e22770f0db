"""An example client: a process that uses `Client` as an application would, in a synthetic world.

    python -m incfed.service.tour.example_client TASK

writes a report to its folder several times a second. Beside the client runs a learner that sees the
same arms and rewards but shares nothing: the difference in regret is what sharing is worth.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...environments import Synthetic
from ...protocol.client import Learner
from ...support.files import write_text
from ...types import Floats
from ..client.client import Client
from ..client.durable_learner import rules

REPORT = "progress.json"  # in the client's folder
REPORT_EVERY = 0.2  # seconds
THINKING_TIME = 0.25  # seconds that an owner takes to name a price or to answer, at a slow pace


class ClientTask(NamedTuple):
    """The task of the client, as JSON on its command line."""

    url: str
    folder: str
    who: int
    seed: int
    cost: float
    rate: float  # steps a second
    world: dict[str, Any]


class Event(NamedTuple):
    """A step as a client sees it: arms [K, d], their rewards and expected rewards."""

    arms: Floats
    rewards: Floats
    expected: Floats


def events_of(world: Synthetic, seed: int, who: int) -> Iterator[Event]:
    """The events of one client."""
    stream = world.open(np.random.SeedSequence(seed))
    while True:
        events = stream.take(256)
        for t in np.flatnonzero(events.clients == who):
            arms = np.ascontiguousarray(stream.items[events.arms[t]])
            yield Event(arms, events.rewards[t], events.expected[t])


def read_report(folder: Path) -> dict[str, Any]:
    """The last report of the client in this folder; empty if there is none yet."""
    report: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        report |= json.loads((folder / REPORT).read_text(encoding="utf-8"))
    return report


def take_step(learner: Client | Learner, now: Event) -> float:
    """Do as an application does: choose, observe the reward, learn. Returns the regret."""
    picked = learner.choose(now.arms)
    learner.learn(now.arms[picked], float(now.rewards[picked]))
    return float(now.expected.max() - now.expected[picked])


class ExampleClient:
    def __init__(self, task: ClientTask, client: Client) -> None:
        self.client, self._folder = client, Path(task.folder)
        nothing = {"steps": 0, "regret": 0.0, "scalars": 0, "bytes": 0}
        self._earlier = nothing | read_report(self._folder)
        self._regret = self._earlier["regret"]
        self._events = events_of(Synthetic(**task.world), task.seed, task.who)
        self._alone, self._regret_alone = Learner(client.dim, rules(client.settings)), 0.0
        for k in range(client.steps):  # of an earlier process: go on where it stopped
            regret = take_step(self._alone, next(self._events))
            if k < self._earlier["steps"]:  # else after its last report: its choices are lost
                self._regret_alone += regret

    def step(self) -> None:
        now = next(self._events)
        self._regret += take_step(self.client, now)
        self._regret_alone += take_step(self._alone, now)

    def report(self) -> None:
        client, traffic = self.client, self.client.traffic
        report = {
            "pid": os.getpid(),
            "steps": client.steps,
            "epoch": client.epoch,
            "pending": client.pending,
            "earned": client.earned,
            "scalars": self._earlier["scalars"] + traffic.scalars_up + traffic.scalars_down,
            "bytes": self._earlier["bytes"] + traffic.bytes_sent + traffic.bytes_received,
            "regret": self._regret,
            "alone": self._regret_alone,
            "problem": str(client.problem) if client.problem else None,
        }
        write_text(self._folder / REPORT, json.dumps(report))


def run(task: ClientTask) -> None:
    """Until SIGTERM."""
    chance = np.random.default_rng([task.seed, task.who])
    token = (Path(task.folder) / "token").read_text(encoding="ascii")
    pause = THINKING_TIME if task.rate < 10.0 else 0.0

    def think(answer: Any) -> Any:
        """A round that takes a hundredth of a second would be too fast to watch."""
        time.sleep(pause * chance.uniform(0.5, 1.5))
        return answer

    with Client(
        task.url,
        token,
        Path(task.folder) / "state",
        cost=lambda stake: float(think(task.cost)),
        accept=lambda proposal: bool(think(True)),
    ) as client:
        example = ExampleClient(task, client)
        try:
            due = reported = time.monotonic()
            example.report()
            while True:
                now = time.monotonic()
                if now >= due:
                    example.step()
                    due = max(now - 1.0, due) + min(3.0, chance.exponential()) / task.rate
                if now >= reported + REPORT_EVERY:
                    example.report()
                    reported = now
                time.sleep(max(0.0, min(due, reported + REPORT_EVERY) - time.monotonic()))
        finally:
            example.report()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        run(ClientTask(**json.loads(sys.argv[1])))
