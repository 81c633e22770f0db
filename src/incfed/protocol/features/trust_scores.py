"""Clients that trust others only so far share, with their data, how well models predict it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ...kernels.trust import Personal, share_scores
from ...types import Ints
from .base import Feature

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


class TrustScores(Feature):
    """The scores of the models of those that share (kernels/trust.py)."""

    def __init__(self, personal: Personal) -> None:
        self._personal = personal

    @classmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        return None if run.personal is None else cls(run.personal)

    def sharing(self, clients: Ints, steps: Ints) -> None:
        share_scores(self._personal, clients, steps)
