"""What is searched: the mechanism with its beta, the threshold D_c, and lambda."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..algorithms import thresholds
from ..experiments import places
from ..support import inputs

PAID, FREE, ALL = "PaymentEfficient", "PaymentFree", "PayEveryone"
MECHANISMS = (PAID, FREE, ALL)
RIDGE = 0.1  # the algorithms' own default
BETAS = (0.7, 0.3, 0.05, 0.01)  # tried first
KEYS = ("mechanisms", "beta", "threshold", "ridge", "first")


@dataclass(frozen=True)
class Setting:
    """One answer to "what should I run?"."""

    mechanism: str
    beta: float | None  # None: the mechanism has none
    threshold: float
    ridge: float

    def table(self, fixed: Mapping[str, Any], costs: Any) -> dict[str, Any]:
        """As an [[algorithm]] of a config."""
        mechanism: dict[str, Any] = {"kind": self.mechanism}
        if self.beta is not None:
            mechanism["beta"] = self.beta
        return {
            "kind": "IncFedUCB",
            "mechanism": mechanism,
            "threshold": self.threshold,
            "costs": costs,
            "ridge": self.ridge,
            **fixed,
        }

    def __str__(self) -> str:
        first = {FREE: "payment-free", ALL: "everyone paid"}.get(
            self.mechanism, f"beta {self.beta:g}" if self.beta is not None else self.mechanism
        )
        return f"{first}, D_c {self.threshold:g}, lambda {self.ridge:g}"


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, on a log scale if that can be; both the same: fixed."""

    low: float
    high: float

    @property
    def fixed(self) -> bool:
        return self.low == self.high

    def clip(self, value: float, digits: int = 2) -> float:
        """`value` within the range, and short: more digits than the figures can tell apart would
        only look exact."""
        short = float(f"{value:.{digits}g}")
        return min(max(short, self.low), self.high)


@dataclass(frozen=True)
class Space:
    """All settings that may be tried."""

    mechanisms: tuple[str, ...]
    beta: Range
    threshold: Range
    ridge: Range

    def make(self, mechanism: str, beta: float, threshold: float, ridge: float) -> Setting:
        return Setting(
            mechanism=mechanism,
            beta=self.beta.clip(beta) if mechanism == PAID else None,
            threshold=self.threshold.clip(threshold, digits=3),
            ridge=self.ridge.clip(ridge),
        )

    def holds(self, setting: Setting) -> bool:
        """May it be tried?"""
        ranges = (self.beta, self.threshold, self.ridge)
        values = (setting.beta, setting.threshold, setting.ridge)
        return setting.mechanism in self.mechanisms and all(
            value is None or one.low <= value <= one.high
            for one, value in zip(ranges, values, strict=True)
        )

    def first(self, usual: float) -> list[Setting]:
        """Tried before anything is known: from all to nothing paid, at the usual D_c and above,
        where the paper does not look."""
        tried: dict[Setting, None] = {}
        for threshold in (usual, 4 * usual):
            for mechanism in self.mechanisms:
                for beta in BETAS if mechanism == PAID else (1.0,):
                    tried[self.make(mechanism, beta, threshold, RIDGE)] = None
        return list(tried)

    def identity(self) -> list[Any]:
        ranges = [getattr(self, f.name) for f in fields(self) if f.name != "mechanisms"]
        return [list(self.mechanisms), [[one.low, one.high] for one in ranges]]


def usual_threshold(steps: int, clients: int, dim: int) -> float:
    """T / (N d ln T), the D_c of the paper's Table 1."""
    return thresholds.high(steps=max(steps, 2), clients=clients, dim=dim)


def read_space(table: Mapping[str, Any], ridge: Any, usual: float) -> Space:
    """The [search] table, or an InputError; `ridge` is that of [algorithm], if it is fixed there.

    D_c is searched from a tenth of the usual to a hundred times it. Below, rounds multiply, up to
    one a step, and so does the time that a run takes; regret hardly falls any more.
    """
    places.known("search", table, KEYS)
    if ridge is not None and "ridge" in table:
        raise inputs.InputError("search.ridge: is fixed by algorithm.ridge, must be in one of them")
    given = {**table, **({} if ridge is None else {"ridge": ridge})}
    return Space(
        mechanisms=_mechanisms(given.get("mechanisms", list(MECHANISMS))),
        beta=_range("search.beta", given.get("beta", [0.001, 1.0]), 0.0, 1.0),
        threshold=_range(
            "search.threshold",
            given.get("threshold", [0.1 * usual, 100.0 * usual]),
            1e-9,
            1e9,
        ),
        ridge=_range(
            "search.ridge" if ridge is None else "algorithm.ridge",
            given.get("ridge", [0.01, 1.0]),
            *inputs.RANGES["ridge"],
        ),
    )


def _mechanisms(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise inputs.refuse(
            "search.mechanisms", value, f"a list of some of {', '.join(MECHANISMS)}"
        )
    names = [
        inputs.choice(f"search.mechanisms[{n}]", x, MECHANISMS) for n, x in enumerate(value, 1)
    ]
    return tuple(dict.fromkeys(names))


def _range(place: str, value: object, low: float, high: float) -> Range:
    if not isinstance(value, list):
        fixed = inputs.number(place, value, low=low, high=high)
        return Range(fixed, fixed)
    if len(value) != 2:
        raise inputs.refuse(place, value, "a number, or two: [lowest, highest]")
    ends = [inputs.number(f"{place}[{n}]", x, low=low, high=high) for n, x in enumerate(value, 1)]
    if ends[0] > ends[1] or not all(map(math.isfinite, ends)):
        raise inputs.refuse(place, value, "[lowest, highest], in this order")
    return Range(*ends)
