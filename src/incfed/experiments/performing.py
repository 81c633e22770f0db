"""One run, from its job to its place on disk; the same in this process and in any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from ..mechanisms.base import MechanismError
from ..simulation import simulate
from ..support.inputs import InputError
from ..support.plugins import explain
from . import saved
from .config import build
from .experiment import Experiment, Job, Recipe
from .workers import Fault


def perform(experiment: Experiment, job: Job, progress: Callable[[int], None]) -> str | None:
    """Run `job` and save it; what went wrong in one line, or None."""
    part = experiment.entries[job.label]
    try:
        result = simulate(
            experiment.world,
            part.value,
            steps=experiment.steps,
            seed=job.seed,
            progress=progress,
        )
        saved.keep(result, job)
    except (InputError, MechanismError) as error:
        return str(error)
    except (Exception, SystemExit) as error:  # whatever a user's own mechanism raises
        return explain(error, list(part.sources))
    return None


@dataclass
class Performer:
    """A worker's skill: it builds the experiment from its recipe once, and is told job numbers."""

    recipe: Recipe

    @cached_property
    def _made(self) -> tuple[Experiment, list[Job]]:
        experiment = build(self.recipe)
        return experiment, experiment.jobs()

    def do(self, job: int, watch: Callable[[int], None]) -> Fault | None:
        experiment, jobs = self._made
        fault = perform(experiment, jobs[job], watch)
        return None if fault is None else Fault(fault)
