"""Clients with interests of their own: what sharing truly costs them, and what they report.

The server sees reports only. A behaviour is a pure function of true costs and of what happened in
the last round; those of several groups of clients can be combined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import errors, ranges
from ..rules.plugins import Kinds, Plugin
from ..support import inputs
from ..types import Floats, Ints, Mask
from ..values import Number, Whole

MOST = ranges.LARGEST


class LastRound(NamedTuple):
    """The last round that each of N clients uploaded in, as it remembers it."""

    reports: Floats  # [N] what it asked; NaN: it has not uploaded yet
    paid: Floats  # [N] what it was paid


@dataclass(frozen=True)
class VaryingCosts(Plugin, ABC):
    """True costs that change from round to round, around a mean: one for all clients, or one each.

    mean: the cost around which they change: a number, or one per client.
    spread: the standard deviation of the logarithm of a cost (of its change, if it drifts). The
    draws have a stream of their own: the same rounds have the same costs, whatever the algorithm.
    """

    mean: ranges.Costs
    spread: Annotated[float, Number(0.0, 10.0)]

    @abstractmethod
    def next(self, mean: Floats, before: Floats, draws: Floats) -> Floats:
        """The costs of the next round; `draws` are standard normal."""


@dataclass(frozen=True)
class DrawnCosts(VaryingCosts):
    """Costs that are drawn anew for every round.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(
    ...     incfed.PayEveryone(), threshold=1.0,
    ...     costs=incfed.DrawnCosts(mean=10.0, spread=0.3),
    ... )
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.4, 614 paid
    """

    def next(self, mean: Floats, before: Floats, draws: Floats) -> Floats:
        return np.minimum(MOST, mean * np.exp(self.spread * draws))


@dataclass(frozen=True)
class DriftingCosts(VaryingCosts):
    """Costs that start at the mean and drift: a random walk.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(
    ...     incfed.PayEveryone(), threshold=1.0,
    ...     costs=incfed.DriftingCosts(mean=10.0, spread=0.1),
    ... )
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.4, 686 paid
    """

    def next(self, mean: Floats, before: Floats, draws: Floats) -> Floats:
        return np.minimum(MOST, before * np.exp(self.spread * draws))


@dataclass(frozen=True, kw_only=True)
class Behaviour(Plugin, ABC):
    """How some clients act in rounds: what they report, and whether they upload at all.

    clients: their ids; None: all.
    """

    clients: Sequence[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clients is not None:
            allowed = "a list of client ids, or left out for all clients"
            given = self.clients.tolist() if isinstance(self.clients, np.ndarray) else self.clients
            if not isinstance(given, Sequence) or not given:
                raise errors.refuse("clients", self.clients, allowed)
            ids = inputs.array("clients", self.clients, ndim=1, dtype=np.int64, allowed=allowed)
            if ids.min() < 0 or len(set(ids.tolist())) < len(ids):
                raise errors.refuse("clients", self.clients, allowed + ", each named once")
            object.__setattr__(self, "clients", tuple(ids.tolist()))

    def __str__(self) -> str:
        """In words, such as: client 3 acts as Shading (factor 5)."""
        who = "all clients act"
        if self.clients is not None:
            several = len(self.clients) > 1
            ids = ", ".join(map(str, self.clients))
            noun, verb = ("clients", "act") if several else ("client", "acts")
            who = f"{noun} {ids} {verb}"
        options = {
            name: x for name, x in self.settings().items() if name not in ("kind", "clients")
        }
        words = ", ".join(f"{name} {value:g}" for name, value in options.items())
        return f"{who} as {type(self).__name__}" + (f" ({words})" if words else "")

    def members(self, count: int) -> Ints:
        """The ids of the clients that behave so, of `count`."""
        if self.clients is None:
            return np.arange(count)
        if max(self.clients) >= count:
            raise errors.refuse("clients", max(self.clients), f"an id from 0 to {count - 1}")
        return np.array(self.clients, np.int64)

    def report(self, costs: Floats, last: LastRound) -> Floats:
        """The costs that these clients report; arguments and result are of these clients."""
        return costs

    def uploads(self, pending: Ints) -> Mask:
        """Which of these clients upload, by the number of their pending steps."""
        return ~np.zeros(len(pending), np.bool_)

    @property
    def holds_back(self) -> bool:
        """Whether there are rounds in which these clients do not upload."""
        return type(self).uploads is not Behaviour.uploads


@dataclass(frozen=True)
class Shading(Behaviour):
    """Reports `factor` times the true cost.

    factor: above 1 reports more than the cost, below 1 less.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(
    ...     incfed.PayEveryone(), threshold=1.0,
    ...     costs=10.0, reports=incfed.Shading(factor=2, clients=[3]),
    ... )
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.4, 764 paid
    """

    factor: Annotated[float, Number(0.0, 1e6)]

    def report(self, costs: Floats, last: LastRound) -> Floats:
        return self.factor * costs


@dataclass(frozen=True)
class BestResponse(Behaviour):
    """Feels its way to the highest price. After a round in which it was paid it asks more, by a
    share of `step` (of what it was paid, if it asked nothing); after one in which it was not, less,
    but never less than its cost.

    step: the share by which it changes what it asks.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(
    ...     incfed.PayEveryone(), threshold=1.0,
    ...     costs=10.0, reports=incfed.BestResponse(step=0.1),
    ... )
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.4, 1225 paid
    """

    step: Annotated[float, Number(0.0, 10.0, above=True)] = 0.1

    def report(self, costs: Floats, last: LastRound) -> Floats:
        factor = np.where(last.paid > 0.0, 1.0 + self.step, 1.0 / (1.0 + self.step))
        asked = np.where(last.reports == 0.0, self.step * last.paid, last.reports * factor)
        return np.where(np.isnan(last.reports), costs, np.maximum(costs, asked))


@dataclass(frozen=True)
class Colluding(Behaviour):
    """A group that agrees: all report `factor` times the highest true cost among them.

    factor: what the highest true cost is multiplied by.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(
    ...     incfed.PayEveryone(), threshold=1.0,
    ...     costs=10.0, reports=incfed.Colluding(factor=1.5, clients=[0, 1]),
    ... )
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.4, 734 paid
    """

    factor: Annotated[float, Number(0.0, 1e6)] = 1.0

    def report(self, costs: Floats, last: LastRound) -> Floats:
        return np.full(len(costs), self.factor * costs.max(initial=0.0))


@dataclass(frozen=True)
class Refusing(Behaviour):
    """Never uploads, and takes what others share.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(
    ...     incfed.PayEveryone(), threshold=1.0,
    ...     costs=10.0, reports=incfed.Refusing(clients=[3]),
    ... )
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.7, 745 paid
    """

    def uploads(self, pending: Ints) -> Mask:
        return np.zeros(len(pending), np.bool_)


@dataclass(frozen=True)
class Withholding(Behaviour):
    """Keeps its data back until it has `steps` of them, so that it is worth more.

    steps: from so many pending steps on, it uploads.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(
    ...     incfed.PayEveryone(), threshold=1.0,
    ...     costs=10.0, reports=incfed.Withholding(steps=5),
    ... )
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 4.9, 299 paid
    """

    steps: Annotated[int, Whole(1, ranges.MOST_STEPS)]

    def uploads(self, pending: Ints) -> Mask:
        return np.asarray(pending >= self.steps)


EXAMPLE = '[{ kind = "Shading", factor = 5.0, clients = [3] }]'
COSTS = Kinds(VaryingCosts, {kind.__name__: kind for kind in (DrawnCosts, DriftingCosts)})
BEHAVIOURS = Kinds(
    Behaviour,
    {kind.__name__: kind for kind in (BestResponse, Colluding, Refusing, Shading, Withholding)},
    example=EXAMPLE,
)


def groups(behaviours: Sequence[Behaviour], count: int) -> list[tuple[Behaviour, Ints]]:
    """Each behaviour with the clients, of `count`, that act so."""
    found = []
    for n, behaviour in enumerate(behaviours):
        with errors.at(f"reports[{n}]", {"clients"}):
            found.append((behaviour, behaviour.members(count)))
    return found


def check_reports(value: object) -> tuple[Behaviour, ...]:
    """The behaviours as they are kept in settings; one alone is short for a list of it."""
    several = [value] if isinstance(value, Behaviour) else value
    if not isinstance(several, Sequence) or not all(isinstance(x, Behaviour) for x in several):
        raise errors.refuse("reports", value, "behaviours, such as Shading(factor=5, clients=[3])")
    named = [behaviour.clients for behaviour in several]
    ids = [client for group in named if group is not None for client in group]
    if len(set(ids)) < len(ids) or (None in named and len(named) > 1):
        raise errors.refuse("reports", value, "behaviours of different clients")
    return tuple(several)


def build_reports(value: object, place: str, folder: Path) -> list[Behaviour]:
    """The behaviours that a config names: a list of tables, or one."""
    tables = [value] if isinstance(value, Mapping | str) else value
    if not isinstance(tables, list):
        raise errors.refuse(place, value, f"a list of tables, such as {EXAMPLE}")
    return [
        BEHAVIOURS.build(entry, f"{place}[{n}]", folder).value for n, entry in enumerate(tables)
    ]


def build_costs(value: object, place: str, folder: Path) -> Any:
    """Costs as a config gives them: a table names a process, anything else is checked later."""
    return COSTS.build(value, place, folder).value if isinstance(value, Mapping) else value
