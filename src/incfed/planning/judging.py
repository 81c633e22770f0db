"""Held-out runs: all figures that a plan states come from seeds (and, of MovieLens, from events)
that the search did not use. They have the last word on what is advised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..experiments.engine import Session
from ..results.intervals import Interval
from .alone import Rules, named
from .by_client import cells_by_client
from .case import JUDGE, Case
from .evidence import EXTRA, means_of
from .goals import GAINS, METRICS, Figures, Goal, Limit, loss
from .launch import Launch
from .search import SearchResult, needed, run_groups
from .selection import spending
from .space import Setting

FACTORS = (0.5, 2.0)  # by which costs may be off


@dataclass(frozen=True)
class Judged:
    """Held-out figures of one setting (or of clients that do not share), seed by seed."""

    label: str
    runs: Sequence[Figures]
    setting: Setting | None = None
    rules: Rules | None = None  # of clients that do not share
    runs_a_world: int = 0  # of worlds that a log leaves open, drawn one after the other; 0: of one

    def __getitem__(self, metric: str) -> Interval:
        return self.interval(self.values(metric))

    def interval(self, values: Iterable[float]) -> Interval:
        """The interval of the mean over seeds or, of a log, of the worlds that it leaves open."""
        if self.runs_a_world:
            return Interval.of_worlds(values, self.runs_a_world)
        return Interval.of(values)

    def values(self, metric: str) -> list[float]:
        return [run[metric] for run in self.runs]

    def means(self) -> dict[str, float]:
        return means_of(self.runs)

    def figures(self) -> dict[str, Interval]:
        return {name: self[name] for name in (*METRICS, *EXTRA)}

    def more(self, other: Judged, metric: str, times: float = 1.0) -> Interval:
        """By how much it exceeds `times` the figure of `other`, seed by seed."""
        pairs = zip(self.values(metric), other.values(metric), strict=True)
        return self.interval(own - times * theirs for own, theirs in pairs)

    def worse(self, other: Judged, metric: str) -> Interval:
        """By how much it is worse, seed by seed."""
        return other.more(self, metric) if metric in GAINS else self.more(other, metric)

    def share(self, other: Judged, metric: str) -> Interval | None:
        """In percent of `other`, seed by seed; None if the figure of that is not positive."""
        whole = other[metric].mean
        if not whole > 0:
            return None
        ratio = self[metric].mean / whole
        rest = self.more(other, metric, ratio)
        return Interval(100 * ratio, 100 * rest.half / whole, rest.n)


def gains(shared: Judged, alone: Judged, performance: str) -> list[float]:
    """How much better clients do that share, seed by seed: reward more, or regret less."""
    pairs = zip(shared.values(performance), alone.values(performance), strict=True)
    return [loss(performance, theirs - own) for own, theirs in pairs]


@dataclass(frozen=True)
class LimitCheck:
    """A limit, and whether held-out runs keep it."""

    limit: Limit
    figure: Interval
    excess: Interval  # over the limit; negative inside
    share: Interval | None  # in percent of paying everyone, if that is how the limit is given

    @property
    def said(self) -> str:
        of = "" if self.share is None else f"; seed by seed {self.share} %"
        return f"{self.figure}{of}"

    @property
    def kept(self) -> bool:
        return self.excess.mean <= 0

    @property
    def sure(self) -> bool:
        """The whole interval is on one side."""
        return (self.excess.low <= 0) == (self.excess.high <= 0)


@dataclass(frozen=True)
class Judgement:
    """The held-out figures of everything that the plan mentions."""

    chosen: Judged
    references: tuple[Judged, ...]  # everyone paid, nobody paid, nobody shares
    frontier: tuple[Judged, ...]  # the search's settings, by rising payment
    sensitivity: Mapping[float, Judged]  # by the factor that costs are off by, 1 included
    leader: Judged  # has the best aim in the search
    spending: Mapping[str, tuple[int, Judged]]  # by resource: see `CostlierSettings`
    easiest: Mapping[str, Judged]  # by limited metric: closest to that limit, keeps the others
    runner_up: Judged | None = None  # the best of the others that keeps the limits
    replaced: Judged | None = None  # what the search chose, if held-out runs decided otherwise
    launch: Launch | None = None  # the chosen setting and clients that do not share, step by step

    @property
    def everyone(self) -> Judged:
        """The reference in which everyone is paid; limits given as a share refer to it."""
        return self.references[0]

    @property
    def alone(self) -> Judged:
        """The reference in which clients do not share."""
        return self.references[-1]

    @property
    def tied(self) -> bool:
        """Whether the search chose it because it ties with the leader, and is cheaper."""
        return self.replaced is None and self.leader is not self.chosen

    def gain(self, goal: Goal) -> Interval:
        """How much better than alone clients do with the chosen setting, seed by seed: reward more,
        or regret less."""
        return self.chosen.interval(self.gains(goal))

    def gains(self, goal: Goal) -> list[float]:
        """The same with each seed."""
        return gains(self.chosen, self.alone, goal.performance)

    def improving(self, metric: str) -> list[Judged]:
        """Those points of the frontier that are better than all cheaper ones, by their means."""
        found: list[Judged] = []
        for point in self.frontier:
            if not found or loss(metric, point[metric].mean) < loss(metric, found[-1][metric].mean):
                found.append(point)
        return found

    def limits(self, goal: Goal, one: Judged) -> list[LimitCheck]:
        """Whether `one` keeps each limit."""
        return [
            LimitCheck(
                limit,
                one[limit.metric],
                one.interval(limit.excesses(one.runs, self.everyone.runs)),
                None if limit.share is None else one.share(self.everyone, limit.metric),
            )
            for limit in goal.limits
        ]

    def broken(self, goal: Goal, one: Judged) -> list[str]:
        """The limits that its means break."""
        return [str(kept.limit) for kept in self.limits(goal, one) if not kept.kept]

    def violation(self, goal: Goal, one: Judged) -> float:
        return goal.violation(one.runs, self.everyone.runs)

    def beats(self, goal: Goal, one: Judged) -> bool:
        """Whether `one` is to be advised instead: its mean is better, and it costs no more of
        anything that is limited. More money is free if its limit is sure to be kept, but has to buy
        something: a gain beyond the chance of these runs. Limited traffic is never free."""
        own, usual = one.values(goal.aim), self.chosen.values(goal.aim)
        gain = Interval.of(loss(goal.aim, y - x) for x, y in zip(own, usual, strict=True))
        if not loss(goal.aim, one[goal.aim].mean) < loss(goal.aim, self.chosen[goal.aim].mean):
            return False
        pairs = zip(self.limits(goal, one), self.limits(goal, self.chosen), strict=True)
        more = [new for new, old in pairs if new.excess.mean > old.excess.mean]
        return not more or (
            gain.low > 0
            and all(x.excess.high <= 0 and x.limit.metric != "communication" for x in more)
        )


def judge(
    case: Case,
    session: Session,
    found: SearchResult,
    goal: Goal,
    seeds: Sequence[int],
    progress: Callable[[int, int], None],
) -> Judgement:
    """Run everything that the plan mentions with the held-out seeds. What `beats` the choice of the
    search there is advised instead: a page must not advise what its own table says is worse. Where
    that happens, the runs that decide are also those that are reported, so that the advice looks a
    little better than it is: it is the best of about a dozen, which differ by little."""
    first, chosen = None, found.chosen
    while True:
        made, others = _judge(case, session, found, chosen, seeds, progress)
        asked = goal.settle(made.everyone.means())
        better = _best(asked, [one for one in others if made.beats(asked, one)])
        if better is None or better.setting is None:
            break
        first, chosen = first or made.chosen, better.setting  # ends: the aim gets better each time
    usual = {one.setting for one in made.references}
    rest = [one for one in others if one.setting not in usual]
    least = min((made.violation(asked, one) for one in rest), default=0.0)
    second = _best(asked, [one for one in rest if made.violation(asked, one) <= least])
    launch = _launch(case, session, made, seeds, goal.performance)
    return replace(made, runner_up=second, replaced=first, launch=launch)


def _launch(
    case: Case, session: Session, made: Judgement, seeds: Sequence[int], metric: str
) -> Launch:
    """The launch from the records of runs that were made before: none is run again."""
    chosen, alone = made.chosen, made.alone
    assert chosen.setting is not None
    assert alone.rules is not None
    cells = [*case.cells(chosen.setting, seeds, JUDGE), *case.alone(alone.rules, seeds, JUDGE)]
    records = session.run(session.check(cells)).records
    return Launch.of(metric, records[: len(seeds)], records[len(seeds) :], chosen.interval)


def _best(goal: Goal, among: Sequence[Judged]) -> Judged | None:
    return min(among, key=lambda one: goal.order(one.means()), default=None)


def _judge(
    case: Case,
    session: Session,
    found: SearchResult,
    chosen: Setting,
    seeds: Sequence[int],
    progress: Callable[[int, int], None],
) -> tuple[Judgement, list[Judged]]:
    """All figures with this advice, and those of all other settings that may be advised. What was
    run before is not run again."""
    paid, free = case.everyone, case.nobody
    more = spending(found.evidence, found.evidence.settings, found.goal, chosen)
    settings = dict.fromkeys([
        chosen, paid, free, *found.frontier, found.chosen, found.leader,
        *(each.best for each in more.values()), *([found.second] if found.second else []),
        *found.easiest.values(),
    ])  # fmt: skip
    advised, alone = cells_by_client(case, chosen, found.alone, seeds)
    groups = [
        advised if setting == chosen else case.cells(setting, seeds, JUDGE) for setting in settings
    ]
    groups += [case.cells(chosen, seeds, JUDGE, factor) for factor in FACTORS]
    groups.append(alone)
    runs = iter(needed(run_groups(session, groups, progress)))
    runs_a_world = 0 if case.fitted is None else case.fitted.runs
    judged = {
        setting: Judged(str(setting), next(runs), setting, runs_a_world=runs_a_world)
        for setting in settings
    }
    off = {
        factor: Judged(f"costs x {factor:g}", next(runs), chosen, runs_a_world=runs_a_world)
        for factor in FACTORS
    }
    made = Judgement(
        chosen=judged[chosen],
        references=(
            replace(judged[paid], label=f"everyone is paid, D_c {paid.threshold:g}"),
            replace(judged[free], label=f"nobody is paid, D_c {free.threshold:g}"),
            Judged(named(found.alone), next(runs), rules=found.alone, runs_a_world=runs_a_world),
        ),
        frontier=tuple(
            sorted(
                (judged[setting] for setting in found.frontier),
                key=lambda point: point["payment"].mean,
            )
        ),
        sensitivity=dict(sorted({**off, 1.0: judged[chosen]}.items())),
        leader=judged[found.leader],
        spending={name: (each.count, judged[each.best]) for name, each in more.items()},
        easiest={metric: judged[setting] for metric, setting in found.easiest.items()},
    )
    allowed = [one for one in settings if one != chosen and case.space.holds(one)]
    return made, [judged[one] for one in allowed]
