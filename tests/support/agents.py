"""A client's agent without threads, one request at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from incfed.service.client.agent import Agent, Backoff
from incfed.service.client.durable_learner import DurableLearner
from incfed.service.client.policies import accept_all, cost_function
from incfed.service.client.state_folder import Snapshot
from incfed.service.client.traffic import Traffic
from incfed.service.codec import read
from incfed.service.requests import Request
from incfed.service.wire import FederationView
from support.fake_coordinator import Fake


class Harness:
    """Client 0 of a fake coordinator, and a clock that stands still."""

    def __init__(self, folder: Path, count: int = 1, **settings: Any) -> None:
        self.fake = Fake(count, 2, **settings)
        said = self.fake.handle(0, "GET", "/v1/federation", None)[1]
        self.durable = DurableLearner(folder, Snapshot.new(read(FederationView, said)))
        self.agent = Agent(self.durable, cost_function(1.0), accept_all, Traffic())
        self.agent.backoff = Backoff(np.random.default_rng(0))
        self.now = 0.0

    def next(self) -> Request | None:
        return self.agent.next_request(self.now)

    def kind(self) -> str | None:
        request = self.next()
        return request and request.kind

    def reply(self, request: Request | None) -> str:
        assert request is not None
        said = self.fake.handle(0, request.method, request.path, request.body)
        self.agent.replied(request, *said, self.now)
        return request.kind

    def work(self) -> list[str]:
        """All errands until there is none."""
        done = []
        while (request := self.next()) is not None:
            done.append(self.reply(request))
            assert len(done) < 50, "it says the same again and again"
        return done

    def poll(self) -> None:
        self.reply(self.agent.poll(self.now))
