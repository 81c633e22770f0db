"""Limits: uploads of too many steps are refused, and what later rounds depend on is remembered.

What may be paid is decided in `deciding`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ...mechanisms.base import Decision
from ...rules.limits import Limits
from ..deciding import allowed, remembered
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
