"""What sharing costs the clients: known, or drawn anew for every seed from what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..experiments import places
from ..support import inputs

KEY = 0x636F7374  # sets these draws apart from all others of the same seed
MOST = 1e15  # beyond, sums of payments lose their small ones
Draw = Callable[[np.random.Generator, int, Mapping[str, float]], Any]

# By kind: its parameters with what each must be above (or at), and how to draw.
KINDS: dict[str, tuple[tuple[str, ...], Draw]] = {
    "uniform": (("low", "high"), lambda chance, n, p: chance.uniform(p["low"], p["high"], n)),
    "exponential": (("mean",), lambda chance, n, p: chance.exponential(p["mean"], n)),
    # two clients of three are within a factor of `spread` of the median
    "lognormal": (
        ("median", "spread"),
        lambda chance, n, p: p["median"] * np.exp(np.log(p["spread"]) * chance.standard_normal(n)),
    ),
}
ALLOWED = (
    "a number, a list with one for each client, or a table such as "
    '{ kind = "lognormal", median = 100, spread = 2 } (or uniform, exponential)'
)


@dataclass(frozen=True)
class Costs:
    """D^p of every client: `known` (a number, or one each), or drawn by `kind`."""

    count: int
    known: float | tuple[float, ...] = 0.0
    kind: str | None = None
    parameters: Mapping[str, float] | None = None

    @property
    def drawn(self) -> bool:
        return self.kind is not None

    def of(self, seed: int, factor: float = 1.0) -> float | list[float]:
        """The costs in the run of a seed, all times `factor`."""
        if self.kind is not None:
            assert self.parameters is not None
            chance = np.random.default_rng(np.random.SeedSequence([seed, KEY]))
            drawn = KINDS[self.kind][1](chance, self.count, self.parameters)
            return [float(factor * cost) for cost in drawn]
        if isinstance(self.known, tuple):
            return [factor * cost for cost in self.known]
        return factor * self.known

    def __str__(self) -> str:
        if self.kind is not None:
            words = ", ".join(f"{key} {value:g}" for key, value in (self.parameters or {}).items())
            return f"{self.kind} ({words}), drawn for each client and seed"
        if isinstance(self.known, tuple):
            return f"{min(self.known):g} to {max(self.known):g}, one for each client"
        return f"{self.known:g} for each client"

    def identity(self) -> list[Any]:
        known = list(self.known) if isinstance(self.known, tuple) else self.known
        return [known, self.kind, dict(self.parameters or {})]


def read_costs(value: object, count: int) -> Costs:
    """The costs of `count` clients as a config says them, or an InputError."""
    if isinstance(value, Mapping):
        return _drawn(dict(value), count)
    if isinstance(value, list):
        if len(value) != count:
            raise inputs.refuse(
                "costs", inputs.counted(len(value), "cost"), f"one number, or {count} (one each)"
            )
        each = [inputs.number(f"costs[{n}]", x, low=0, high=MOST) for n, x in enumerate(value, 1)]
        return Costs(count, tuple(each))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise inputs.refuse("costs", value, ALLOWED)
    return Costs(count, inputs.number("costs", value, low=0.0, high=MOST))


def _drawn(table: dict[str, Any], count: int) -> Costs:
    kind = table.pop("kind", None)
    if kind is None:
        raise places.missing("costs.kind", f"one of {', '.join(KINDS)}")
    if kind not in KINDS:
        close = places.hint(kind, KINDS) if isinstance(kind, str) else ""
        allowed = f"one of {', '.join(KINDS)}"
        raise inputs.InputError(f"costs.kind: got {kind!r}{close}, must be {allowed}")
    names = KINDS[kind][0]
    places.known("costs", table, names)
    for name in names:
        if name not in table:
            raise places.missing(f"costs.{name}", f"given: {kind} needs it")
    least = {"spread": 1.0}
    values = {
        name: inputs.number(f"costs.{name}", table[name], low=least.get(name, 0.0), high=MOST)
        for name in names
    }
    if kind == "uniform" and values["low"] > values["high"]:
        raise inputs.refuse("costs.low", values["low"], f"at most costs.high, {values['high']:g}")
    return Costs(count, kind=kind, parameters=values)
