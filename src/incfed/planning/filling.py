"""Settings in between: what sums of money buy that nothing tried so far has cost.

A sampler that looks for the best soon proposes settings that pay nothing, and a few that pay far
too much. So a part of each batch goes to sums in the widest gaps, between 0 and the budget and
along the frontier. To meet a sum, take two settings that pay less and more than it and are most
alike, and try what is halfway between their beta and D_c: a bisection, as payments rise with beta
and fall with D_c. In all else the new setting is as the best one so far.

Another part goes to the best setting so far with rarer rounds, which send less: it is the
likeliest to be as good and cheaper. And where the frontier that the plan shows has wide gaps, the
best of what was tried in between is shown too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .evidence import Evidence
from .goals import Goal, loss
from .selection import RUNGS, front, thin
from .space import ALL, FREE, PAID, THRESHOLD, Setting, Space

INSIDE = 0.5  # the share that goes between 0 and the budget; the others go along the frontier
NARROW = 0.04  # a gap that needs no filling, as a share of the scale
WIDE = 0.2  # one in which the frontier shows what was tried
FACTORS = (2.0, 1.4, 4.0, 2.8)  # of D_c, or of the news that a patient server waits for
LEAST = 1e-6  # stands for a beta of 0, which has no logarithm
LEARNING = ("download", "width", "exploration", "width_scale", "trust", "ridge")


@dataclass(frozen=True)
class Lever:
    """What decides how much is paid. Paying nobody and paying everyone are the ends of beta."""

    mechanism: str  # its name in the search space
    beta: float | None  # its logarithm; None: it has none
    threshold: float  # the logarithm of D_c

    def distance(self, other: Lever) -> float:
        across = 0.0 if self.beta is None or other.beta is None else self.beta - other.beta
        return math.hypot(across, self.threshold - other.threshold)

    def middle(self, other: Lever) -> Lever:
        beta = None if self.beta is None or other.beta is None else (self.beta + other.beta) / 2
        return Lever(self.mechanism, beta, (self.threshold + other.threshold) / 2)


def between(
    evidence: Evidence, space: Space, goal: Goal, best: Setting, count: int
) -> list[Setting]:
    """At most `count` settings that were not tried yet; fewer if no gap is left, or none if nothing
    pays."""
    paid = {one: evidence.means(one, RUNGS[0])["payment"] for one in evidence.settings}
    line = [paid[one] for one in front(evidence, goal, evidence.settings, RUNGS[0])]
    budget = next((x.value for x in goal.limits if x.metric == "payment"), max(paid.values()))
    sums = {True: sorted([0.0, *(x for x in paid.values() if 0 < x < budget), budget]),
            False: sorted([0.0, *line])}  # fmt: skip
    levers = {one: lever for one in paid if (lever := _lever(one, space)) is not None}
    found: list[Setting] = []
    for n in range(count):
        known = sums[n < INSIDE * count]
        target = widest_gap(known)
        if target is None:
            continue
        known.append(target)
        known.sort()
        tried = {*paid, *found}
        new = (one for one in _meeting(target, paid, levers, space, best) if one not in tried)
        found += [one for one in [next(new, None)] if one is not None]
    return found


def widest_gap(sums: Sequence[float]) -> float | None:
    """The middle of the widest gap between sums that rise from 0, on the scale of square roots,
    which tells small ones apart; None if all gaps are narrow."""
    places = [math.sqrt(one) for one in sums]
    low, high = max(pairwise(places), key=lambda pair: pair[1] - pair[0], default=(0.0, 0.0))
    return ((low + high) / 2) ** 2 if high - low > NARROW * places[-1] else None


def rarer(space: Space, best: Setting, tried: Collection[Setting], count: int) -> list[Setting]:
    """At most `count` settings that were not tried yet: the best one with rarer rounds; none if
    a trigger of the user's own opens them."""
    numbers = space.numbers(best)
    if best.own is not None:
        return []
    [lever] = {"threshold", "news"} & numbers.keys()
    found = (
        space.make(
            best.candidate, best.trigger, best.download, best.width, best.trusting,
            **(numbers | {lever: factor * numbers[lever]}),
        )
        for factor in FACTORS
    )  # fmt: skip
    return [one for one in dict.fromkeys(found) if one not in tried][:count]


def along(
    evidence: Evidence, goal: Goal, settings: Sequence[Setting], seeds: int, count: int
) -> list[Setting]:
    """At most `count` points of the frontier of `settings`, by rising payment; and where they are
    far apart, or end far below the budget, the best of what was tried in between, though something
    cheaper is as good."""
    line = front(evidence, goal, settings, seeds)
    means = {one: evidence.means(one) for one in evidence.settings}
    roots = {one: math.sqrt(each["payment"]) for one, each in means.items()}
    kept = thin(line, [means[one]["payment"] for one in line], count)
    rest = goal.without("payment", goal.bought)
    least = max(evidence.violation(one, rest) for one in kept)
    others = [one for one in means if evidence.violation(one, rest) <= least]
    budget = next((x.value for x in goal.limits if x.metric == "payment"), math.inf)
    end = max(roots[kept[-1]], min(math.sqrt(budget), max(roots.values())))

    def filled(low: float, high: float) -> list[Setting]:
        room = WIDE * end / 4  # to both ends, so that it is in between
        inside = [one for one in others if low + room < roots[one] < high - room]
        if high - low <= WIDE * end or not inside:
            return []
        # Those that the race gave more seeds first: with two seeds, the best is the luckiest.
        best = min(
            inside, key=lambda x: (-evidence.count(x), loss(goal.bought, means[x][goal.bought]))
        )
        return [*filled(low, roots[best]), best, *filled(roots[best], high)]

    found: list[Setting] = []
    for one, high in zip(kept, [*(roots[x] for x in kept[1:]), end], strict=True):
        found += [one, *filled(roots[one], high)]
    return found


def _lever(setting: Setting, space: Space) -> Lever | None:
    """None: of a patient server, which waits until data alone is enough, and of the user's own
    trigger."""
    if setting.threshold is None:
        return None
    mechanism, beta = setting.candidate, setting.beta
    if mechanism in (FREE, ALL) and _searched(space, PAID):
        mechanism, beta = PAID, space.beta.low if mechanism == FREE else space.beta.high
    logarithm = None if beta is None else math.log(max(beta, LEAST))
    return Lever(mechanism, logarithm, math.log(setting.threshold))


def _searched(space: Space, mechanism: str) -> bool:
    return mechanism in space.candidates and space.candidates[mechanism].searched


def _meeting(
    target: float, paid: Mapping[Setting, float], levers: Mapping[Setting, Lever], space: Space,
    best: Setting,
) -> Iterator[Setting]:  # fmt: skip
    """Settings halfway between one that pays more than the target and the nearest that does not,
    the nearest pair first. Where none is known to pay less, the end of the range stands for it."""
    pairs: list[tuple[float, Lever]] = []
    for dear, above in levers.items():
        if paid[dear] <= target or above.mechanism not in space.candidates:
            continue
        others = [(_end(above, space), 0)]
        others += [
            (below, _unlike(cheap, best))
            for cheap, below in levers.items()
            if paid[cheap] <= target and below.mechanism == above.mechanism
        ]
        far, lever = min(
            ((above.distance(below) + unlike, above.middle(below)) for below, unlike in others),
            key=lambda pair: pair[0],
        )
        pairs.append((far + _unlike(dear, best), lever))
    for _, lever in sorted(pairs, key=lambda pair: pair[0]):
        yield space.make(
            lever.mechanism, THRESHOLD, best.download, best.width, best.trusting,
            beta=1.0 if lever.beta is None else math.exp(lever.beta),
            threshold=math.exp(lever.threshold),
            **{name: value for name, value in space.numbers(best).items() if name in LEARNING},
        )  # fmt: skip


def _end(lever: Lever, space: Space) -> Lever:
    """Where the least is paid: the lowest beta, or the highest D_c."""
    if lever.beta is not None:
        return replace(lever, beta=math.log(max(space.beta.low, LEAST)))
    return replace(lever, threshold=math.log(space.threshold.high))


def _unlike(one: Setting, best: Setting) -> int:
    """In how much of how clients learn they differ: it matters for what they are paid."""
    return sum(bool(getattr(one, name) != getattr(best, name)) for name in LEARNING)
