"""If the limits cannot be kept: what would have to give, one limit at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .goals import GAINS, UNITS, Limit
from .judging import Judged, Kept

if TYPE_CHECKING:
    from .planner import Plan

TWO = "No single limit is in the way: relax at least two of them."


def relax(plan: Plan) -> list[str]:
    """For each limit a value that would do, as far as held-out runs can tell."""
    if plan.within:
        return []
    limits = [limit for limit in plan.goal.limits if limit.metric in plan.judgement.easiest]
    return [_words(plan, limit, plan.judgement.easiest[limit.metric]) for limit in limits] or [TWO]


def _words(plan: Plan, limit: Limit, near: Judged) -> str:
    [kept] = [x for x in plan.judgement.limits(plan.goal, near) if x.limit == limit]
    rest = plan.goal.without(limit.metric)
    broken = plan.judgement.broken(rest, near)
    has = f"{near.setting} has {UNITS[limit.metric].format(kept.said)}"
    if broken:
        has += f", but is held-out outside of: {'; '.join(broken)}"
        others = " for this limit"
    else:
        others = ", with the other limits kept" if rest.limits else ", with nothing else asked"
    enough, asked, unit = offer(kept)
    asked_for = f"{asked:.10g}{unit}"
    if enough < asked if limit.metric in GAINS else enough > asked:
        what = f"{enough:.10g}{unit} instead of {asked_for} would do"
    else:
        what = f"{asked_for} is kept held-out, though not in the search"
    return f"{limit.option} {what}{others}: {has}"


def offer(kept: Kept) -> tuple[float, float, str]:
    """A limit that is kept up to the bad end of the held-out interval, in three digits, rounded to
    the side that is easier to keep; the limit as it is; and what both are in."""
    limit, gain = kept.limit, kept.limit.metric in GAINS
    figure, asked, unit = kept.figure, limit.value, ""
    if limit.share is not None and kept.share is not None:
        figure, asked, unit = kept.share, limit.share, "%"
    end = figure.low if gain else figure.high
    if unit:
        end = max(end, 0.0)  # a share below is refused
    digit = 10.0 ** (math.floor(math.log10(abs(end))) - 2) if end else 1.0
    enough = (math.floor if gain else math.ceil)(end / digit) * digit
    return float(f"{enough:.3g}"), asked, unit
