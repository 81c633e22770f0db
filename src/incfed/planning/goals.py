"""What is asked for: one figure to optimise, and limits on others."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .. import errors
from ..results.numbers import human
from ..values import Number, Word

METRICS = ("regret", "reward", "payment", "communication")
GAINS = ("reward",)  # more is better; of all others, less
OPTIONS = {
    "payment": "--budget",
    "communication": "--max-communication",
    "regret": "--max-regret",
    "reward": "--min-reward",
}
Figures = Mapping[str, float]  # of a run
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")
UNITS = {
    "regret": "regret {}",
    "reward": "reward {}",
    "payment": "{} paid",
    "communication": "{} scalars",
}


def loss(metric: str, figure: float) -> float:
    """Less is better."""
    return -figure if metric in GAINS else figure


@dataclass(frozen=True)
class Limit:
    """A figure must not be worse than `value`; `share`: percent of what paying everyone gives."""

    metric: str
    value: float
    share: float | None = None

    def excesses(self, runs: Sequence[Figures], everyone: Sequence[Figures]) -> list[float]:
        """How far outside the limit each run is, as a share of the limit; negative inside. A limit
        given as a share is compared with paying everyone with the same seed: what a seed does to
        both says nothing about a setting."""
        limits = [self.value] * len(runs)
        if self.share is not None:
            limits = [self.share / 100 * run[self.metric] for run in everyone[: len(runs)]]
        scale = abs(self.value) or 1.0
        return [
            loss(self.metric, run[self.metric] - limit) / scale
            for run, limit in zip(runs, limits, strict=True)
        ]

    def excess(self, runs: Sequence[Figures], everyone: Sequence[Figures]) -> float:
        """How far outside the limit the mean of the runs is."""
        return math.fsum(self.excesses(runs, everyone)) / len(runs)

    def __str__(self) -> str:
        word = "at least" if self.metric in GAINS else "at most"
        of = "" if self.share is None else f" ({self.share:.4g} % of paying everyone)"
        return f"{word} {UNITS[self.metric].format(human(self.value))}{of}"


@dataclass(frozen=True)
class Goal:
    """The best `aim` within the `limits`."""

    aim: str
    limits: tuple[Limit, ...] = ()
    performance: str = "regret"  # or "reward": which of the two is reported

    @property
    def partner(self) -> str:
        """What the aim is traded for: money; and if money is the aim, the performance."""
        return self.performance if self.aim == "payment" else "payment"

    @property
    def bought(self) -> str:
        """What money buys, on the frontier."""
        return self.performance if self.aim == "payment" else self.aim

    @property
    def counts_traffic(self) -> bool:
        """Whether traffic is limited, or the aim. If not, it is free."""
        return "communication" in (self.aim, *(limit.metric for limit in self.limits))

    def order(self, means: Figures) -> tuple[float, ...]:
        """A sort key, the best first: by the aim, then (often several settings pay nothing) by what
        it is traded for, then by traffic."""
        names = (self.aim, self.partner, "communication")
        return tuple(loss(name, means[name]) for name in names)

    def violation(self, runs: Sequence[Figures], everyone: Sequence[Figures]) -> float:
        """How far outside the limits the mean is, summed over them; 0 within all."""
        return sum(max(0.0, limit.excess(runs, everyone)) for limit in self.limits)

    def without(self, *metrics: str) -> Goal:
        return replace(self, limits=tuple(x for x in self.limits if x.metric not in metrics))

    def settle(self, everyone: Figures) -> Goal:
        """Limits given as a share become numbers."""
        limits = (
            one if one.share is None else replace(one, value=one.share / 100 * everyone[one.metric])
            for one in self.limits
        )
        return replace(self, limits=tuple(limits))

    def __str__(self) -> str:
        verb = "most" if self.aim in GAINS else "least"
        kept = "; ".join(map(str, self.limits))
        return f"the {verb} {self.aim}" + (f" with {kept}" if kept else ", without limits")


def read_goal(
    minimize: str | None,
    maximize: str | None,
    limits: Mapping[str, object],
    *,
    regret_known: bool,
    rewarded: bool = False,
) -> Goal:
    """The goal that the options ask for, or an InputError. `limits` are by metric; None: none.
    `rewarded`: where nothing else is asked for, it is reward, although regret is known."""
    if minimize is not None and maximize is not None:
        raise errors.InputError("--minimize and --maximize: got both, must be one of them")
    if minimize is not None:
        aim = Word(tuple([x for x in METRICS if x not in GAINS])).of("--minimize", minimize)
    elif maximize is not None:
        aim = Word(GAINS).of("--maximize", maximize)
    else:
        aim = "reward" if rewarded or not regret_known else "regret"
    asked = tuple(_limit(metric, x) for metric, x in limits.items() if x is not None)
    wanted = {aim, *(limit.metric for limit in asked)}
    if "regret" in wanted and not regret_known:
        option = "--minimize" if aim == "regret" else OPTIONS["regret"]
        raise errors.InputError(
            f"{option}: got regret, must be reward: this log does not know expected rewards"
        )
    rewarded = "regret" not in wanted and (rewarded or not regret_known or "reward" in wanted)
    return Goal(aim, asked, "reward" if rewarded else "regret")


def _limit(metric: str, value: object) -> Limit:
    name, allowed = OPTIONS[metric], "a number of at least 0, or a share of paying everyone: '10%'"
    if isinstance(value, str):
        text = value.strip()
        bare = text.removesuffix("%").strip()
        if THOUSANDS.fullmatch(bare):  # and never 1,5: is that 1.5 or 15?
            bare = bare.replace(",", "")
        try:
            figure = float(bare)
        except ValueError:
            raise errors.refuse(name, value, allowed) from None
        relative = text.endswith("%")
    else:
        figure, relative = float(Number(-math.inf).of(name, value)), False
    low = -math.inf if metric == "reward" and not relative else 0.0
    if not math.isfinite(figure) or figure < low:
        raise errors.refuse(name, value, allowed)
    return Limit(metric, math.nan, figure) if relative else Limit(metric, figure)
