"""The record of a search: an Optuna study in a file.

Settings are asked for and told in batches of one size. Each batch has a new sampler, seeded by its
number: a search that is continued asks for the same settings as one that was never stopped, on any
number of processes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..support.extras import install
from ..support.files import replacing
from .evidence import Evidence
from .goals import GAINS, Goal
from .space import Setting, Space

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

BATCH = 16
STARTUP = 2 * BATCH  # random settings, before the sampler learns from results


def check_optuna() -> None:
    """Refuse to search without Optuna."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        raise InputError(
            f"incfed plan: needs the package optuna ({error}); install it with: {install('plan')}"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)


class Study:
    """A study in `file` (None: in memory); one that exists is continued if it can be read."""

    def __init__(self, file: Path | None, goal: Goal, space: Space, seed: int) -> None:
        import optuna

        self._optuna = optuna
        self._goal, self._space, self._seed = goal, space, seed
        if file is None:
            self._study = self._open(None)
            return
        try:
            self._study = self._open(file)
            self._study = self._whole_batches(file)
        except InputError:  # cannot be written
            raise
        except Exception:  # damaged, which Optuna says in many ways; the runs are kept elsewhere
            file.unlink()
            self._study = self._open(file)

    def _open(self, file: Path | None) -> Any:
        metrics = (self._goal.aim, self._goal.partner)
        return self._optuna.create_study(
            study_name="plan",
            storage=None if file is None else _storage(file),
            directions=["maximize" if name in GAINS else "minimize" for name in metrics],
            load_if_exists=True,
        )

    def _whole_batches(self, file: Path) -> Any:
        """The study without the unfinished batch of a killed search. That batch is asked for again,
        and the sampler must not know any of its results."""
        trials = self._study.get_trials(deepcopy=False)
        kept = self.batches * BATCH
        if len(trials) == kept:
            return self._study
        with replacing(file) as fresh:
            self._open(fresh).add_trials(trials[:kept])
        return self._open(file)

    @property
    def batches(self) -> int:
        """The number of finished batches."""
        trials = self._study.get_trials(deepcopy=False)
        done = next((n for n, one in enumerate(trials) if not one.state.is_finished()), len(trials))
        return done // BATCH

    def ask(self, number: int, first: Sequence[Setting]) -> list[tuple[Any, Setting]]:
        """The settings of a batch, beginning with those of `first`."""
        self._study.sampler = self._sampler(number)
        asked = []
        for n in range(BATCH):
            if n < len(first):
                self._study.enqueue_trial(self._parameters(first[n]))
            trial = self._study.ask(self._distributions())
            asked.append((trial, self._setting(trial)))
        return asked

    def tell(self, trial: Trial, setting: Setting, evidence: Evidence) -> None:
        """Record the result of a setting; a failed trial if no run of it succeeded."""
        if not evidence.count(setting):
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            return
        for limit in self._goal.limits:
            trial.set_constraint(limit.metric, evidence.excess(setting, limit))
        means = evidence.means(setting)
        self._study.tell(trial, [means[self._goal.aim], means[self._goal.partner]])

    def replay(self, number: int) -> list[Setting]:
        """The settings of a finished batch."""
        trials = self._study.get_trials(deepcopy=False)
        return [self._setting(one) for one in trials[number * BATCH : (number + 1) * BATCH]]

    def _sampler(self, number: int) -> Any:
        """TPE, each parameter on its own. With four seeds of 96 settings it did a little better
        than multivariate TPE, NSGA-II and random search, in this order."""
        return self._optuna.samplers.TPESampler(
            n_startup_trials=STARTUP,
            multivariate=False,
            constant_liar=True,  # spreads the settings of a batch
            seed=(1_000_003 * self._seed + number) % 2**32,
        )

    def _distributions(self) -> dict[str, BaseDistribution]:
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        found: dict[str, BaseDistribution] = {}
        for name, among in self._space.choices.items():
            if len(among) > 1:
                found[name] = CategoricalDistribution(among)
        for name, one in self._space.ranges.items():
            if not one.fixed:
                found[name] = FloatDistribution(one.low, one.high, log=one.low > 0)
        return found

    def _parameters(self, setting: Setting) -> dict[str, Any]:
        known: dict[str, Any] = {name: one.high for name, one in self._space.ranges.items()}
        known |= self._space.numbers(setting) | {
            "mechanism": setting.candidate, "trigger": setting.trigger,
            "download": setting.download, "width": setting.width, "trusting": setting.trusting,
        }  # fmt: skip
        return {name: known[name] for name in self._distributions()}

    def _setting(self, trial: Any) -> Setting:
        known, space = trial.params, self._space
        values = {name: known.get(name, one.low) for name, one in space.ranges.items()}
        chosen = {name: known.get(name, among[0]) for name, among in space.choices.items()}
        return space.make(**chosen, **values)


def _storage(file: Path) -> Any:
    """The journal in `file`, without the half line that a killed process may have left."""
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    with suppress(FileNotFoundError):
        lines = file.read_bytes()
        whole = lines.rfind(b"\n") + 1
        if whole < len(lines):
            os.truncate(file, whole)
    # Optuna's own lock can turn a Ctrl-C into another error. Other processes are locked out of the
    # whole folder, so that a lock of this process will do.
    lock: Any = RLock()
    return JournalStorage(JournalFileBackend(str(file), lock))
