"""Protocols: who talks to the server, when, and who gets the model.

A protocol only states the rules; `simulation` and `service` follow them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import errors
from ..mechanisms.base import Mechanism
from ..rules.limits import Limits
from ..rules.members import is_spells
from ..rules.privacy import Privacy
from ..rules.rounds import EVERYONE
from ..support import inputs
from ..types import Floats
from .strategy import Behaviour, VaryingCosts
from .triggers import Trigger


@dataclass(frozen=True)
class Protocol:
    """The base class of protocols."""


@dataclass(frozen=True)
class Alone(Protocol):
    """Nobody talks: each client learns from its own steps."""


@dataclass(frozen=True)
class Pooled(Protocol):
    """Every step is shared with everyone at once, so that all clients act as one."""


@dataclass(frozen=True)
class Synchronous(Protocol):
    """Rounds with all clients (Alg. 1).

    download: "everyone" gets the new model after a round; "one-for-one": joining, and each share,
    entitles a client to one download, of the model as it is when the client next acts.
    all_clocks: whether a round restarts every client's clock, not only the participants'.
    budget: money for all rounds together. money_digits: of payments, which are rounded up.
    limits: what else may be paid, see `limits.py`.
    availability: see `rules.members`.
    varying, behaviours: clients with interests of their own, see `strategy.py`.
    share_from: how many steps that no upload has had a client adds to an upload at least.
    privacy: the noise on uploads, see `privacy.py`.
    """

    trigger: Trigger
    mechanism: Mechanism
    download: str = EVERYONE
    all_clocks: bool = True
    budget: float = math.inf
    availability: float | Sequence[float] = 1.0
    varying: VaryingCosts | None = None
    behaviours: tuple[Behaviour, ...] = ()
    money_digits: int | None = None
    limits: Limits | None = None
    share_from: int = 1
    privacy: Privacy | None = None

    @property
    def unlimited(self) -> bool:
        """Whether what a mechanism decides is what is paid."""
        return math.isinf(self.budget) and self.money_digits is None and self.limits is None


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


def each_available(availability: float | Sequence[float], count: int) -> Floats | None:
    """The probability of each of `count` clients; None if spells are given."""
    if is_spells(availability):
        return None
    each = np.asarray(availability, np.float64)
    if each.ndim and len(each) != count:
        given = inputs.counted(len(each), "probability", "probabilities")
        raise errors.refuse("availability", given, f"one, or {count} (one per client)")
    return np.array(np.broadcast_to(each, count))
