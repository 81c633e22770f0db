"""A coordinator and the library's own clients, agents and files included, in step with a trace:
whatever one step causes is over before the next."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import incfed
from incfed.protocol.presence import PresenceDraws
from incfed.rules.privacy import noise_stream
from incfed.service.client.agent import Agent, Backoff
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.client.policies import PLAIN, Discretion, accept_all, cost_function
from incfed.service.client.state_folder import Snapshot
from incfed.service.client.traffic import Traffic
from incfed.service.codec import read
from incfed.service.requests import Request, get_federation
from incfed.service.wire import FederationView
from support.federation import Federation
from support.in_process_transport import reply

LATER = 1000.0  # seconds after which nobody backs off any more


Ask = Callable[[int, Request], tuple[int, Any]]  # a client's request: status and reply


class Party:
    def __init__(
        self, ask: Ask, number: int, cost: float, folder: Path, discretion: Discretion = PLAIN
    ) -> None:
        self._ask, self.number = ask, number
        folder.mkdir()
        said = ask(number, get_federation())[1]
        start = Snapshot.new(read(FederationView, said))
        self.durable = DurableLearner(folder, start, None, discretion)
        batches = count()
        self.durable.learner.normals = lambda n: noise_stream(  # as in the simulator
            0, number, next(batches)
        ).standard_normal(n)
        self.agent = Agent(self.durable, cost_function(cost), accept_all, Traffic())
        self.agent.backoff = Backoff(np.random.default_rng(number))
        self.now = 0.0
        self.leaves = False  # after its upload: it does not answer offers

    def send(self, request: Request) -> None:
        self.agent.replied(request, *self._ask(self.number, request), self.now)
        assert self.agent.problem is None

    def work(self) -> bool:
        """All that it has to send; False: nothing."""
        self.now += LATER
        if (poll := self.agent.poll(self.now)) is not None:
            self.send(poll)
        busy = False
        while (request := self.agent.next_request(self.now)) is not None:
            if self.leaves and request.kind in ("answer", "delivery"):
                break
            self.send(request)
            busy = True
        return busy


def play(
    trace: incfed.Trace, federation: Federation, costs: Any, folder: Path,
    presence: PresenceDraws | None = None, ask: Ask | None = None, discretion: Discretion = PLAIN,
) -> list[float]:  # fmt: skip
    """The rewards. `presence`: who is there when a round opens, and stays; otherwise all are.
    `ask`: how clients reach the coordinator, if not directly."""
    ask = ask or partial(reply, federation.coordinator)
    parties = [
        Party(ask, i, float(costs[i]), folder / str(i), discretion) for i in range(trace.count)
    ]
    rewards = []
    for t, i in enumerate(trace.clients.tolist()):
        if presence is None:
            settle(parties)
        parties[i].durable.act()
        settle([parties[i]])
        arms = trace.items[trace.arms[t]]
        k = parties[i].durable.choose(arms)
        rewards.append(float(trace.rewards[t, k]))
        parties[i].durable.learn(arms[k], rewards[-1])
        opened = len(federation.of("opened"))
        for _ in range(2):  # the first time it may back off before it calls for a round
            settle([parties[i]])
        if presence is not None and len(federation.of("opened")) > opened:
            _attend(parties, federation, *presence.draw(t, i))
    if presence is None:
        settle(parties)
    for party in parties:
        party.durable.close()
    return rewards


def _attend(parties: list[Party], federation: Federation, uploads: Any, delivers: Any) -> None:
    """A round of those that are there: the others do nothing, until they act or are there again."""
    settings = federation.settings
    there = [party for party in parties if uploads[party.number]]
    for party in there:
        party.leaves = not delivers[party.number]
    settle(there)
    _wait(federation, settings.upload_time)  # for those that are away
    there = [party for party in there if not party.leaves]
    settle(there)
    while federation.coordinator.state(there[0].number).active is not None:
        _wait(federation, settings.answer_time)  # for those that left
        settle(there)
    for party in parties:
        party.leaves = False


def _wait(federation: Federation, seconds: float) -> None:
    federation.wait(seconds)


def settle(parties: list[Party]) -> None:
    """Until nobody has anything to send; a round is opened by the first that may."""
    while any(party.work() for party in parties):
        pass
