"""The process of an example client: an application with `Client` in it, and a world to act in.

    python -m incfed.service.tour.member ORDERS

reports on its output, as JSON, a line at a time. Beside the real client learns another who shares
nothing and is shown the same arms, with the same luck: what sharing is worth, step for step.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...environments import Synthetic
from ...kernels.factor import Floats
from ...protocol.client import Learner
from ...support.files import write_text
from ..client.client import Client

OFTEN = 0.2  # seconds between reports
THINKING = 0.25  # seconds that an owner takes over a price or an offer, at an easy pace


class Orders(NamedTuple):
    url: str
    folder: str
    who: int
    seed: int
    cost: float
    rate: float  # steps a second
    world: dict[str, Any]


class Moment(NamedTuple):
    """What a client sees: arms [K, d], what each pays, and would on average."""

    arms: Floats
    rewards: Floats
    expected: Floats


def moments(world: Synthetic, seed: int, who: int) -> Iterator[Moment]:
    """The client's own part of the world's story."""
    stream = world.open(np.random.SeedSequence(seed))
    while True:
        events = stream.take(256)
        for t in np.flatnonzero(events.clients == who):
            arms = np.ascontiguousarray(stream.items[events.arms[t]])
            yield Moment(arms, events.rewards[t], events.expected[t])


class Member:
    def __init__(self, orders: Orders, client: Client) -> None:
        self.client = client
        self._progress = Path(orders.folder) / "progress.json"
        self._before: dict[str, Any] = {"steps": 0, "regret": 0.0, "scalars": 0, "bytes": 0}
        with suppress(OSError, ValueError):
            self._before |= json.loads(self._progress.read_text(encoding="utf-8"))
        self._regret = float(self._before["regret"])
        world = Synthetic(**orders.world)
        self._moments = moments(world, orders.seed, orders.who)
        rules = client._durable.terms.rules()
        self._alone, self._regret_alone = Learner(client.dim, rules), 0.0
        for k in range(client.steps):  # an earlier life's: the world goes on where it was
            # Steps between the last report and a kill -9 count for neither: what was picked is lost
            self._go_alone(next(self._moments), counts=k < self._before["steps"])

    def step(self) -> None:
        """As an application would: choose, see what comes of it, learn."""
        now = next(self._moments)
        picked = self.client.choose(now.arms)
        self.client.learn(now.arms[picked], float(now.rewards[picked]))
        self._regret += float(now.expected.max() - now.expected[picked])
        self._go_alone(now)

    def _go_alone(self, now: Moment, counts: bool = True) -> None:
        picked = self._alone.choose(now.arms)
        self._alone.learn(now.arms[picked], float(now.rewards[picked]))
        if counts:
            self._regret_alone += float(now.expected.max() - now.expected[picked])

    def report(self) -> dict[str, Any]:
        client, traffic = self.client, self.client.traffic
        kept = {
            "steps": client.steps,
            "regret": self._regret,
            "scalars": self._before["scalars"] + traffic.scalars_up + traffic.scalars_down,
            "bytes": self._before["bytes"] + traffic.bytes_sent + traffic.bytes_received,
        }
        write_text(self._progress, json.dumps(kept))
        now: dict[str, Any] = {"epoch": client.epoch, "pending": client.pending}
        now |= {"earned": client.earned, "alone": self._regret_alone}
        return {**now, **kept, "problem": str(client.problem) if client.problem else None}


def live(orders: Orders) -> None:
    """Until it is told to stop."""
    chance = np.random.default_rng([orders.seed, orders.who])
    token = (Path(orders.folder) / "token").read_text(encoding="ascii")
    pause = THINKING if orders.rate < 10.0 else 0.0

    def think(answer: Any) -> Any:
        """Nobody could follow a round that takes a hundredth of a second."""
        time.sleep(pause * chance.uniform(0.5, 1.5))
        return answer

    with Client(
        orders.url,
        token,
        Path(orders.folder) / "state",
        cost=lambda stake: float(think(orders.cost)),
        accept=lambda proposal: bool(think(True)),
    ) as client:
        member = Member(orders, client)
        try:
            due = reported = time.monotonic()
            say(member.report())
            while True:
                now = time.monotonic()
                if now >= due:
                    member.step()
                    due = max(now - 1.0, due) + min(3.0, chance.exponential()) / orders.rate
                if now >= reported + OFTEN:
                    say(member.report())
                    reported = now
                time.sleep(max(0.0, min(due, reported + OFTEN) - time.monotonic()))
        finally:
            say(member.report())


def say(report: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def main(text: str) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt, BrokenPipeError):
        live(Orders(**json.loads(text)))


if __name__ == "__main__":
    main(sys.argv[1])
