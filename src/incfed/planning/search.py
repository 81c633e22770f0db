"""The search: batch after batch of settings, raced; then the best of them once more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..experiments.cells import Cell, Record
from ..experiments.engine import Session
from ..support.inputs import InputError
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
    """How far a search is."""

    done: int  # settings
    total: int
    runs: int
    best: Setting | None = None
    means: Mapping[str, float] | None = None  # of the best
    part: float = 0.0  # of the runs that are under way


Watch = Callable[[Update], None]


@dataclass(frozen=True)
class Found:
    """What a search came to; figures in it are those that were tuned on."""

    evidence: Evidence
    goal: Goal  # with all limits as numbers
    chosen: Setting
    within: bool  # the limits, by what the search saw
    frontier: list[Setting]
    thrifty: Setting | None  # as good as the chosen one for much less traffic
    easiest: dict[str, Setting]  # by limited metric: comes closest to that limit, keeps the others


class Broken(RuntimeError):
    """Runs failed that nothing can be said without."""


class Search:
    """Looks for settings with the `seeds` of the search."""

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
        [answer] = run_lots(self._session, [cells], self.under_way, self.slow)
        if isinstance(answer, str):
            raise Broken(answer)
        evidence.everyone = [figures_of(one) for one in answer]
        if self._case.space.holds(everyone):
            evidence.add(everyone, evidence.everyone)
        return goal.settle(means_of(evidence.everyone))

    def run(self, goal: Goal, *, batches: int, file: Path | None, seed: int) -> Found:
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

    def _finish(self, goal: Goal) -> Found:
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
        return Found(
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
            raise Broken(next(iter(self._faults.values())))

    def _run(self, settings: Sequence[Setting], seeds: int) -> None:
        """Bring the settings to so many seeds; one whose run fails is out."""
        lots: dict[Setting, list[Cell]] = {}
        for one in settings:
            missing = self.evidence.seeds[self.evidence.count(one) : seeds]
            if missing and one not in self._faults:
                lots[one] = self._case.cells(one, missing, SEARCH)
        if not lots:
            return
        answers = run_lots(self._session, list(lots.values()), self.under_way, self.slow)
        for setting, answer in zip(lots, answers, strict=True):
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


def run_lots(
    session: Session,
    lots: Sequence[Sequence[Cell]],
    progress: Callable[[int, int], None],
    slow: Callable[[], None] | None = None,
) -> list[list[Record] | str]:
    """All cells of all lots at once; the records of each lot, or why one of its runs failed."""
    cells = [cell for lot in lots for cell in lot]
    outcome = session.run(session.check(cells), progress=progress, slow=slow)
    if outcome.interrupted:
        raise KeyboardInterrupt
    faults = {id(cell): fault for cell, fault in outcome.failures}
    records = iter(outcome.records)
    answers: list[list[Record] | str] = []
    for lot in lots:
        found = [None if id(cell) in faults else next(records) for cell in lot]
        said = [faults[id(cell)] for cell in lot if id(cell) in faults]
        answers.append(said[0] if said else [one for one in found if one is not None])
    return answers


def refuse_broken(error: Broken) -> InputError:
    return InputError(f"no plan: the runs failed: {error}")
