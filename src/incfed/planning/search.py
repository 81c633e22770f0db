"""The search: batches of settings are raced; the best of them get all seeds, and one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..experiments.cells import Cell, Record
from ..experiments.engine import Session
from .case import SEARCH, Case
from .evidence import Evidence, figures_of, means_of
from .goals import Goal
from .selection import RUNGS, choose, easiest, front, promising, survivors, thin, thrifty
from .space import Setting
from .study import BATCH, Study

FULL = RUNGS[-1]
FINALISTS = 12  # get all seeds, before one is chosen
FRONTIER = 8  # points of it that are judged


@dataclass(frozen=True)
class Update:
    """The progress of a search."""

    done: int  # settings
    total: int
    runs: int
    best: Setting | None = None
    means: Mapping[str, float] | None = None  # of the best
    part: float = 0.0  # of the runs that are under way


Watch = Callable[[Update], None]


@dataclass(frozen=True)
class SearchResult:
    """The result of a search. Its figures are from the seeds that settings were chosen with."""

    evidence: Evidence
    goal: Goal  # with all limits as numbers
    chosen: Setting
    within: bool  # the limits, by what the search saw
    frontier: list[Setting]
    thrifty: Setting | None  # as good as the chosen one for much less traffic
    easiest: dict[str, Setting]  # by limited metric: comes closest to that limit, keeps the others


class RunsFailed(RuntimeError):
    """Runs failed that every plan needs."""


class Search:
    """Searches for settings with the given seeds."""

    def __init__(self, case: Case, session: Session, seeds: Sequence[int], watch: Watch) -> None:
        self._case, self._session, self._watch = case, session, watch
        self._now = Update(0, 0, 0)
        self.evidence = Evidence(seeds)
        self.slow: Callable[[], None] | None = None  # called if kernels have to be compiled
        self._faults: dict[Setting, str] = {}

    def settle(self, goal: Goal) -> Goal:
        """The goal with limits as numbers."""
        evidence, everyone = self.evidence, self._case.everyone
        cells = self._case.cells(everyone, evidence.seeds, SEARCH)
        [answer] = run_groups(self._session, [cells], self.under_way, self.slow)
        if isinstance(answer, str):
            raise RunsFailed(answer)
        evidence.everyone = [figures_of(one) for one in answer]
        if self._case.space.holds(everyone):
            evidence.add(everyone, evidence.everyone)
        return goal.settle(means_of(evidence.everyone))

    def run(self, goal: Goal, *, batches: int, file: Path | None, seed: int) -> SearchResult:
        study = Study(file, goal, self._case.space, seed)
        first, total = self._case.space.first(self._case.usual)[:BATCH], batches * BATCH
        self._tell(goal, 0, total)
        self._run(first, FULL)  # not raced: they span the frontier, also outside the limits
        for number in range(batches):
            if number < study.batches:
                self._race(study.replay(number), goal)
            else:
                asked = study.ask(number, first if number == 0 else [])
                self._race([setting for _, setting in asked], goal)
                for trial, setting in asked:
                    study.tell(trial, setting, self.evidence)
            self._tell(goal, (number + 1) * BATCH, total)
        return self._finish(goal)

    def _race(self, settings: Sequence[Setting], goal: Goal) -> None:
        left = list(dict.fromkeys(settings))
        for rung in RUNGS:
            self._run(left, rung)
            left = [one for one in left if self.evidence.count(one) >= rung]
            left = survivors(self.evidence, left, goal, rung)

    def _finish(self, goal: Goal) -> SearchResult:
        evidence = self.evidence
        self._check(evidence.settings)
        wanted = promising(evidence, goal, RUNGS[0], FINALISTS)
        line = front(evidence, goal, evidence.settings, RUNGS[0])
        wanted += thin(line, [evidence.means(one)["payment"] for one in line], FINALISTS)
        wanted += easiest(evidence, goal, evidence.settings).values()
        self._run(list(dict.fromkeys(wanted)), FULL)
        full = [one for one in evidence.settings if evidence.count(one) >= FULL]
        self._check(full)
        chosen = choose(evidence, full, goal)
        line = front(evidence, goal, full, FULL)
        return SearchResult(
            evidence=evidence,
            goal=goal,
            chosen=chosen,
            within=evidence.violation(chosen, goal) == 0,
            frontier=thin(line, [evidence.means(one)["payment"] for one in line], FRONTIER),
            thrifty=thrifty(evidence, goal, full, chosen),
            easiest=easiest(evidence, goal, full),
        )

    def _check(self, left: Sequence[Setting]) -> None:
        if not left:
            raise RunsFailed(next(iter(self._faults.values())))

    def _run(self, settings: Sequence[Setting], seeds: int) -> None:
        """Run the settings up to so many seeds; one whose run fails is dropped."""
        groups: dict[Setting, list[Cell]] = {}
        for one in settings:
            missing = self.evidence.seeds[self.evidence.count(one) : seeds]
            if missing and one not in self._faults:
                groups[one] = self._case.cells(one, missing, SEARCH)
        if not groups:
            return
        answers = run_groups(self._session, list(groups.values()), self.under_way, self.slow)
        for setting, answer in zip(groups, answers, strict=True):
            if isinstance(answer, str):
                self._faults[setting] = answer
                self.evidence.drop(setting)
            else:
                self.evidence.add(setting, map(figures_of, answer))

    def _tell(self, goal: Goal, done: int, total: int) -> None:
        leading = promising(self.evidence, goal, RUNGS[-1], FINALISTS)
        best = choose(self.evidence, leading, goal) if leading else None
        means = None if best is None else self.evidence.means(best)
        self._now = Update(done, total, self.evidence.runs, best, means)
        self._watch(self._now)

    def under_way(self, done: int, total: int) -> None:
        """Steps of the present runs."""
        self._watch(replace(self._now, part=done / total if total else 1.0))


def run_groups(
    session: Session,
    groups: Sequence[Sequence[Cell]],
    progress: Callable[[int, int], None],
    slow: Callable[[], None] | None = None,
) -> list[list[Record] | str]:
    """All cells of all groups at once; the records of each group, or why one of its runs failed."""
    cells = [cell for group in groups for cell in group]
    outcome = session.run(session.check(cells), progress=progress, slow=slow)
    if outcome.interrupted:
        raise KeyboardInterrupt
    faults = {id(cell): fault for cell, fault in outcome.failures}
    records = iter(outcome.records)
    answers: list[list[Record] | str] = []
    for group in groups:
        found = [None if id(cell) in faults else next(records) for cell in group]
        said = [faults[id(cell)] for cell in group if id(cell) in faults]
        answers.append(said[0] if said else [one for one in found if one is not None])
    return answers
