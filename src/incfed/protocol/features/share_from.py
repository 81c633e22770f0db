"""A client shares from so many new steps on: with fewer, it uploads what it uploaded before, or
nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from ...kernels.store import PENDING, make_room, put_back
from ...mechanisms.base import Decision
from ...types import Floats
from ..open_round import Closed, OpenRound
from .base import Feature
from .sums import uploaded_sums, with_sums

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


class PendingSums(NamedTuple):
    """Sums over some of a client's pending steps."""

    steps: int
    V: Floats
    b: Floats


class ShareFrom(Feature):
    """What clients have uploaded, and what they hold back."""

    def __init__(self, run: SynchronousRun) -> None:
        self._run, self._least = run, run.server.rules.share_from
        self._uploaded: dict[int, PendingSums] = {}  # and not shared, by client
        self._held: dict[int, PendingSums] = {}  # not in the present uploads

    @classmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        return None if run.server.rules.share_from == 1 else cls(run)

    def calls(self, client: int) -> bool:
        return self._enough(client, int(self._run.store.table[client, PENDING]))

    def _enough(self, client: int, pending: int) -> bool:
        """Has it enough steps that no upload has had?"""
        before = self._uploaded.get(client)
        return pending - (0 if before is None else before.steps) >= self._least

    def called(self, opened: OpenRound) -> OpenRound:
        """The others count as clients without pending data."""
        pending = zip(opened.clients, opened.uploads.steps.tolist(), strict=True)
        ready = [client in self._uploaded or steps >= self._least for client, steps in pending]
        opened = opened.of(opened.uploads.only(np.array(ready, np.bool_)))
        self._held.clear()
        sums = uploaded_sums(opened.uploads)
        for client, steps, V, b in zip(
            opened.clients, opened.uploads.steps.tolist(), *sums, strict=True
        ):
            if self._enough(client, steps):
                self._uploaded[client] = PendingSums(steps, V.copy(), b.copy())
            elif new := steps - self._uploaded[client].steps:
                before = self._uploaded[client]
                self._held[client] = PendingSums(new, V - before.V, b - before.b)
        sent = [self._uploaded[client] for client in opened.clients]
        steps = np.array([one.steps for one in sent], np.int64)
        return with_sums(self._run, opened, [one.V for one in sent], [one.b for one in sent], steps)

    def closed(self, opened: OpenRound, decision: Decision, closed: Closed) -> Closed:
        """What was shared is forgotten; who held steps back still has them."""
        run = self._run
        for client in closed.participants.tolist():
            del self._uploaded[client]
            if client in self._held:
                run.store = make_room(run.store, 1, 1)
                put_back(*run.store, client, *self._held[client])
        return closed
