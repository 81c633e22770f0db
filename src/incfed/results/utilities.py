"""The utilities of clients, what each truly got out of a federation: money less cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, refuse
from ..support.inputs import counted
from ..types import Floats, Ints
from ..values import Number
from .arrays import FrameRecord, floats, integers
from .numbers import human
from .records import Result

SAME = ("world", "seed", "clients", "steps")  # settings of two runs that met the same events
TRUE = 1e-9  # relative: a report that differs less is the truth


@dataclass(frozen=True, eq=False, repr=False)
class Utilities(FrameRecord):
    """The money and cost of each client, as columns: entry i is client i.

    It `shared` in so many rounds, was `paid` this money, and bore this true `cost`; `utility` is
    the difference. `overpaid` is what it was paid beyond its true cost, round by round. `lies` is
    the number of the rounds in which it shared and had reported another cost. `gained` is its
    utility less that in the honest run that this one is compared with; NaN without one.
    `advantage` is what it has of the federation, all in all: less regret than alone, in money, and
    its utility; NaN if the run is not compared with one in which nobody shares.
    """

    shared: Ints
    paid: Floats
    cost: Floats
    overpaid: Floats
    lies: Ints
    gained: Floats
    advantage: Floats

    def __post_init__(self) -> None:
        for name in ("shared", "lies"):
            object.__setattr__(self, name, integers(f"utilities.{name}", getattr(self, name)))
        for name in ("paid", "cost", "overpaid", "gained", "advantage"):
            object.__setattr__(self, name, floats(f"utilities.{name}", getattr(self, name)))

    @property
    def utility(self) -> Floats:
        """Money less true cost. Data is no part of it."""
        return self.paid - self.cost

    @property
    def winners(self) -> Ints:
        """The clients that lied in a round and gained over the honest run; the largest first."""
        order = np.argsort(-self.gained, kind="stable")
        return order[(self.gained[order] > 0) & (self.lies[order] > 0)]

    @property
    def leavers(self) -> Ints:
        """The clients that would rather be alone; the one that loses most is first."""
        order = np.argsort(self.advantage, kind="stable")
        return order[self.advantage[order] < 0]

    def __len__(self) -> int:
        return self.paid.size

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {
            "client": np.arange(len(self)),
            "shared": self.shared,
            "paid": self.paid,
            "cost": self.cost,
            "utility": self.utility,
            "overpaid": self.overpaid,
            "lies": self.lies,
            "gained": self.gained,
            "advantage": self.advantage,
        }

    def __repr__(self) -> str:
        return (
            f"<Utilities: {counted(len(self), 'client')}, paid {human(float(self.paid.sum()))} for "
            f"costs of {human(float(self.cost.sum()))}, {np.count_nonzero(self.lies)} lied>"
        )


def utilities(
    result: Result,
    honest: Result | None = None,
    alone: Result | None = None,
    *,
    worth: float = 1.0,
) -> Utilities:
    """The utility that each client truly had; see `Utilities`.

    honest: the same run without `reports` (or with fewer), to say who gained by lying; all other
    settings have to be the same. alone: the same run with Independent(), to say who would rather
    leave; worth: the money that a unit of regret (or reward, where regret is not known) is worth to
    a client.
    """
    worth = float(Number(0.0).of("worth", worth))
    if not isinstance(result, Result):
        raise refuse("result", result, "a Result, as incfed.simulate returns")
    rounds, count = result.rounds, result.settings.get("clients")
    if not isinstance(count, int) or np.isnan(rounds.costs).any():
        raise InputError("result: does not know true costs; allowed is a run of IncFedUCB")
    who, excess = rounds.participants, rounds.payments - rounds.costs

    def total(values: Floats) -> Floats:
        return np.bincount(who, weights=values, minlength=count).astype(np.float64)

    lied = np.abs(rounds.asked - rounds.costs) > TRUE * (1.0 + rounds.costs)
    gained = np.full(count, np.nan)
    if honest is not None:
        _check(result, honest)
        gained = total(excess) - utilities(honest).utility
    advantage = np.full(count, np.nan)
    if alone is not None:
        advantage = worth * result.gains(alone).gain + total(excess)
    return Utilities(
        shared=np.bincount(who, minlength=count),
        paid=total(rounds.payments),
        cost=total(rounds.costs),
        overpaid=total(np.maximum(0.0, excess)),
        lies=total(lied.astype(np.float64)).astype(np.int64),
        gained=gained,
        advantage=advantage,
    )


def _check(result: Result, honest: Result) -> None:
    """They differ in what clients report, and in nothing else."""
    if not isinstance(honest, Result):
        raise refuse("honest", honest, "a Result, of the same run without reports")
    ours, theirs = _compared(result), _compared(honest)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            allowed = f"that of the other run, {ours.get(name)!r}"
            raise refuse(f"honest: its {name}", theirs.get(name), allowed)


def _compared(result: Result) -> dict[str, Any]:
    """The settings of a run, without reports; those of the algorithm one by one."""
    algorithm = dict(result.settings.get("algorithm", {}))
    algorithm.pop("reports", None)
    return {**{name: result.settings.get(name) for name in SAME}, **algorithm}
