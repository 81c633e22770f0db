"""What each further unit of money buys, along the frontier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ..results.numbers import human
from .evidence import Interval
from .goals import GAINS
from .judging import Judged

if TYPE_CHECKING:
    from .planner import Plan

NOTHING_MORE = "In the search, of what keeps the other limits, nothing that costs more is better."


@dataclass(frozen=True)
class Step:
    """Between two neighbours on the frontier. That was drawn with the search's seeds: held-out, the
    dearer may be no better."""

    cheap: Judged
    dear: Judged
    money: Interval
    bought: Interval  # less regret, more reward
    unit: float  # of money, in which it is said

    @property
    def rate(self) -> float:
        """What a unit more buys; below zero, what it spoils; NaN if both cost the same."""
        return self.unit * self.bought.mean / self.money.mean if self.money.mean else math.nan

    @property
    def clear(self) -> bool:
        """More than chance."""
        return self.bought.low > 0 or self.bought.high < 0


def steps(plan: Plan) -> list[Step]:
    """What each further unit of money buys, from the cheapest point of the frontier on."""
    line, metric, unit = plan.frontier, plan.goal.bought, money_unit(plan)
    found = []
    for cheap, dear in pairwise(line):
        pair = (dear, cheap) if metric in GAINS else (cheap, dear)
        bought = pair[0].more(pair[1], metric)
        found.append(Step(cheap, dear, dear.more(cheap, "payment"), bought, unit))
    return found


def money_unit(plan: Plan) -> float:
    """A sum to count in: a hundredth to a tenth of the largest on the frontier."""
    top = max((one["payment"].mean for one in plan.frontier), default=0.0)
    return 10.0 ** (math.floor(math.log10(top)) - 1) if top > 0 else 1.0


def money_words(plan: Plan) -> list[str]:
    """The same in words."""
    return [step_words(one, plan.goal.bought) for one in steps(plan)] or [NOTHING_MORE]


def step_words(step: Step, metric: str) -> str:
    better = step.bought.mean > 0
    more = "more" if better == (metric in GAINS) else "less"
    sure = "" if step.clear else " (within chance)"
    cheap, dear = (human(one["payment"].mean) for one in (step.cheap, step.dear))
    if math.isnan(step.rate):
        return f"both at {cheap}: {human(abs(step.bought.mean))} {more} {metric}{sure}"
    verb = "buys" if better else "brings"
    what = f"{human(abs(step.rate))} {more} {metric}{sure}"
    return f"from {cheap} to {dear}: each further {step.unit:,g} {verb} {what}"
