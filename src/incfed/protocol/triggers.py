"""Triggers: when a communication round opens.

`Threshold` and `GrowthRatio` are decided by each client alone. For `News` and `Patient` clients
stream a signal after every step, and the server decides. These are compiled into the kernels; a
trigger of the user's own is asked in Python, client by client (docs/extending.md).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from ..errors import InputError, refuse
from ..kernels.signals import Signals, signals
from ..kernels.step import triggered
from ..mechanisms.base import MEETS, Round
from ..rules.plugin_state import attributes, put_back
from ..rules.plugins import Kinds, Plugin, copied, own_names
from ..rules.rounds import Terms
from ..types import Floats, Mask
from ..values import Number, Word

ROWS, GROWTH = "rows", "growth"

# What only built-in triggers have, and what to write instead.
_WRITE_CALLS = "say in calls(self, client) when it calls for a round, such as"
_SERVER_OPENS = (
    "only for built-in triggers the server opens rounds, by what clients stream; say in "
    "calls(self, client) when a client calls for one"
)
INSTEAD = {
    "threshold": f"{_WRITE_CALLS} `return client.growth > 0.5`; a setting needs another name",
    "clocked": f"{_WRITE_CALLS} `return client.steps * client.growth > 0.5`",
    "streams": _SERVER_OPENS,
    "expected": _SERVER_OPENS,
    "signals": _SERVER_OPENS,
}


@dataclass(frozen=True, slots=True)
class ActingClient:
    """What a trigger may know of the client that has just acted, as it is after that step.

    index: which client it is.
    dim: the number of features.
    step: of the run, counted from 0; if a round opens now, it has that number.
    steps: its own steps since the last round, delta t of Alg. 1 line 8.
    pending: its steps that it has not shared yet.
    growth: log det V_i - log det(V_i - dV_i), what these add to what it has downloaded. Up to 1e-9
    it may be rounding alone, and is given as 0.
    logdet: log det V_i, of the matrix plus lambda I, as all determinants.
    cost: what it reports that sharing would cost it.
    epoch: the server's model that it has: how often it had changed.

    >>> class Shown(incfed.Trigger):
    ...     def calls(self, client):
    ...         print(client)
    ...         return False
    >>> rules = incfed.IncFedUCB(incfed.PayEveryone(), trigger=Shown(), costs=5.0, ridge=1.0)
    >>> incfed.Federation(2, dim=1, algorithm=rules)[1].learn([1.0], reward=0.5)
    ActingClient(index=1, dim=1, step=0, steps=1, pending=1, growth=0.69..., logdet=0.69...,
        cost=5.0, epoch=0)
    """

    index: int
    dim: int
    step: int
    steps: int
    pending: int
    growth: float
    logdet: float
    cost: float
    epoch: int


class Trigger(Plugin, ABC):
    """The base class of triggers. One of your own says in `calls` when a client calls for a round.

    Every client of a run has its own copy of the object, made of it as it was given.

    >>> class Often(incfed.Trigger):
    ...     def calls(self, client):
    ...         return client.pending >= 10
    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), trigger=Often())
    >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
    6
    """

    _example = "Patient(news=5)"
    _instead: ClassVar[Mapping[str, str]] = INSTEAD

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in own_names(cls):
            if name in cls._instead:
                place = f"{cls.__name__}.{name}"
                raise InputError(f"would be ignored: {cls._instead[name]}", place)

    @abstractmethod
    def calls(self, client: ActingClient) -> bool:
        """Whether the client that has just acted calls for a round; asked after each of its steps.

        >>> class Both(incfed.Trigger):
        ...     def calls(self, client):
        ...         return client.pending >= 3 and incfed.Threshold(1.0).calls(client)
        >>> algorithm = incfed.IncFedUCB(incfed.PayEveryone(), trigger=Both())
        >>> len(incfed.simulate(world, algorithm, steps=200).rounds)
        13
        """


class BuiltIn(Trigger):
    """A trigger that the kernels and real clients know: clients call for a round at a threshold, or
    the server opens one by what they stream."""

    _instead = INSTEAD | {
        "calls": "derive your class from incfed.Trigger; its `calls` may ask another trigger, as "
        "`incfed.Threshold(1.0).calls(client)`"
    }

    @property
    @abstractmethod
    def threshold(self) -> float:
        """The growth of a client's log det at which it calls for a round; infinite: it does not."""

    @property
    def clocked(self) -> bool:
        """Whether that growth is multiplied by the client's steps since the last round."""
        return False

    @property
    def streams(self) -> str | None:
        """The signal that clients send after every step: "rows", "growth" or None, nothing."""
        return None

    def calls(self, client: ActingClient) -> bool:
        return triggered(client.steps, client.growth, self.threshold, self.clocked)

    def expected(self, round: Round) -> Mask:
        """Who would share at most if a round opened, by what the server knows; nobody: it is not
        worth it. Asked if clients stream."""
        return ~round.nobody

    def signals(self, count: int, dim: int, ridge: float, costs: Floats) -> Signals | None:
        """The figures that the server learns from the stream; None if there is none."""
        return None


@dataclass(frozen=True)
class Threshold(BuiltIn):
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
class GrowthRatio(BuiltIn):
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
class _Streaming(BuiltIn):
    """Clients do not call for rounds themselves."""

    @property
    def threshold(self) -> float:
        return math.inf

    def calls(self, client: ActingClient) -> bool:
        name = type(self).__name__
        raise InputError(f"{name}: it is the server that opens rounds, no client calls for them")


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


class Asked(BuiltIn):
    """Stands for a trigger of the user's own: the kernels open no rounds, each client's copy of it
    is asked."""

    def __init__(self, trigger: Trigger) -> None:
        self.trigger = trigger

    @property
    def threshold(self) -> float:
        return math.inf

    def calls(self, client: ActingClient) -> bool:
        return self.trigger.calls(client)


class Copies:
    """A trigger of the user's own in one run: each client's copy of it as it was given."""

    def __init__(self, trigger: Trigger) -> None:
        self._given = copied(trigger)
        self._of: dict[int, Trigger] = {}  # by client, from its first step on

    def calls(self, client: ActingClient) -> bool:
        """Does this client call for a round?"""
        own = self._of.get(client.index)
        if own is None:
            own = self._of[client.index] = copied(self._given)
        answer = own.calls(client)
        if not isinstance(answer, bool | np.bool_):
            raise refuse(f"{type(own).__name__}.calls", answer, "True or False")
        return bool(answer)

    def state(self) -> dict[str, Any]:
        """What each client's copy keeps, for JSON."""
        return {str(client): attributes(own) for client, own in self._of.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where those copies stopped that had this `state`."""
        for client, saved in state.items():
            own = self._of[int(client)] = copied(self._given)
            put_back(own, saved)


TRIGGERS = Kinds(
    Trigger,
    {kind.__name__: kind for kind in (Threshold, GrowthRatio, News, Patient)},
    example='{ kind = "Patient", news = 5.0 }',
)


def trigger_of(rules: Terms) -> BuiltIn:
    """When a round opens by these rules: by their trigger, or the paper's."""
    trigger, threshold = rules.trigger, rules.threshold
    if isinstance(trigger, Trigger):
        return trigger if isinstance(trigger, BuiltIn) else Asked(trigger)
    if isinstance(threshold, str):
        allowed = (
            f"a number here, such as incfed.thresholds.{threshold}(steps=..., clients=..., ...)"
        )
        raise refuse("threshold", threshold, allowed)
    return Threshold(math.inf if threshold is None else float(threshold))


def copies_of(trigger: BuiltIn) -> Copies | None:
    """For a run by this trigger; None unless clients have to be asked."""
    return Copies(trigger.trigger) if isinstance(trigger, Asked) else None
