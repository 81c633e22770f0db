"""Clients that exchange data with the server alone."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass

import numpy as np

from ..kernels.exchange import Exchanges, advance_asynchronous
from ..kernels.step import FULL, Steps
from ..kernels.store import make_room
from ..types import Ints, Mask
from .open_round import Closed
from .policies import Policies
from .policy_steps import PolicySteps
from .run import LoggedRound, Protocol, Run, Setup, StepTraffic
from .traffic import packed_model


@dataclass(frozen=True)
class Asynchronous(Protocol):
    """A client and the server exchange data alone.

    A client uploads its pending data when det V_i > upload * det(V_i - dV_i). download: None brings
    the model with every upload, which is paid what data does not cover of the cost. A ratio: the
    client downloads when it acts and the server's determinant exceeds that of what the client has
    by this ratio; an upload is then paid in full.
    """

    upload: float
    download: float | None = None

    def start(self, setup: Setup) -> Run:
        return AsynchronousRun(self, setup)


class AsynchronousRun(Run):
    """Every upload is recorded as a round of one client."""

    def __init__(self, protocol: Asynchronous, setup: Setup) -> None:
        super().__init__(setup, cached=False)  # no model is shared
        self._upload = math.log(protocol.upload)
        self._download = math.nan if protocol.download is None else math.log(protocol.download)
        self._costs = setup.costs
        self._exchanges: Exchanges  # of the steps that are being run
        self._choosing: PolicySteps | None = None
        if setup.policy is not None:
            policies = Policies(setup.policy, setup.seed)
            self._choosing = PolicySteps(self, policies, self._one_step)
        self._sent: list[Ints] = [np.empty(0, np.int64)]

    def advance(self, steps: Steps, first: int) -> None:
        n = len(steps.clients)
        exchanges = Exchanges(
            self._upload, self._download, self._costs, np.zeros(n, np.int64), np.zeros(n)
        )
        if self._choosing is not None:
            self._exchanges = exchanges
            for t in range(n):
                self._choosing.run(steps, t)
        else:
            done, state = 0, FULL
            while state == FULL:
                self.store = make_room(self.store)
                done, state = self._kernel(steps, exchanges, done)
        self._sent.append(exchanges.sent)
        model = self.dim**2 + self.dim + self.scores
        scalars = float(2 * model if math.isnan(self._download) else model)
        for t in np.flatnonzero(exchanges.sent).tolist():
            client, sent = steps.clients[t : t + 1].copy(), exchanges.sent[t : t + 1]
            closed = Closed(client, exchanges.paid[t : t + 1].copy(), 0, scalars, 1.0)
            self.log.append(LoggedRound(first + t, int(client[0]), closed, sent, sent))

    def _kernel(self, steps: Steps, exchanges: Exchanges, begin: int) -> tuple[int, int]:
        return advance_asynchronous(
            self.personal, *steps, *exchanges, *self.store, *self.rules, *self.bench, begin
        )

    def _one_step(self, one: Steps, t: int) -> tuple[int, int]:
        """Step t, for a policy of the user's own."""
        sent, paid = self._exchanges.sent[t : t + 1], self._exchanges.paid[t : t + 1]
        return self._kernel(one, self._exchanges._replace(sent=sent, paid=paid), 0)

    @property
    def propensity(self) -> array[float] | None:
        return None if self._choosing is None else self._choosing.propensity

    def traffic(self, matched: Mask, fetched: Ints) -> StepTraffic:
        sent, model = np.concatenate(self._sent), self.dim**2 + self.dim + self.scores
        scalars = np.where(sent > 0, float(model), 0.0)
        scalars[(sent > 0) if math.isnan(self._download) else (fetched > 0)] += model
        packed = packed_model(sent, self.dim) + packed_model(fetched, self.dim)
        packed += self.scores * ((sent > 0).astype(np.float64) + (fetched > 0))
        return StepTraffic(scalars, packed)
