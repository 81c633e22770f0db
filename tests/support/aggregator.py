"""A coordinator's sums without a protocol around them: uploads in, a decision out, downloads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from incfed.kernels.trust import SCORES
from incfed.mechanisms import Decision, Mechanism
from incfed.protocol.global_statistics import GlobalStatistics
from incfed.protocol.messages import Download, Upload
from incfed.protocol.open_round import Closed, OpenRound, Server, Uploads
from incfed.protocol.packing import pack_matrix
from incfed.rules.rounds import RoundRules
from reference.mechanisms import FloatArray


class Aggregator:
    def __init__(self, count: int, dim: int, mechanism: Mechanism, ridge: float) -> None:
        self.dim = dim
        nothing = GlobalStatistics.empty(dim, ridge)
        self.server = Server(RoundRules(mechanism), ridge, count, nothing)
        self.past = [nothing]  # by epoch
        self.shared: list[dict[int, float]] = []  # by epoch - 1: who shared, and was paid what
        self.scores, self.steps = np.zeros(SCORES), 0  # of all that was shared

    @property
    def epoch(self) -> int:
        return len(self.past) - 1

    def decide(self, uploads: dict[int, Upload]) -> tuple[OpenRound, Decision]:
        """Line 11, of those with something to share."""
        sent = Uploads.of(uploads, self.past.__getitem__, self.epoch, self.server.ridge)
        opened = OpenRound(self.server, sent, trigger=0)
        return opened, opened.ask()

    def close(
        self, opened: OpenRound, decision: Decision, db: Callable[[int], FloatArray]
    ) -> tuple[int, Closed]:
        """Lines 12-20; returns the new epoch."""
        members = opened.uploads.clients[decision.participants].tolist()
        rows = np.array([db(client) for client in members]).reshape(-1, self.dim)
        self.server, closed = opened.close(decision, rows)
        self.past.append(self.server.shared)
        self.shared.append(dict(zip(members, closed.payments.tolist(), strict=True)))
        return self.epoch, closed

    def pool(self, scores: FloatArray | None, steps: int) -> None:
        """What a participant sends if it compares models; and its steps."""
        self.scores += 0.0 if scores is None else scores
        self.steps += steps

    def download(
        self, client: int, since: int | None, rounds: dict[int, int], acted: int = 0
    ) -> Download:
        """What is new; `rounds`: the number of the round that made each epoch. Scores come only
        with data of others, new since epoch `acted`, the one with which the client last acted."""
        now = self.server.shared
        then = self.past[since or 0]
        shared = {
            rounds[epoch]: self.shared[epoch - 1][client]
            for epoch in range((since or 0) + 1, self.epoch + 1)
            if client in self.shared[epoch - 1]
        }
        known = None
        if self.scores[-1] and any(one.keys() - {client} for one in self.shared[acted:]):
            norm = np.trace(now.V) / self.steps
            known = np.append(self.scores[:-1] / self.scores[-1], norm)
        new = pack_matrix(now.V - then.V)
        return Download(self.epoch, since, new, now.b - then.b, shared, scores=known)
