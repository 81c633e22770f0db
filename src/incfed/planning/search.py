"""The search: batches of settings are raced; the best get all seeds, and one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..experiments.cells import Cell
from ..experiments.engine import Outcome, Session
from .alone import Rules, candidates
from .case import SEARCH, Case
from .evidence import Evidence, figures_of, means_of
from .filling import along, between, rarer
from .goals import Figures, Goal, loss
from .selection import (
    RESOURCES,
    RUNGS,
    choose,
    easiest,
    front,
    promising,
    ranked,
    survivors,
    thin,
)
from .space import Setting
from .study import BATCH, Study
from .ties import best, contenders, play_off, rivals

FULL = RUNGS[-1]
FINALISTS = 12  # settings that get all seeds before one is chosen
FRONTIER = 8  # its points that are judged
FILLED = 6  # settings of a batch that fill gaps
RARER = 2  # settings of a batch that are as the best, with rarer rounds
BEST_ALONE = 4  # ways to learn alone that get more than the first seeds


@dataclass(frozen=True)
class Update:
    """The progress of a search."""

    done: int  # settings
    total: int
    runs: int
    best: Setting | None = None
    means: Figures | None = None  # of the best
    part: float = 0.0  # how much of the present runs is done


Watch = Callable[[Update], None]


@dataclass(frozen=True)
class SearchResult:
    """The result of a search; its figures come from the seeds that settings were chosen with."""

    evidence: Evidence
    goal: Goal  # with its limits as numbers
    chosen: Setting
    within: bool  # it keeps all limits in the search
    frontier: list[Setting]
    leader: Setting  # has the best aim; the chosen one is as good, and cheaper, or the same
    second: Setting | None  # the best other one
    easiest: dict[str, Setting]  # by limited metric: comes closest to that limit, keeps the others
    alone: Rules  # the best way to learn without sharing


class RunsFailed(RuntimeError):
    """Runs failed that every plan needs."""


class Search:
    """Searches for settings. The first seeds are for racing, the others for the play-off between
    the best; `slow` is called if kernels must be compiled."""

    def __init__(
        self,
        case: Case,
        session: Session,
        seeds: Sequence[int],
        watch: Watch,
        slow: Callable[[], None] | None = None,
    ) -> None:
        self._case, self._session, self._watch, self._slow = case, session, watch, slow
        self._now = Update(0, 0, 0)
        self.evidence, self.play_off = (Evidence(some) for some in (seeds[:FULL], seeds[FULL:]))
        self._faults: dict[Setting, str] = {}

    def _settle(self, goal: Goal) -> Goal:
        """The goal with its limits as numbers."""
        evidence, everyone = self.evidence, self._case.everyone
        seeds = [*evidence.seeds]
        if any(limit.share is not None for limit in goal.limits):  # by which all are judged
            seeds += self.play_off.seeds
        cells = self._case.cells(everyone, seeds, SEARCH)
        [runs] = needed(run_groups(self._session, [cells], self.report, self._slow))
        evidence.everyone, self.play_off.everyone = runs[:FULL], runs[FULL:]
        if self._case.space.holds(everyone):
            evidence.add(everyone, evidence.everyone)
        return goal.settle(means_of(evidence.everyone))

    def run(self, goal: Goal, *, batches: int, file: Path | None, seed: int) -> SearchResult:
        goal = self._settle(goal)
        study = Study(file, goal, self._case.space, seed)
        first, total = self._case.space.first(self._case.usual)[:BATCH], batches * BATCH
        self._tell(goal, 0, total)
        self._run(first, FULL)  # not raced: they span the frontier, outside the limits too
        for number in range(batches):
            if number < study.batches:
                self._race(study.replay(number), goal)
            else:
                asked = study.ask(number, self._fill(goal) if number else first)
                self._race([setting for _, setting in asked], goal)
                for trial, setting in asked:
                    study.tell(trial, setting, self.evidence)
            self._tell(goal, (number + 1) * BATCH, total)
        return self._finish(goal)

    def _fill(self, goal: Goal) -> list[Setting]:
        """Settings in between those tried so far, and cheaper ones, for a part of a batch."""
        evidence, space = self.evidence, self._case.space
        leading = promising(evidence, goal, RUNGS[0], 1)
        if not leading:
            return []
        found = between(evidence, space, goal, leading[0], FILLED)
        return [*found, *rarer(space, leading[0], {*evidence.settings, *found}, RARER)]

    def _race(self, settings: Sequence[Setting], goal: Goal) -> None:
        left = list(dict.fromkeys(settings))
        for rung in RUNGS:
            self._run(left, rung)
            left = [setting for setting in left if self.evidence.count(setting) >= rung]
            left = survivors(self.evidence, left, goal, rung)

    def _finish(self, goal: Goal) -> SearchResult:
        evidence = self.evidence
        self._check(evidence.settings)
        wanted = promising(evidence, goal, RUNGS[0], FINALISTS)
        for resource in RESOURCES:
            line = front(evidence, goal, evidence.settings, RUNGS[0], resource)
            wanted += thin(line, [evidence.means(setting)[resource] for setting in line], FINALISTS)
        wanted += easiest(evidence, goal, evidence.settings).values()
        self._run(list(dict.fromkeys(wanted)), FULL)
        full = [setting for setting in evidence.settings if evidence.count(setting) >= FULL]
        self._check(full)
        leader, chosen = self._decide(full, goal)
        others = ranked(evidence, [one for one in full if one != chosen], goal)
        return SearchResult(
            evidence=evidence,
            goal=goal,
            chosen=chosen,
            within=evidence.violation(chosen, goal) == 0,
            frontier=along(evidence, goal, full, FULL, FRONTIER),
            leader=leader,
            second=others[0] if others else None,
            easiest=easiest(evidence, goal, full),
            alone=self._alone(goal, chosen),
        )

    def _decide(self, full: Sequence[Setting], goal: Goal) -> tuple[Setting, Setting]:
        """The setting with the best aim, and the one to choose: see `ties`."""
        evidence, again = self.evidence, self.play_off
        leader = choose(evidence, full, goal)
        if goal.counts_traffic:
            usual = (self._case.nobody, self._case.everyone)
            others = rivals(evidence, full, goal, leader, always=usual)
            chosen = play_off(again, leader, others, goal, self._meet) if others else leader
            return leader, chosen
        others = contenders(evidence, full, goal, leader)
        chosen = best(evidence, again, leader, others, goal, self._meet) if others else leader
        return chosen, chosen

    def _meet(self, settings: Sequence[Setting], seeds: int) -> None:
        """Run settings with the seeds of the play-off."""
        self._run(settings, seeds, self.play_off)

    def _alone(self, goal: Goal, chosen: Setting) -> Rules:
        """The way to learn alone that performs best; the best of the first seeds get more."""
        left = candidates(self._case.space, chosen, self._case.fixed)
        for rung, count in ((RUNGS[0], BEST_ALONE), (RUNGS[1], 1)):
            groups = [self._case.alone(rules, self.evidence.seeds[:rung], SEARCH) for rules in left]
            found = needed(run_groups(self._session, groups, self.report, self._slow))
            means = [means_of(runs)[goal.performance] for runs in found]
            order = sorted(range(len(left)), key=lambda n: loss(goal.performance, means[n]))
            left = [left[n] for n in order[:count]]
        return left[0]

    def _check(self, left: Sequence[Setting]) -> None:
        if not left:
            raise RunsFailed(next(iter(self._faults.values())))

    def _run(
        self, settings: Sequence[Setting], seeds: int, evidence: Evidence | None = None
    ) -> None:
        """Run the settings up to so many seeds; one whose run fails is dropped."""
        evidence = evidence or self.evidence
        groups: dict[Setting, list[Cell]] = {}
        for setting in settings:
            missing = evidence.seeds[evidence.count(setting) : seeds]
            if missing and setting not in self._faults:
                groups[setting] = self._case.cells(setting, missing, SEARCH)
        if not groups:
            return
        found = run_groups(self._session, list(groups.values()), self.report, self._slow)
        for setting, runs in zip(groups, found, strict=True):
            if isinstance(runs, str):
                self._faults[setting] = runs
                evidence.drop(setting)
            else:
                evidence.add(setting, runs)

    def _tell(self, goal: Goal, done: int, total: int) -> None:
        leading = promising(self.evidence, goal, RUNGS[-1], FINALISTS)
        best = choose(self.evidence, leading, goal) if leading else None
        means = None if best is None else self.evidence.means(best)
        self._now = Update(done, total, self.evidence.runs, best, means)
        self._watch(self._now)

    def report(self, done: int, total: int) -> None:
        """Tell how many steps of the present runs are done."""
        self._watch(replace(self._now, part=done / total if total else 1.0))


def run_groups(
    session: Session,
    groups: Sequence[Sequence[Cell]],
    progress: Callable[[int, int], None],
    slow: Callable[[], None] | None = None,
) -> list[list[Figures] | str]:
    """Run all cells of all groups at once; the figures of each group's runs, or why one failed."""
    cells = [cell for group in groups for cell in group]
    outcome = run_cells(session, cells, progress, slow)
    faults = {id(cell): fault for cell, fault in outcome.failures}
    records = iter(outcome.records)
    figures = {id(cell): figures_of(next(records)) for cell in cells if id(cell) not in faults}
    return [
        next((faults[id(cell)] for cell in group if id(cell) in faults), "")
        or [figures[id(cell)] for cell in group]
        for group in groups
    ]


def run_cells(
    session: Session,
    cells: Sequence[Cell],
    progress: Callable[[int, int], None],
    slow: Callable[[], None] | None = None,
) -> Outcome:
    """Run all cells at once; KeyboardInterrupt if that was interrupted."""
    outcome = session.run(session.check(cells), progress=progress, slow=slow)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome


def needed(found: Sequence[list[Figures] | str]) -> list[list[Figures]]:
    """The figures that `run_groups` returned; RunsFailed if any run failed."""
    figures = []
    for runs in found:
        if isinstance(runs, str):
            raise RunsFailed(runs)
        figures.append(runs)
    return figures
