"""Signals that clients stream between rounds, by which the server decides when one opens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from ...kernels.signals import Signals, know
from ...mechanisms.base import Decision
from ...types import Floats, Ints
from .. import deciding
from ..open_round import Closed, OpenRound
from ..triggers import ROWS
from .base import Feature

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


class Streaming(Feature):
    """What the server has heard of the steps of its clients."""

    def __init__(self, run: SynchronousRun) -> None:
        self._run = run
        self._rows = run.trigger.streams == ROWS
        run.signals = self._priced(run.costs)
        self._costs = run.costs
        self._uploaded: Ints = np.empty(0, np.int64)  # who did in the last round

    @classmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        return None if run.trigger.streams is None else cls(run)

    def _priced(self, costs: Floats) -> Signals:
        run = self._run
        made = run.trigger.signals(run.count, run.dim, run.rules.ridge, costs)
        assert made is not None
        return made

    def wants(self, opened: OpenRound) -> bool:
        """Rows say whether a round is worth it. Of growth that is known when the uploads are there,
        but not if enough would be shared."""
        if not self._rows:
            return deciding.shortfall(opened, opened.clients) is None
        for one in self._run.features:
            opened = one.known(opened)
        return deciding.worthwhile(opened)

    def called(self, opened: OpenRound) -> OpenRound:
        self._uploaded = opened.uploads.clients
        return opened

    def too_early(self, opened: OpenRound) -> bool:
        return not self._rows and not deciding.worthwhile(opened)

    def closed(self, opened: OpenRound, decision: Decision, closed: Closed) -> Closed:
        """Clients say with the stream what sharing would cost them in the next round; and of data
        that is still pending, the server has the uploads."""
        run, signals = self._run, self._run.signals
        assert signals is not None
        if run.costs is not self._costs:
            self._costs, new = run.costs, self._priced(run.costs)
            for name in ("need", "order", "ends"):  # the rest does not depend on costs
                getattr(signals, name)[:] = getattr(new, name)
        left = run.collect()  # which brings log det V_i up to date
        if self._rows:
            return closed
        signals.grown[:] = 0.0  # also of clients that did not answer: they count again when they do
        known = np.isin(left.clients, self._uploaded)
        places = np.full(run.count, -1)
        places[left.clients[known]] = np.flatnonzero(known)
        shared = run.server.shared
        know(
            signals, places[signals.order], shared.V.copy(), shared.factor.copy(), shared.logdet,
            run.rules.ridge, left.pending,
        )  # fmt: skip
        return closed
