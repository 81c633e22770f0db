"""What a run leaves behind: curves over the steps, and one record for every round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.inputs import InputError, counted
from .arrays import ArrayRecord, FloatArray, floats
from .numbers import human
from .rounds import RoundRecord, Rounds
from .settings import plain

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.figure import Figure

__all__ = ["Result", "RoundRecord", "Rounds"]


@dataclass(frozen=True, eq=False, repr=False)
class Result(ArrayRecord):
    """A finished run. The curves are cumulative: entry t counts steps 0 to t.

    `communication` counts scalars as the paper does; `packed` counts what a careful implementation
    sends (symmetric matrices by half or by their factors, models only when they are needed). It is
    NaN in results of versions that did not count it.

    So is `matched`, the number of steps that were not skipped: all of them, but for a log in which
    a pick need not be what was shown (`ReplayLog`). reward / matched is then the replay estimate.
    """

    regret: FloatArray
    reward: FloatArray
    communication: FloatArray
    payment: FloatArray
    rounds: Rounds
    settings: Mapping[str, Any]
    matched: FloatArray = None  # type: ignore[assignment]  # None: every step
    packed: FloatArray = None  # type: ignore[assignment]  # None: not known

    def __post_init__(self) -> None:
        if self.matched is None:
            object.__setattr__(self, "matched", np.arange(1.0, np.size(self.regret) + 1.0))
        if self.packed is None:
            object.__setattr__(self, "packed", np.full(np.size(self.regret), np.nan))
        for name in ("regret", "reward", "communication", "payment", "matched", "packed"):
            object.__setattr__(self, name, floats(name, getattr(self, name)))
            if getattr(self, name).size != self.regret.size:
                raise InputError(
                    f"{name}: {counted(getattr(self, name).size, 'step')}; allowed are the "
                    f"{self.regret.size} of regret"
                )
        object.__setattr__(self, "settings", plain(self.settings))
        steps = self.rounds.step
        if steps.size and not 0 <= steps[0] <= steps[-1] < self.regret.size:
            raise InputError(
                f"rounds.step: from {steps[0]} to {steps[-1]}; allowed are steps 0 to "
                f"{self.regret.size - 1}"
            )

    def summary(self) -> dict[str, Any]:
        """The final figures. Regret is NaN if expected rewards are unknown, participation (the
        mean share of clients with pending data that shared it) if there was no round."""
        shares = self.rounds.participation
        shares = shares[~np.isnan(shares)]
        return {
            "steps": self.regret.size,
            "matched": int(_last(self.matched)),
            "clients": self.settings.get("clients"),
            "regret": _last(self.regret),
            "reward": _last(self.reward),
            "communication": _last(self.communication),
            "packed": _last(self.packed),
            "payment": _last(self.payment),
            "rounds": len(self.rounds),
            "participation": float(shares.mean()) if shares.size else float("nan"),
            "paid": int(np.count_nonzero(self.rounds.payments > 0)),
        }

    @property
    def name(self) -> str:
        """What kind of algorithm this was, for people."""
        return str(dict(self.settings.get("algorithm") or {}).get("kind", "result"))

    def to_polars(self) -> polars.DataFrame:
        """One row a step: step, regret, reward, communication, payment, packed; `matched` if some
        steps were skipped."""
        from .frames import steps_polars

        return steps_polars(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a pandas frame."""
        from .frames import steps_pandas

        return steps_pandas(self)

    def plot(self, metric: str | None = None) -> Figure:
        """A matplotlib figure of one metric, or the four most telling ones."""
        from .plots import overview, plot

        runs = {self.name: [self]}
        return overview(runs) if metric is None else plot(runs, metric)

    def save(self, path: str | PathLike[str]) -> None:
        """Write this result to a folder; see `incfed.results.save`."""
        from .storage import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Result:
        """Read a result that was saved to a folder; see `incfed.results.load`."""
        from .storage import load

        return load(path)

    def __repr__(self) -> str:
        final = self.summary()
        clients = final["clients"]
        figures = ("regret", "reward", "communication", "payment")
        return (
            f"<{self.name}: {counted(final['steps'], 'step')}, "
            f"{'? clients' if clients is None else counted(clients, 'client')}: "
            f"{', '.join(f'{name} {human(final[name])}' for name in figures)}, "
            f"{counted(final['rounds'], 'round')}>"
        )


def _last(curve: FloatArray) -> float:
    return float(curve[-1]) if curve.size else 0.0
