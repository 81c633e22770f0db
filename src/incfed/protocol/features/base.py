"""What a feature can do in a round. Each method is a hook; by default it changes nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from ...kernels.step import Steps
from ...mechanisms.base import Decision
from ...types import Floats, Ints
from ..open_round import Closed, OpenRound, Uploads

if TYPE_CHECKING:
    from ..synchronous import SynchronousRun


class Feature(ABC):
    """An optional part of a simulated federation. The hooks are listed in the order of a round."""

    may_fail = False  # whether clients may fail to deliver
    late: Sequence[int] = ()  # steps with a download that no round has counted

    @classmethod
    @abstractmethod
    def of(cls, run: SynchronousRun) -> Self | None:
        """That of this run; None if its federation does not have it."""

    def check(self, items: Floats, rewards: Floats) -> None:
        """InputError if this federation cannot take such arms or rewards."""
        return

    def advanced(self, steps: Steps, begin: int, end: int, first: int) -> None:
        """These steps were run; `first` is the number of the first of all."""
        return

    def calls(self, client: int) -> bool:
        """May this client call for a round?"""
        return True

    def collected(self, uploads: Uploads) -> Uploads:
        """What the clients with pending data have."""
        return uploads

    def known(self, opened: OpenRound) -> OpenRound:
        """The round that would open, as far as the server knows of it."""
        return opened

    def wants(self, opened: OpenRound) -> bool:
        """Should the round open?"""
        return True

    def called(self, opened: OpenRound) -> OpenRound:
        """The round of the clients that do upload, and of what they upload."""
        return opened

    def too_early(self, opened: OpenRound) -> bool:
        """Do the uploads show that it should not have opened?"""
        return False

    def fails(self, client: int) -> bool:
        """Does this client fail to deliver?"""
        return False

    def sharing(self, clients: Ints, steps: Ints) -> None:
        """These clients share so many steps each; V_g is still without them."""
        return

    def closed(self, opened: OpenRound, decision: Decision, closed: Closed) -> Closed:
        """The round is over; returns what is logged of it."""
        return closed
