"""The play-off: which of the settings that may be the best is chosen.

The leader of a search was picked for looking best, and so looks better than it is. It meets its
rivals again with other seeds. Which are its rivals, and which is taken, depends on the goal.

Where traffic is neither limited nor the aim, rivals are those that may be better, and the one with
the best mean of all seeds is taken. What is not limited is free, and so is money within its limit:
less of it decides between equals only.

Where traffic counts, ties go to the cheaper. Rivals are cheaper settings that may be as good: the
95 % interval of the difference, seed by seed, reaches 0. Of those that are as good, the one that
sends least is taken; of those that send about as little, the one that pays least.

With few seeds that would be too easy, as whatever is noisy ties, and too hard, as of many rivals
some look worse than they are. So few seeds only rule out what is far from the leader. The one that
would be taken gets many more, and with it the leader, until it has kept its place with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..results.intervals import Interval
from .evidence import Evidence
from .goals import Figures, Goal, loss
from .selection import pareto, ranked, thin, upper_excess
from .space import Setting

PLAY_OFF = (16, 64)  # seeds: of all rivals, and of those that may be taken
FINAL = 4  # rivals that get all seeds, where the best mean decides
NEAR = 3.0  # standard errors: one that is worse by more than this, in few seeds, is no rival
RIVALS = 16  # where traffic counts, half of them by traffic, and half by money
LESS = 0.8  # traffic below this share is much less
Run = Callable[[Sequence[Setting], int], None]  # gives settings so many seeds of the play-off


def worse(evidence: Evidence, one: Setting, other: Setting, metric: str) -> Interval:
    """By how much `one` is worse than `other`, on the seeds that both have had."""
    n = min(evidence.count(one), evidence.count(other))
    values = evidence.values(one, metric, n), evidence.values(other, metric, n)
    return Interval.of(loss(metric, x - y) for x, y in zip(*values, strict=True))


def as_good(
    evidence: Evidence, one: Setting, other: Setting, goal: Goal, errors: float | None = None
) -> bool:
    """Whether `one` keeps the limits as well, and is no worse in the aim and in what that is traded
    for (it pays no more): within the interval of the difference, or so many standard errors."""
    n = min(evidence.count(one), evidence.count(other))
    if evidence.violation(one, goal, n) > evidence.violation(other, goal, n):
        return False
    found = (worse(evidence, one, other, metric) for metric in (goal.aim, goal.partner))
    return all(by.mean <= (by.half if errors is None else errors * by.error) for by in found)


def contenders(
    evidence: Evidence, settings: Sequence[Setting], goal: Goal, leader: Setting
) -> list[Setting]:
    """Settings that may be better than the leader, by the runs of the race: the best of those that
    are near, and keep the limits as safely."""
    risk = max(0.0, upper_excess(evidence, leader, goal))
    near = [
        one
        for one in settings
        if one != leader
        and upper_excess(evidence, one, goal) <= risk
        and (by := worse(evidence, one, leader, goal.aim)).mean <= NEAR * by.error
    ]
    return ranked(evidence, near, goal)[:RIVALS]


def best(
    race: Evidence, evidence: Evidence, leader: Setting, others: Sequence[Setting], goal: Goal,
    run: Run,
) -> Setting:  # fmt: skip
    """The best by all seeds, those of the race and of the play-off. `evidence` is of the play-off;
    `run` adds to it."""
    left = [leader, *others]
    for seeds, count in zip(PLAY_OFF, (FINAL, 1), strict=True):
        run(left, seeds)
        left = [one for one in left if evidence.count(one) >= seeds]  # others have failed
        left = ranked(race.joined(evidence), left, goal)[:count]
    return left[0] if left else leader


def cheaper(one: Figures, other: Figures) -> bool:
    """Whether `one` sends much less, or pays less for about as much traffic."""
    sent, usually = one["communication"], other["communication"]
    return sent < LESS * usually or (LESS * sent <= usually and one["payment"] < other["payment"])


def rivals(
    evidence: Evidence, settings: Sequence[Setting], goal: Goal, leader: Setting,
    always: Sequence[Setting] = (),
) -> list[Setting]:  # fmt: skip
    """Settings that are cheaper than the leader, keep the limits as safely, and may be as good by
    the runs of the race: first those that no other beats in traffic, or in money, and in what that
    buys. Of `always`, those that have been run are rivals whatever the race said of their aim."""
    best, risk = evidence.means(leader), max(0.0, upper_excess(evidence, leader, goal))
    fitting = {
        one: means
        for one in settings
        if cheaper(means := evidence.means(one), best) and upper_excess(evidence, one, goal) <= risk
    }
    found = dict.fromkeys(one for one in always if one in fitting)
    near = {one: x for one, x in fitting.items() if as_good(evidence, one, leader, goal, NEAR)}
    for metric in ("communication", "payment"):
        points = {
            one: (means[metric], loss(goal.bought, means[goal.bought]))
            for one, means in near.items()
        }
        found |= dict.fromkeys(_outermost(points, RIVALS // 2))
    return list(found)


def _outermost(points: Mapping[Setting, tuple[float, float]], count: int) -> list[Setting]:
    """So many settings: those of the frontier, then those of the frontier of the others, ..."""
    found: list[Setting] = []
    while len(found) < min(count, len(points)):
        line = pareto({one: point for one, point in points.items() if one not in found})
        found += thin(line, [points[one][0] for one in line], count - len(found))
    return found[:count]


def play_off(
    evidence: Evidence, leader: Setting, others: Sequence[Setting], goal: Goal, run: Run
) -> Setting:
    """The cheapest that is as good as the leader. `evidence` is of seeds that chose none of them;
    `run` adds to it."""
    most = PLAY_OFF[1]
    run([leader, *others], PLAY_OFF[0])
    while evidence.count(leader):
        taken = cheapest(evidence, evidence.settings, goal, leader, most)
        if taken == leader or evidence.count(taken) >= most:
            return taken
        run([leader, taken], most)
    return leader  # a run of it failed


def cheapest(
    evidence: Evidence, settings: Sequence[Setting], goal: Goal, leader: Setting, most: int = 0
) -> Setting:
    """Of those that are as good as the leader, which is one of them: the one with the least
    traffic; of those that send little more than it, the one that pays least. Those with fewer than
    `most` seeds only have to be near."""
    means = {
        one: evidence.means(one)
        for one in settings
        if as_good(evidence, one, leader, goal, None if evidence.count(one) >= most else NEAR)
    }
    least = min(each["communication"] for each in means.values())
    light = [one for one in means if LESS * means[one]["communication"] <= least]
    return min(light, key=lambda one: (means[one]["payment"], means[one]["communication"]))
