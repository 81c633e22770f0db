"""One run, from its job to its place on disk; the same in this process and in any other."""

from __future__ import annotations

from collections.abc import Callable

from ..inputs import InputError
from ..mechanisms.base import MechanismError
from ..simulation import simulate
from . import saved
from .experiment import Experiment, Job
from .plugins import explain


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
