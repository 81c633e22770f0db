"""Triggers: when a communication round opens.

`Threshold` and `GrowthRatio` are decided by each client alone. For `News` and `Patient` clients
stream a signal after every step, and the server decides.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from ..errors import refuse
from ..kernels.signals import Signals, signals
from ..mechanisms.base import MEETS, Round
from ..rules.plugins import Kinds, Plugin
from ..rules.rounds import RoundRules
from ..types import Floats, Mask
from ..values import Number, Word

ROWS, GROWTH = "rows", "growth"


@dataclass(frozen=True)
class Trigger(Plugin, ABC):
    """The base class of triggers: clients call for a round at a threshold, or the server opens one
    by what they stream.

    >>> trigger = incfed.Threshold(0.5)
    >>> trigger
    Threshold(D_c=0.5)
    """

    _example = "Patient(news=5)"

    @property
    @abstractmethod
    def threshold(self) -> float:
        """The growth of a client's log det at which it calls for a round; infinite: it does not.

        >>> trigger.threshold
        0.5
        """

    @property
    def clocked(self) -> bool:
        """Whether that growth is multiplied by the client's steps since the last round.

        >>> trigger.clocked, incfed.GrowthRatio(1.5).clocked
        (True, False)
        """
        return False

    @property
    def streams(self) -> str | None:
        """The signal that clients send after every step: "rows", "growth" or None, nothing.

        >>> incfed.Patient(news=2.0).streams
        'rows'
        """
        return None

    def expected(self, round: Round) -> Mask:
        """Who would share at most if a round opened, by what the server knows; nobody: it is not
        worth it. Asked if clients stream.

        >>> class Asking(incfed.Mechanism):
        ...     def decide(self, round):
        ...         self.found = [incfed.News(above=x).expected(round).tolist() for x in (0.1, 9.0)]
        ...         return round.settle(round.everyone)
        >>> asking = Asking()
        >>> rules = incfed.IncFedUCB(asking, trigger=trigger)
        >>> federation = incfed.Federation(2, dim=1, algorithm=rules)
        >>> for member in federation:
        ...     member.learn([1.0], reward=0.5)
        >>> record = federation.communicate()
        >>> asking.found  # 4.8 nats of news
        [[], []]
        """
        return ~round.nobody

    def signals(self, count: int, dim: int, ridge: float, costs: Floats) -> Signals | None:
        """The figures that the server learns from the stream; None if there is none.

        >>> import numpy as np
        >>> trigger.signals(count=2, dim=1, ridge=0.1, costs=np.zeros(2)) is None
        True
        """
        return None


@dataclass(frozen=True)
class Threshold(Trigger):
    """The paper's trigger (Alg. 1 line 8): delta t * log(det V_i / det(V_i - dV_i)) > D_c.

    D_c: how much a client must have learned. delta t counts the client's own steps since the last
    round. 0 opens a round at every step with new data, infinity opens none.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), trigger=incfed.Threshold(1.0))
    >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
    19
    """

    D_c: Annotated[float, Number(0.0, or_inf=True)]

    @property
    def threshold(self) -> float:
        return float(self.D_c)

    @property
    def clocked(self) -> bool:
        return True


@dataclass(frozen=True)
class GrowthRatio(Trigger):
    """A client's determinant has grown by a ratio: det V_i > gamma det(V_i - dV_i).

    gamma: the ratio, at least 1.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), trigger=incfed.GrowthRatio(1.5))
    >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
    17
    """

    gamma: Annotated[float, Number(1.0, or_inf=True)]

    @property
    def threshold(self) -> float:
        return math.log(self.gamma)


@dataclass(frozen=True)
class _Streaming(Trigger):
    """Clients do not call for rounds themselves."""

    @property
    def threshold(self) -> float:
        return math.inf


@dataclass(frozen=True)
class News(_Streaming):
    """All clients together have news for the server: L_all - L_g > above.

    L_g = log det V_g, and L_all = log det(V_g + all pending data). Clients stream the rows x of
    their steps, without the rewards.

    above: the news, in nats, that a round is worth.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), trigger=incfed.News(above=2.0))
    >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
    8
    """

    above: Annotated[float, Number(0.0, or_inf=True)]

    @property
    def streams(self) -> str:
        return ROWS

    def expected(self, round: Round) -> Mask:
        return round.nobody | (round.full_value - round.start_value > self.above)

    def signals(self, count: int, dim: int, ridge: float, costs: Floats) -> Signals:
        return signals(
            count, dim, ridge, rows=True, least=float(self.above), patient=False, costs=costs
        )  # fmt: skip


@dataclass(frozen=True)
class Patient(_Streaming):
    """A round opens only when it will succeed for data alone.

    It succeeds if the stable set S (the largest set whose members are all willing to share for
    data alone) is not empty, and brings news: log det V_g(S) - L_g >= news.

    news: the news, in nats, that a round is worth.
    signal: "rows" streams the rows x of the steps, so that the server knows before it opens the
    round. "growth" streams one number a step, the growth of the client's own log det; the server
    calls when an upper bound of L_all exceeds log det V_i by `factor` times log(1 + D_i) for every
    client with pending data, and learns from the uploads whether that was too early. Clients that
    cost more than the others are passed over once the bound would suffice for the others even if it
    were smaller by `news`.
    factor: of signal "growth", how far beyond that the bound must be.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), trigger=incfed.Patient(news=2.0))
    >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
    8
    """

    news: Annotated[float, Number(0.0, or_inf=True)] = 5.0
    signal: Annotated[str, Word((ROWS, GROWTH))] = ROWS
    factor: Annotated[float, Number(1.0, 1e6)] = 1.15

    @property
    def streams(self) -> str:
        return self.signal

    def expected(self, round: Round) -> Mask:
        S = round.stable_set()
        return S & (S.any() and round.value(S) - round.start_value >= self.news - MEETS)

    def signals(self, count: int, dim: int, ridge: float, costs: Floats) -> Signals:
        rows = self.signal == ROWS
        return signals(
            count, dim, ridge, rows=rows, least=float(self.news), patient=True, costs=costs,
            factor=1.0 if rows else self.factor,
        )  # fmt: skip


TRIGGERS = Kinds(
    Trigger,
    {kind.__name__: kind for kind in (Threshold, GrowthRatio, News, Patient)},
    example='{ kind = "Patient", news = 5.0 }',
    extended=False,  # the kernels know no others
)


def trigger_of(rules: RoundRules) -> Trigger:
    """When a round opens by these rules: by their trigger, or the paper's."""
    trigger, threshold = rules.trigger, rules.threshold
    if isinstance(trigger, Trigger):
        return trigger
    if isinstance(threshold, str):
        allowed = (
            f"a number here, such as incfed.thresholds.{threshold}(steps=..., clients=..., ...)"
        )
        raise refuse("threshold", threshold, allowed)
    return Threshold(math.inf if threshold is None else float(threshold))
