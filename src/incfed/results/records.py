"""The result of a run: curves over the steps, a record of every round, and figures by client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..support.inputs import counted
from ..types import Floats
from .arrays import FrameRecord, floats
from .clients import Clients
from .numbers import human
from .rounds import RoundRecord, Rounds
from .settings import plain

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .comparison import Comparison
    from .gains import Gains

__all__ = ["CURVES", "Clients", "Result", "RoundRecord", "Rounds"]

CURVES = ("regret", "reward", "communication", "payment")


@dataclass(frozen=True, eq=False, repr=False)
class Result(FrameRecord):
    """A finished run. The curves are cumulative: entry t counts steps 0 to t. As a frame they are
    one row a step: step, regret, reward, communication, payment, packed; `matched` if some steps
    were skipped, `propensity` if it is known.

    `communication` counts scalars as the paper does; `packed` counts what a careful implementation
    sends (symmetric matrices by half or by their factors, models only when they are needed).

    `matched` is the number of steps that were not skipped. Only a `ReplayLog` skips steps, if the
    arm picked is not the one that was shown. reward / matched is then the replay estimate.

    `propensity` is the probability with which a policy of the user's own chose the arm of each
    step: NaN if it did not say so, None with the built-in one.

    `rounds` has a record of every round, `clients` the figures of each client.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, paid, steps=200)
    >>> result.name, result.to_polars().height, len(result.rounds) == result.summary()["rounds"]
    ('IncFedUCB', 200, True)
    """

    regret: Floats
    reward: Floats
    communication: Floats
    payment: Floats
    rounds: Rounds
    settings: Mapping[str, Any]
    packed: Floats
    clients: Clients
    matched: Floats = None  # type: ignore[assignment]  # None: every step
    propensity: Floats | None = None

    def __post_init__(self) -> None:
        if self.matched is None:
            object.__setattr__(self, "matched", np.arange(1.0, np.size(self.regret) + 1.0))
        said = () if self.propensity is None else ("propensity",)
        for name in (*CURVES, "packed", "matched", *said):
            column = floats(name, getattr(self, name))
            object.__setattr__(self, name, column)
            if column.size != self.regret.size:
                raise InputError(
                    f"{name}: {counted(column.size, 'step')}; allowed are the "
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
        mean share of clients with pending data that shared it) if there was no round.

        >>> result.summary()["clients"], result.summary()["paid"]
        (5, 66)
        """
        shares = self.rounds.participation
        shares = shares[~np.isnan(shares)]
        return {
            "steps": self.regret.size,
            "matched": int(_last(self.matched)),
            "clients": self.settings.get("clients"),
            **{name: _last(getattr(self, name)) for name in (*CURVES, "packed")},
            "rounds": len(self.rounds),
            "participation": float(shares.mean()) if shares.size else float("nan"),
            "paid": int(np.count_nonzero(self.rounds.payments > 0)),
        }

    @property
    def name(self) -> str:
        """The kind of its algorithm.

        >>> result.name
        'IncFedUCB'
        """
        return str(dict(self.settings.get("algorithm") or {}).get("kind", "result"))

    def _columns(self) -> dict[str, NDArray[Any]]:
        curves = {name: getattr(self, name) for name in (*CURVES, "packed")}
        steps = np.arange(self.regret.size)
        skipped = not np.array_equal(self.matched, steps + 1)
        said = {} if self.propensity is None else {"propensity": self.propensity}
        return {"step": steps, **curves, **({"matched": self.matched} if skipped else {}), **said}

    def gains(self, alone: Result) -> Gains:
        """The gain of each client over `alone`, the same run with `Independent`; see `Gains`.

        >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
        >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=10.0)
        >>> alone = incfed.simulate(world, incfed.Independent(), steps=200)
        >>> gains = incfed.simulate(world, paid, steps=200).gains(alone)
        >>> gains.measure, len(gains.gain)
        ('regret', 5)
        """
        from .gains import gains

        return gains(self, alone)

    def plot(self, metric: str | None = None, ax: Axes | None = None) -> Figure:
        """A matplotlib figure of one metric, or of the four main ones; with `ax`, drawn there.

        >>> result.plot("regret").savefig("regret.png")
        """
        return self._alone().plot(metric, ax)

    def figure(self, metric: str | None = None) -> go.Figure:
        """A Plotly figure of one metric over the steps (None: the first one that is known).

        >>> result.figure("payment").write_html("payment.html")  # a page with a figure to zoom into
        """
        return self._alone().figure(metric)

    def _alone(self) -> Comparison:
        from .comparison import Comparison

        return Comparison({self.name: [self]})

    def _repr_html_(self) -> str:
        return self._alone()._repr_html_()

    def save(self, path: str | PathLike[str]) -> None:
        """Write this result to a folder; see `incfed.results.save`.

        >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
        >>> result = incfed.simulate(world, incfed.Independent(), steps=50)
        >>> result.save("run")
        >>> bool((incfed.load("run").regret == result.regret).all())
        True
        """
        from .storage import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Result:
        """Read a result that was saved to a folder; see `incfed.results.load`.

        >>> incfed.Result.load("run").name
        'Independent'
        """
        from .storage import load

        return load(path)

    def __repr__(self) -> str:
        final = self.summary()
        clients = final["clients"]
        return (
            f"<{self.name}: {counted(final['steps'], 'step')}, "
            f"{'? clients' if clients is None else counted(clients, 'client')}: "
            f"{', '.join(f'{name} {human(final[name])}' for name in CURVES)}, "
            f"{counted(final['rounds'], 'round')}>"
        )


def _last(curve: Floats) -> float:
    return float(curve[-1]) if curve.size else 0.0
