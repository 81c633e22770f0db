"""A run by client: what each one did, learned and was paid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..support.inputs import counted
from ..types import Floats, Ints
from .arrays import FrameRecord, floats, integers
from .rounds import Rounds

COLUMNS = ("steps", "reward", "regret", "shared", "paid")


@dataclass(frozen=True, eq=False, repr=False)
class Clients(FrameRecord):
    """All clients of a run, as columns: entry i is client i.

    `steps` it acted in, of which `matched` were not skipped (see `Result`); the `reward` and the
    `regret` of its own choices; in how many rounds it `shared`, and the money that it was `paid`.

    Regret is NaN if expected rewards are unknown.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=10.0)
    >>> clients = incfed.simulate(world, paid, steps=200).clients
    >>> clients.shared
    array([12, 12, 14, 15, 13])
    """

    steps: Floats
    matched: Floats
    reward: Floats
    regret: Floats
    shared: Ints
    paid: Floats

    def __post_init__(self) -> None:
        for name in ("steps", "matched", "reward", "regret", "paid"):
            object.__setattr__(self, name, floats(f"clients.{name}", getattr(self, name)))
        object.__setattr__(self, "shared", integers("clients.shared", self.shared))
        for name in (*COLUMNS, "matched"):
            size = getattr(self, name).size
            if size != len(self):
                raise InputError(
                    f"clients.{name}: {counted(size, 'value')}; allowed is one for each of the "
                    f"{counted(len(self), 'client')}"
                )

    @classmethod
    def collect(
        cls, count: int, clients: ArrayLike, reward: ArrayLike, regret: ArrayLike,
        matched: ArrayLike, rounds: Rounds,
    ) -> Clients:  # fmt: skip
        """The sums over the steps of each of `count` clients, from who acted in each step, its
        outcome, and whether it was matched; and over the rounds.

        >>> who, reward, regret, matched = [0, 1, 1], [0.5, 0.2, 0.9], [0.1, 0.4, 0.0], [True] * 3
        >>> nothing = incfed.results.Rounds.collect([])
        >>> incfed.results.Clients.collect(2, who, reward, regret, matched, nothing).reward
        array([0.5, 1.1])
        """
        who = np.asarray(clients, np.int64)

        def total(values: ArrayLike) -> NDArray[Any]:
            return np.bincount(who, weights=np.asarray(values, np.float64), minlength=count)

        steps = total(np.ones(who.size))
        return cls(steps, total(matched), total(reward), total(regret), *_rounds(count, rounds))

    def __len__(self) -> int:
        return self.steps.size

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = {"client": np.arange(len(self)), **{n: getattr(self, n) for n in COLUMNS}}
        columns["steps"] = self.steps.astype(np.int64)
        if not np.array_equal(self.matched, self.steps):
            columns["matched"] = self.matched.astype(np.int64)
        return columns

    def __repr__(self) -> str:
        paid = int(np.count_nonzero(self.paid > 0))
        return f"<Clients: {counted(len(self), 'client')}, {paid:,} of them paid>"


def _rounds(count: int, rounds: Rounds) -> tuple[NDArray[Any], NDArray[Any]]:
    """In how many rounds each client shared, and what it was paid."""
    who = rounds.participants
    if who.size and not 0 <= who.min() <= who.max() < count:
        raise InputError(
            f"rounds.participants: clients {who.min()} to {who.max()}; allowed are 0 to {count - 1}"
        )
    shared = np.bincount(who, minlength=count)
    return shared, np.bincount(who, weights=rounds.payments, minlength=count)
