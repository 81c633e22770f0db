"""The search space: the mechanism with its beta, the threshold D_c, and lambda."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..algorithms import thresholds
from ..mechanisms.registry import BUILT_IN, find_mechanism, mechanism_table
from ..support import inputs, places

PAID, FREE, ALL = "PaymentEfficient", "PaymentFree", "PayEveryone"
MECHANISMS = (PAID, FREE, ALL)
RIDGE = 0.1  # the algorithms' own default
BETAS = (0.7, 0.3, 0.05, 0.01)  # tried first
Options = tuple[tuple[str, Any], ...]
KEYS = ("mechanisms", "beta", "threshold", "ridge", "first")


@dataclass(frozen=True)
class Candidate:
    """A mechanism that may be tried."""

    kind: str
    options: Options = ()  # fixed
    searched: bool = False  # whether its beta is

    def __str__(self) -> str:
        fixed = ", ".join(f"{key} {value}" for key, value in self.options)
        return f"{self.kind} ({fixed})" if fixed else self.kind


@dataclass(frozen=True)
class Setting:
    """One answer to "what should I run?"."""

    mechanism: str
    beta: float | None  # None: it is not searched
    threshold: float
    ridge: float
    options: Options = ()  # other options of the mechanism

    @property
    def candidate(self) -> str:
        """The name of its mechanism in the search space."""
        return str(Candidate(self.mechanism, self.options))

    def table(self, fixed: Mapping[str, Any], costs: Any) -> dict[str, Any]:
        """As an [[algorithm]] of a config."""
        mechanism: dict[str, Any] = {"kind": self.mechanism, **dict(self.options)}
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
        beta = [] if self.beta is None else [f"beta {self.beta:g}"]
        name = self.candidate
        usual = {FREE: ["payment-free"], ALL: ["everyone paid"], PAID: beta}
        who = ", ".join(usual.get(name, [name.rpartition(":")[2], *beta]))
        return f"{who}, D_c {self.threshold:g}, lambda {self.ridge:g}"


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, both included; a fixed value if they are the same."""

    low: float
    high: float

    @property
    def fixed(self) -> bool:
        return self.low == self.high

    def clip(self, value: float, digits: int = 2) -> float:
        """The nearest value within the range, rounded: more digits would only look exact."""
        short = float(f"{value:.{digits}g}")
        return min(max(short, self.low), self.high)


@dataclass(frozen=True)
class Space:
    """All settings that may be tried."""

    candidates: Mapping[str, Candidate]  # by name
    beta: Range
    threshold: Range
    ridge: Range

    @property
    def ranges(self) -> dict[str, Range]:
        return {"beta": self.beta, "threshold": self.threshold, "ridge": self.ridge}

    def make(self, mechanism: str, beta: float, threshold: float, ridge: float) -> Setting:
        one = self.candidates[mechanism]
        return Setting(
            mechanism=one.kind,
            beta=self.beta.clip(beta) if one.searched else None,
            threshold=self.threshold.clip(threshold, digits=3),
            ridge=self.ridge.clip(ridge),
            options=one.options,
        )

    def holds(self, setting: Setting) -> bool:
        """Whether it may be tried."""
        values = {name: getattr(setting, name) for name in self.ranges}
        return setting.candidate in self.candidates and all(
            values[name] is None or one.low <= values[name] <= one.high
            for name, one in self.ranges.items()
        )

    def first(self, usual: float) -> list[Setting]:
        """The settings to begin with: from everyone paid to nobody, at the usual D_c and at four
        times that, which the paper does not try."""
        tried: dict[Setting, None] = {}
        for threshold in (usual, 4 * usual):
            for name, one in self.candidates.items():
                for beta in BETAS if one.searched else (1.0,):
                    tried[self.make(name, beta, threshold, RIDGE)] = None
        return list(tried)

    def identity(self) -> list[Any]:
        return [list(self.candidates), [[one.low, one.high] for one in self.ranges.values()]]


def usual_threshold(steps: int, clients: int, dim: int) -> float:
    """T / (N d ln T), the D_c of the paper's Table 1."""
    return thresholds.high(steps=max(steps, 2), clients=clients, dim=dim)


def read_space(table: Mapping[str, Any], ridge: Any, usual: float, folder: Path = Path()) -> Space:
    """The [search] table, or an InputError; `ridge` is that of [algorithm], if it is fixed there.

    D_c is searched from a tenth of the usual one to a hundred times it. Further down there are more
    and more rounds, up to one a step, and runs take longer, but regret hardly falls.
    """
    places.known("search", table, KEYS)
    if ridge is not None and "ridge" in table:
        raise inputs.InputError("search.ridge: algorithm.ridge is given too, must be one of them")
    given = {**table, **({} if ridge is None else {"ridge": ridge})}
    return Space(
        candidates=_candidates(given.get("mechanisms", list(MECHANISMS)), folder),
        beta=_range("search.beta", given.get("beta", [0.001, 1.0]), 0.0, 1.0),
        threshold=_range(
            "search.threshold", given.get("threshold", [0.1 * usual, 100.0 * usual]), 1e-9, 1e9
        ),
        ridge=_range(
            "search.ridge" if ridge is None else "algorithm.ridge",
            given.get("ridge", [0.01, 1.0]),
            *inputs.RANGES["ridge"],
        ),
    )


def _candidates(value: object, folder: Path) -> dict[str, Candidate]:
    if not isinstance(value, list) or not value:
        allowed = f"a list of some of {', '.join(BUILT_IN)}, or of your own: 'my_file.py:Mine'"
        raise inputs.refuse("search.mechanisms", value, allowed)
    found: dict[str, Candidate] = {}
    for n, one in enumerate(value, 1):
        place = f"search.mechanisms[{n}]"
        table = mechanism_table(one, place)
        maker = find_mechanism(table, place, folder)
        maker.check({**table, "beta": 1.0} if "beta" in maker.keys else table, place)
        options = {key: option for key, option in table.items() if key != "kind"}
        for key, option in options.items():
            if not isinstance(option, bool | int | float | str):
                raise inputs.refuse(f"{place}.{key}", option, "a number, a text, true or false")
        searched = "beta" in maker.keys and "beta" not in options
        candidate = Candidate(table["kind"], tuple(options.items()), searched)
        found[str(candidate)] = candidate
    return found


def _range(place: str, value: object, low: float, high: float) -> Range:
    if not isinstance(value, list):
        fixed = inputs.number(place, value, low=low, high=high)
        return Range(fixed, fixed)
    if len(value) != 2:
        raise inputs.refuse(place, value, "a number, or a range: [lowest, highest]")
    ends = [inputs.number(f"{place}[{n}]", x, low=low, high=high) for n, x in enumerate(value, 1)]
    if ends[0] > ends[1] or not all(map(math.isfinite, ends)):
        raise inputs.refuse(place, value, "[lowest, highest], in this order")
    return Range(*ends)
