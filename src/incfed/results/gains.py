"""Who is better off in a federation than alone, and by how much: client by client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, refuse
from ..support.inputs import counted
from ..types import Floats, Ints
from .arrays import FrameRecord, floats, integers
from .clients import Clients
from .numbers import human

if TYPE_CHECKING:
    from .records import Result

COLUMNS = (
    "steps", "gain", "reward", "reward_alone", "regret", "regret_alone", "shared", "paid",
)  # fmt: skip
SAME = ("world", "seed", "clients")  # settings of two runs that met the same events


@dataclass(frozen=True, eq=False, repr=False)
class Gains(FrameRecord):
    """The gain of each client by sharing, as columns: entry i is client i.

    `gain` is the regret alone less the regret in the federation; where regret is unknown, the
    reward in the federation less the reward alone (`measure` says which). Money is no part of it:
    `paid` is a column of its own, and so is how often the client `shared`.

    Where steps of a log were skipped, rewards and what is paid are those of all steps at the rate
    of the matched ones. The gain of a client without any is NaN; of one that never acts it is 0.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=10.0)
    >>> alone = incfed.simulate(world, incfed.Independent(), steps=200)
    >>> gains = incfed.simulate(world, paid, steps=200).gains(alone)
    >>> gains
    <Gains: 5 of 5 clients gain, 0 lose; regret, 1.17 in the mean>
    """

    measure: str
    steps: Floats
    gain: Floats
    reward: Floats
    reward_alone: Floats
    regret: Floats
    regret_alone: Floats
    shared: Ints
    paid: Floats
    skipped: bool = False  # steps of a log

    def __post_init__(self) -> None:
        for name in COLUMNS:
            kind = integers if name == "shared" else floats
            object.__setattr__(self, name, kind(f"gains.{name}", getattr(self, name)))

    @property
    def active(self) -> Ints:
        """The clients that act, and whose gain is known.

        >>> gains.active
        array([0, 1, 2, 3, 4])
        """
        return np.flatnonzero((self.steps > 0) & ~np.isnan(self.gain))

    @property
    def winners(self) -> Ints:
        """The clients that are better off in the federation; the one that gains most is first.

        >>> gains.winners
        array([2, 4, 0, 1, 3])
        """
        order = np.argsort(-self.gain, kind="stable")
        return order[self.gain[order] > 0]

    @property
    def losers(self) -> Ints:
        """The clients that are better off alone; the one that loses most is first.

        >>> gains.losers
        array([], dtype=int64)
        """
        order = np.argsort(self.gain, kind="stable")
        return order[self.gain[order] < 0]

    @property
    def share(self) -> float:
        """The share of the active clients that gain; NaN if there are none.

        >>> gains.share
        1.0
        """
        return self.winners.size / self.active.size if self.active.size else float("nan")

    def __len__(self) -> int:
        return self.gain.size

    def _columns(self) -> dict[str, NDArray[Any]]:
        columns = {name: getattr(self, name) for name in COLUMNS}
        return {"client": np.arange(len(self)), **columns, "steps": self.steps.astype(np.int64)}

    def __repr__(self) -> str:
        active = self.gain[self.active]
        mean = human(float(active.mean())) if active.size else human(float("nan"))
        return (
            f"<Gains: {self.winners.size} of {counted(self.active.size, 'client')} gain, "
            f"{self.losers.size} lose; {self.measure}, {mean} in the mean>"
        )


def gains(result: Result, alone: Result) -> Gains:
    """The gain of each client of `result` over `alone`, the same run of the world without sharing;
    see `Gains`. An InputError if it is not the same run."""
    _check(result, alone)
    ours, theirs = result.clients, alone.clients
    reward, reward_alone = _reward(ours), _reward(theirs)
    known = not (np.isnan(ours.regret).any() or np.isnan(theirs.regret).any())
    matched = max(ours.matched.sum(), 1.0)
    return Gains(
        measure="regret" if known else "reward",
        steps=ours.steps,
        gain=theirs.regret - ours.regret if known else reward - reward_alone,
        reward=reward,
        reward_alone=reward_alone,
        regret=ours.regret,
        regret_alone=theirs.regret,
        shared=ours.shared,
        paid=ours.paid * (ours.steps.sum() / matched),
        skipped=bool(matched < ours.steps.sum()),
    )


def _reward(clients: Clients) -> Floats:
    """The reward of all steps, at the rate of the matched ones."""
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.where(clients.steps > 0, clients.steps / clients.matched, 1.0)
        return np.where(np.isfinite(scale), clients.reward * scale, np.nan)


def _check(result: Result, alone: Result) -> None:
    from .records import Result

    if not isinstance(alone, Result):
        raise refuse("alone", alone, "a Result, of the same run with Independent()")
    for name in SAME:
        ours, theirs = result.settings.get(name), alone.settings.get(name)
        if ours != theirs:
            raise refuse(f"alone: its {name}", theirs, f"that of the other run, {ours!r}")
    ours, theirs = result.regret.size, alone.regret.size
    if ours != theirs:
        raise refuse("alone: its steps", theirs, f"the {ours} of the other run")
    if len(alone.rounds) or alone.communication.any():
        raise refuse("alone", alone, "a run in which nobody shares, such as one of Independent()")
    if not np.array_equal(result.clients.steps, alone.clients.steps):
        raise InputError(
            "alone: its clients act in other steps than those of the other run; allowed is a run "
            "in the same world"
        )
