"""Clients that exchange data with the server alone: how the simulator runs an `Asynchronous`
protocol."""

from __future__ import annotations

import math

import numpy as np

from ..kernels.exchange import Exchanges, advance_asynchronous
from ..kernels.step import FULL, Steps
from ..kernels.store import make_room
from ..kernels.trust import Personal
from ..kernels.ucb import Bench, Rules
from ..protocol.protocols import Asynchronous
from ..protocol.server import Closed
from ..protocol.traffic import packed_model
from ..types import Floats, Ints, Mask
from .run import Run, StepTraffic


class AsynchronousRun(Run):
    """Every upload is recorded as a round of one client."""

    def __init__(
        self, protocol: Asynchronous, count: int, dim: int, rules: Rules, bench: Bench,
        costs: Floats, personal: Personal | None = None,
    ) -> None:  # fmt: skip
        super().__init__(count, dim, rules, bench)
        self._upload = math.log(protocol.upload)
        self._download = math.nan if protocol.download is None else math.log(protocol.download)
        self._costs, self._personal = costs, personal
        self._scores = 0 if personal is None else personal.scalars
        self._sent: list[Ints] = [np.empty(0, np.int64)]

    def advance(self, steps: Steps, first: int) -> None:
        n = len(steps.clients)
        exchanges = Exchanges(
            self._upload, self._download, self._costs, np.zeros(n, np.int64), np.zeros(n)
        )
        done, state = 0, FULL
        while state == FULL:
            self.store = make_room(self.store)
            done, state = advance_asynchronous(
                self._personal, *steps, *exchanges, *self.store, *self.rules, *self.bench, done
            )
        self._sent.append(exchanges.sent)
        model = self.dim**2 + self.dim + self._scores
        scalars = float(2 * model if math.isnan(self._download) else model)
        for t in np.flatnonzero(exchanges.sent).tolist():
            client = steps.clients[t : t + 1].copy()
            closed = Closed(client, exchanges.paid[t : t + 1].copy(), 0, scalars, 1.0)
            self.log(first + t, int(client[0]), 1, closed)

    def traffic(self, matched: Mask, fetched: Ints) -> StepTraffic:
        sent, model = np.concatenate(self._sent), self.dim**2 + self.dim + self._scores
        scalars = np.where(sent > 0, float(model), 0.0)
        scalars[(sent > 0) if math.isnan(self._download) else (fetched > 0)] += model
        packed = packed_model(sent, self.dim) + packed_model(fetched, self.dim)
        packed += self._scores * ((sent > 0).astype(np.float64) + (fetched > 0))
        return StepTraffic(scalars, packed)
