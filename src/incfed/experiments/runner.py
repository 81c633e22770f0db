"""Run an experiment on all cores. Finished runs are saved at once, and kept by the next start."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from ..results.records import Result
from ..support.files import claim
from ..support.inputs import integer
from . import saved
from .experiment import INDEX, OURS, Experiment, Job
from .performing import Performer, perform
from .warm_up import warm_up
from .workers import Fault, Workers

Progress = Callable[[int, int], None]  # steps done, steps in all


@dataclass
class Outcome:
    """What came of an experiment."""

    total: int
    kept: int = 0  # runs that an earlier start had finished
    runs: dict[str, list[Result]] = field(default_factory=dict)  # by label; seeds in order
    failures: list[tuple[Job, str]] = field(default_factory=list)
    interrupted: bool = False

    @property
    def finished(self) -> int:
        return sum(map(len, self.runs.values()))

    @property
    def complete(self) -> bool:
        return self.finished == self.total


@dataclass(frozen=True)
class Plan:
    """What is there, and what is to do."""

    experiment: Experiment
    done: dict[int, Result]
    todo: list[Job]
    processes: int

    @property
    def total(self) -> int:
        return len(self.done) + len(self.todo)


def plan(experiment: Experiment, *, jobs: int | None = None, fresh: bool = False) -> Plan:
    """Claim the output folder and look for runs to keep; `fresh` keeps none."""
    processes = cores() if jobs is None else integer("jobs", jobs, low=1)
    claim(experiment.output, mark=INDEX, ours=OURS)
    done, todo = {}, []
    for job in experiment.jobs():
        saved.refuse_foreign(job)  # all of them before the first is touched
    for job in experiment.jobs():
        found = None if fresh else saved.find(job.folder, job.fingerprint)
        if found is not None:
            done[job.index] = found
        else:
            saved.make_way(job, fresh=fresh)
            todo.append(job)
    saved.write_index(experiment)
    return Plan(experiment, done, todo, min(processes, max(len(todo), 1)))


def run(
    plan: Plan, *, progress: Progress | None = None, slow: Callable[[], None] | None = None
) -> Outcome:
    """Do what is to do; `slow` is called if the kernels have to be compiled first.

    The numbers do not depend on the number of processes. Ctrl-C stops them and returns what is
    finished. With several processes, a script must call this under `if __name__ == "__main__":`.
    """
    outcome = Outcome(plan.total, kept=len(plan.done))
    say = progress or (lambda done, total: None)
    try:
        if plan.todo:
            (_here if plan.processes == 1 else _there)(plan, outcome, say, slow)
    except KeyboardInterrupt:
        outcome.interrupted = True
    failed = {job.index for job, _ in outcome.failures}
    for job in plan.experiment.jobs():
        result = plan.done.get(job.index)
        if result is None and job.index not in failed:
            result = saved.find(job.folder, job.fingerprint)
            if result is None and not outcome.interrupted:
                outcome.failures.append((job, saved.trouble(job)))
        if result is not None:
            outcome.runs.setdefault(job.label, []).append(result)
    order = [label for label in plan.experiment.entries if label in outcome.runs]
    outcome.runs = {label: outcome.runs[label] for label in order}
    return outcome


def _here(plan: Plan, outcome: Outcome, say: Progress, slow: Callable[[], None] | None) -> None:
    """In this process."""
    experiment, steps = plan.experiment, plan.experiment.steps
    total = steps * len(plan.todo)
    warm_up(experiment.algorithms.values(), slow)
    for n, job in enumerate(plan.todo):
        fault = perform(experiment, job, partial(_tell, say, n * steps, total))
        if fault is not None:
            outcome.failures.append((job, fault))
    say(total, total)


def _tell(say: Progress, before: int, total: int, done: int) -> None:
    say(before + done, total)


def _there(plan: Plan, outcome: Outcome, say: Progress, slow: Callable[[], None] | None) -> None:
    """In other processes."""
    experiment, steps = plan.experiment, plan.experiment.steps
    total = steps * len(plan.todo)
    ended = 0  # runs that are done or failed
    try:
        with Workers(plan.processes, Performer(experiment.recipe)) as workers:
            warm_up(experiment.algorithms.values(), slow)  # while they start: they find it done
            for done in workers.run([job.index for job in plan.todo]):
                if done is not None:
                    ended += 1
                    if isinstance(done[1], Fault):
                        outcome.failures.append((plan.todo[done[0]], done[1].text))
                say(ended * steps + workers.steps, total)
    finally:
        for job in plan.todo:
            _sweep(job)
    outcome.failures.sort(key=lambda failure: failure[0].index)


def _sweep(job: Job) -> None:
    """Remove what a killed worker left half-written beside the place of its run."""
    for end in ("new", "old"):
        if end == "new" or job.folder.exists():  # killed between two renames, the old one is all
            for rest in job.folder.parent.glob(f".{job.folder.name}.*.{end}"):
                shutil.rmtree(rest, ignore_errors=True)


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
