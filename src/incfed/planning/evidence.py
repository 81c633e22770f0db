"""The final figures of runs, seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..experiments.cells import Record
from .goals import METRICS, Figures, Goal, Limit
from .space import Setting

EXTRA = ("rounds", "participation", "matched")


def figures_of(record: Record) -> dict[str, float]:
    """The final figures of a run."""
    return {name: record.figures[name] for name in (*METRICS, *EXTRA)}


def means_of(runs: Sequence[Figures]) -> dict[str, float]:
    return {name: math.fsum(run[name] for run in runs) / len(runs) for name in METRICS}


class Evidence:
    """The runs of a search, by setting; the runs of each start with the same seeds. `everyone` has
    the runs that limits given as a share refer to, which need not be those of a setting that is
    searched."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = tuple(seeds)
        self.everyone: Sequence[Figures] = ()
        self._runs: dict[Setting, list[Figures]] = {}

    def add(self, setting: Setting, runs: Iterable[Figures]) -> None:
        """Add runs with the next seeds."""
        self._runs.setdefault(setting, []).extend(runs)

    def drop(self, setting: Setting) -> None:
        """Forget a setting that cannot be run."""
        self._runs.pop(setting, None)

    def count(self, setting: Setting) -> int:
        return len(self._runs.get(setting, ()))

    @property
    def settings(self) -> list[Setting]:
        return list(self._runs)

    @property
    def runs(self) -> int:
        return sum(map(len, self._runs.values()))

    def joined(self, other: Evidence) -> Evidence:
        """The runs of both, one after the other, of the settings that both have."""
        found = Evidence((*self.seeds, *other.seeds))
        found.everyone = (*self.everyone, *other.everyone)
        for setting, runs in self._runs.items():
            if setting in other._runs:
                found.add(setting, (*runs, *other._runs[setting]))
        return found

    def values(self, setting: Setting, metric: str, n: int | None = None) -> list[float]:
        return [run[metric] for run in self._runs[setting][:n]]

    def means(self, setting: Setting, n: int | None = None) -> dict[str, float]:
        """The means of all runs, or of those with the first n seeds."""
        return means_of(self._runs[setting][:n])

    def excesses(self, setting: Setting, limit: Limit, n: int | None = None) -> list[float]:
        return limit.excesses(self._runs[setting][:n], self.everyone)

    def excess(self, setting: Setting, limit: Limit, n: int | None = None) -> float:
        return limit.excess(self._runs[setting][:n], self.everyone)

    def violation(self, setting: Setting, goal: Goal, n: int | None = None) -> float:
        return goal.violation(self._runs[setting][:n], self.everyone)
