"""What sharing costs the clients: known, or drawn from a distribution for each seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import errors
from ..errors import InputError, refuse
from ..support.inputs import counted
from ..values import Number

SALT = 0x636F7374  # separates these draws from all others of the same seed
SEEDS = 8  # that drawn costs are judged by
HIGHEST = 1e15  # beyond, sums of payments lose small payments
Draw = Callable[[np.random.Generator, int, Mapping[str, float]], Any]

# The parameters of each distribution, and how to draw from it.
DISTRIBUTIONS: dict[str, tuple[tuple[str, ...], Draw]] = {
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
    """D^p of every client: `known` (a number, or one each), or drawn from a distribution."""

    count: int
    known: float | tuple[float, ...] = 0.0
    kind: str | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)

    @property
    def drawn(self) -> bool:
        return self.kind is not None

    def of(self, seed: int, factor: float = 1.0) -> float | list[float]:
        """The costs in the run of a seed, all times `factor`."""
        if self.kind is not None:
            chance = np.random.default_rng(np.random.SeedSequence([seed, SALT]))
            drawn = DISTRIBUTIONS[self.kind][1](chance, self.count, self.parameters)
            return [float(factor * cost) for cost in drawn]
        if isinstance(self.known, tuple):
            return [factor * cost for cost in self.known]
        return factor * self.known

    def highest(self) -> float:
        """The highest cost of a client; of those that are drawn, in the first seeds."""
        return float(np.max([np.max(self.of(seed)) for seed in range(SEEDS)]))

    def __str__(self) -> str:
        if self.kind is not None:
            words = ", ".join(f"{key} {value:g}" for key, value in self.parameters.items())
            return f"{self.kind} ({words}), drawn for each client and seed"
        if isinstance(self.known, tuple):
            return f"{min(self.known):g} to {max(self.known):g}, one for each client"
        return f"{self.known:g} for each client"

    def identity(self) -> list[Any]:
        known = list(self.known) if isinstance(self.known, tuple) else self.known
        return [known, self.kind, dict(self.parameters)]


def read_costs(value: object, count: int) -> Costs:
    """The `costs` of a config for `count` clients, or an InputError."""
    if isinstance(value, Mapping):
        return _read_distribution(dict(value), count)
    if isinstance(value, list):
        if len(value) != count:
            raise refuse("costs", counted(len(value), "cost"), f"one number, or {count} (one each)")
        each = [float(Number(0, HIGHEST).of(f"costs[{n}]", x)) for n, x in enumerate(value, 1)]
        return Costs(count, tuple(each))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse("costs", value, ALLOWED)
    return Costs(count, float(Number(0.0, HIGHEST).of("costs", value)))


def _read_distribution(table: dict[str, Any], count: int) -> Costs:
    kind, allowed = table.pop("kind", None), f"one of {', '.join(DISTRIBUTIONS)}"
    if kind is None:
        raise errors.missing("costs.kind", allowed)
    if not isinstance(kind, str) or kind not in DISTRIBUTIONS:
        close = errors.hint(str(kind), DISTRIBUTIONS)
        raise InputError(f"costs.kind: got {kind!r}{close}, must be {allowed}")
    names = DISTRIBUTIONS[kind][0]
    errors.known("costs", table, names)
    values = {}
    for name in names:
        if name not in table:
            raise errors.missing(f"costs.{name}", f"given: {kind} needs it")
        low = 1.0 if name == "spread" else 0.0
        values[name] = float(Number(low, HIGHEST).of(f"costs.{name}", table[name]))
    if kind == "uniform" and values["low"] > values["high"]:
        raise refuse("costs.low", values["low"], f"at most costs.high, {values['high']:g}")
    return Costs(count, kind=kind, parameters=values)
