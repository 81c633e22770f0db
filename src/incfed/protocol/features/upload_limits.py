"""Limits: uploads of too many steps are refused, and what later rounds depend on is remembered.

What may be paid is decided in `deciding`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import numpy as np

from ...mechanisms.base import Decision
from ...rules.limits import Limits, Past
from ..open_round import Closed, OpenRound
from .base import Feature

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


class UploadLimits(Feature):
    """The limits of a federation, and the past of its clients."""

    def __init__(self, run: SynchronousRun, limits: Limits) -> None:
        self._run, self._limits = run, limits
        self._called: OpenRound | None = None  # the present round, with those that fail

    @classmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        limits = run.server.rules.limits
        return None if limits is None else cls(run, limits)

    def called(self, opened: OpenRound) -> OpenRound:
        self._called = allowed(opened)
        return self._called

    def closed(self, opened: OpenRound, decision: Decision, closed: Closed) -> Closed:
        assert self._called is not None
        past = remembered(self._called, closed)
        self._run.server = self._run.server._replace(past=past)
        return closed


def allowed(opened: OpenRound) -> OpenRound:
    """The round without uploads of too many steps, which are refused."""
    limits = opened.server.rules.limits
    most = None if limits is None else limits.steps_per_upload
    if most is None:
        return opened
    fits = opened.uploads.steps <= most
    large = int(np.count_nonzero(~fits))
    return opened.only(fits, opened.count - large) if large else opened


def remembered(called: OpenRound, closed: Closed) -> Mapping[int, Past]:
    """The past of clients after a round to which these were called."""
    limits, past, uploads = called.server.rules.limits, called.server.past, called.uploads
    if limits is None:
        return past
    paid = dict(zip(closed.participants.tolist(), closed.payments.tolist(), strict=True))
    each = zip(called.clients, uploads.costs.tolist(), uploads.steps.tolist(), strict=True)
    new = {
        client: limits.next(past.get(client, Past()), price, paid.get(client), steps)
        for client, price, steps in each
    }
    return {**past, **new}
