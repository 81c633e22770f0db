"""Clients with interests of their own in a run: their true costs, and what they report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from ...mechanisms.base import Decision
from ...types import Floats, Ints, Mask
from ..money import round_up
from ..open_round import Closed, OpenRound
from ..strategy import MOST, Behaviour, LastRound, VaryingCosts, groups
from .base import Feature

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun

_STREAM = 2**31 + 1  # spawn key: beside that of `presence`


class Reports(Feature):
    """Clients report costs, and upload, as it suits them."""

    def __init__(self, run: SynchronousRun, strategy: Strategy) -> None:
        self._run, self._strategy = run, strategy
        self._begin()

    @classmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        costs, reports = run.members.costs, run.members.reports
        varying = costs if isinstance(costs, VaryingCosts) else None
        behaviours = [one for one in reports if isinstance(one, Behaviour)]
        if varying is None and not behaviours:
            return None
        return cls(run, Strategy(run.costs, varying, behaviours, run.seed))

    def _begin(self) -> None:
        run = self._run
        run.costs = round_up(self._strategy.begin(), run.server.rules.money_digits)

    def called(self, opened: OpenRound) -> OpenRound:
        """Without clients that keep their data to themselves."""
        clients, pending = opened.uploads.clients, np.zeros(self._run.count, np.int64)
        pending[clients] = opened.uploads.steps
        uploads = self._strategy.uploads(pending)[clients]
        silent = int(np.count_nonzero(~uploads))
        return opened.only(uploads, opened.count - silent) if silent else opened

    def closed(self, opened: OpenRound, decision: Decision, closed: Closed) -> Closed:
        closed = closed._replace(costs=self._strategy.costs[closed.participants])
        self._strategy.end(opened.uploads.clients, decision.payments)
        self._begin()
        return closed


class Strategy:
    """The clients of one run: their true costs, their reports, and what they remember."""

    def __init__(
        self,
        costs: Floats,
        varying: VaryingCosts | None,
        behaviours: Sequence[Behaviour],
        seed: int,
    ) -> None:
        count = len(costs)
        self._mean, self._varying = costs, varying
        self._groups = groups(behaviours, count)
        self._chance = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM,)))
        self.costs = costs  # of this round
        self.reports = costs
        self._last = LastRound(np.full(count, np.nan), np.zeros(count))

    def begin(self) -> Floats:
        """The costs of the next round, and what clients report: that is returned."""
        if self._varying is not None:
            draws = self._chance.standard_normal(len(self._mean))
            self.costs = self._varying.next(self._mean, self.costs, draws)
        self.reports = self.costs.copy()
        for behaviour, who in self._groups:
            last = LastRound(*(part[who] for part in self._last))
            self.reports[who] = np.clip(behaviour.report(self.costs[who], last), 0.0, MOST)
        return self.reports

    def uploads(self, pending: Ints) -> Mask:
        """Which clients upload."""
        found = ~np.zeros(len(self.costs), np.bool_)
        for behaviour, who in self._groups:
            found[who] &= behaviour.uploads(pending[who])
        return found

    def end(self, clients: Ints, payments: Floats) -> None:
        """Remember what the clients that uploaded reported, and what they were paid."""
        self._last.reports[clients] = self.reports[clients]
        self._last.paid[clients] = payments
