"""Held-out runs: all figures of a plan come from seeds, and of a log from steps, that no setting
was chosen with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..experiments.cells import Cell, Record
from ..experiments.engine import Session
from .case import JUDGE, Case
from .evidence import EXTRA, Interval, figures_of, means_of
from .goals import METRICS, Goal, Limit
from .search import RunsFailed, SearchResult, run_groups
from .space import Setting

FACTORS = (0.5, 2.0)  # costs that are off by so much
EVERYONE, NOBODY, ALONE = "everyone is paid", "nobody is paid", "nobody shares"


@dataclass(frozen=True)
class Judged:
    """Held-out figures of one setting (or of clients alone), seed by seed."""

    label: str
    runs: tuple[Mapping[str, float], ...]
    setting: Setting | None = None

    def __getitem__(self, metric: str) -> Interval:
        return Interval.of(self.values(metric))

    def values(self, metric: str) -> list[float]:
        return [run[metric] for run in self.runs]

    def means(self) -> dict[str, float]:
        return means_of(self.runs)

    def figures(self) -> dict[str, Interval]:
        return {name: self[name] for name in (*METRICS, *EXTRA)}

    def more(self, other: Judged, metric: str, times: float = 1.0) -> Interval:
        """How much more than `times` as much as `other` has, seed by seed."""
        pairs = zip(self.values(metric), other.values(metric), strict=True)
        return Interval.of(one - times * two for one, two in pairs)

    def share(self, other: Judged, metric: str) -> Interval | None:
        """In percent of `other`, seed by seed; None: that has nothing to be compared with."""
        whole = other[metric].mean
        if not whole > 0:
            return None
        ratio = self[metric].mean / whole
        rest = self.more(other, metric, ratio)
        return Interval(100 * ratio, 100 * rest.half / whole, rest.n)


@dataclass(frozen=True)
class LimitCheck:
    """A limit, and whether held-out runs keep it: for sure, or within the interval."""

    limit: Limit
    figure: Interval
    excess: Interval  # over the limit; if that is a share, over paying everyone with the same seed
    share: Interval | None  # of paying everyone, if the limit is one

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
    references: tuple[Judged, ...]
    frontier: tuple[Judged, ...]  # the search's, whatever became of it here, by rising payment
    sensitivity: Mapping[float, Judged]  # by the factor that costs are off by, 1 included
    thrifty: Judged | None  # for much less traffic
    easiest: Mapping[str, Judged]  # by limited metric

    @property
    def everyone(self) -> Judged:
        """What limits given as a share refer to."""
        return self.references[0]

    def limits(self, goal: Goal, one: Judged | None = None) -> list[LimitCheck]:
        """Whether `one` (by default what was chosen) keeps each limit."""
        judged, everyone = one or self.chosen, self.everyone
        return [
            LimitCheck(
                limit,
                judged[limit.metric],
                Interval.of(limit.excesses(judged.runs, everyone.runs)),
                None if limit.share is None else judged.share(everyone, limit.metric),
            )
            for limit in goal.limits
        ]

    def broken(self, goal: Goal, one: Judged) -> list[str]:
        """The limits that its means are outside of."""
        return [str(kept.limit) for kept in self.limits(goal, one) if not kept.kept]

    def violation(self, goal: Goal, one: Judged) -> float:
        return goal.violation(one.runs, self.everyone.runs)


def judge(
    case: Case,
    session: Session,
    found: SearchResult,
    seeds: Sequence[int],
    progress: Callable[[int, int], None],
) -> Judgement:
    """Run everything that the plan mentions with the held-out seeds, all at once."""
    paid, free = case.everyone, case.nobody
    more = [] if found.thrifty is None else [found.thrifty]
    settings = list(
        dict.fromkeys([found.chosen, paid, free, *found.frontier, *more, *found.easiest.values()])
    )
    groups: list[list[Cell]] = [case.cells(one, seeds, JUDGE) for one in settings]
    groups += [case.cells(found.chosen, seeds, JUDGE, factor) for factor in FACTORS]
    groups.append(case.alone(seeds))
    answers: list[list[Record]] = []
    for answer in run_groups(session, groups, progress):
        if isinstance(answer, str):
            raise RunsFailed(answer)
        answers.append(answer)
    by_setting = {
        one: _judged(str(one), records, one)
        for one, records in zip(settings, answers, strict=False)
    }
    chosen = by_setting[found.chosen]
    off = {
        factor: _judged(f"costs x {factor:g}", records, found.chosen)
        for factor, records in zip(FACTORS, answers[len(settings) :], strict=False)
    }
    return Judgement(
        chosen=chosen,
        references=(
            replace(by_setting[paid], label=f"{EVERYONE}, D_c {paid.threshold:g}"),
            replace(by_setting[free], label=f"{NOBODY}, D_c {free.threshold:g}"),
            _judged(ALONE, answers[-1], None),
        ),
        frontier=tuple(
            sorted((by_setting[one] for one in found.frontier), key=lambda one: one["payment"].mean)
        ),
        sensitivity=dict(sorted({**off, 1.0: chosen}.items())),
        thrifty=None if found.thrifty is None else by_setting[found.thrifty],
        easiest={metric: by_setting[one] for metric, one in found.easiest.items()},
    )


def _judged(label: str, records: Sequence[Record], setting: Setting | None) -> Judged:
    return Judged(label, tuple(map(figures_of, records)), setting)
