"""Several algorithms side by side: the mean over seeds and how far single runs lie apart."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..support.inputs import InputError
from .numbers import human_spread, percent_spread
from .records import Result

Runs = Mapping[str, Sequence[Result]]
"""Results by label: the same algorithm with several seeds under one label."""

METRICS = ("regret", "reward", "communication", "payment", "rounds", "participation")
HEADINGS = ("Algorithm", "Seeds", *(name.capitalize() for name in METRICS))


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation (n - 1) of single runs; NaN spread for one run."""

    mean: float
    sd: float
    share: bool = False

    def parts(self) -> tuple[str, str, str]:
        """Mean, spread (empty if there is none) and the unit that both are in, as text."""
        return (percent_spread if self.share else human_spread)(self.mean, self.sd)

    def __str__(self) -> str:
        mean, sd, unit = self.parts()
        return f"{mean} ± {sd}{unit}" if sd else mean + unit


@dataclass(frozen=True)
class Row:
    """One algorithm in a comparison."""

    label: str
    seeds: int
    regret: Spread
    reward: Spread
    communication: Spread
    payment: Spread
    rounds: Spread
    participation: Spread

    def spreads(self) -> tuple[Spread, ...]:
        """The figures in the order of METRICS."""
        return tuple(getattr(self, name) for name in METRICS)

    def cells(self) -> list[str]:
        """The row as text, in the order of HEADINGS."""
        return [self.label, str(self.seeds), *map(str, self.spreads())]


def compare(runs: Runs) -> list[Row]:
    """One row a label, in the order given. Regret is NaN if it is unknown for any seed;
    participation counts only the seeds that had rounds."""
    rows = []
    for label, results in checked(runs).items():
        finals = [result.summary() for result in results]
        rows.append(row(label, finals))
    return rows


def row(label: str, finals: Sequence[Mapping[str, Any]]) -> Row:
    """The row of some runs with these final figures (see `Result.summary`)."""
    columns = {name: [float(final[name]) for final in finals] for name in METRICS}
    columns["participation"] = [x for x in columns["participation"] if not math.isnan(x)]
    spreads = {name: _spread(column, name) for name, column in columns.items()}
    return Row(label=label, seeds=len(finals), **spreads)


def to_markdown(rows: Sequence[Row]) -> str:
    """The comparison as a Markdown table."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" + "|---:" * (len(HEADINGS) - 1) + "|"]
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row.cells())
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def checked(runs: Runs) -> Runs:
    """Refuse nothing at all, and a label without results."""
    if not runs:
        raise InputError("runs: is empty; allowed is at least one label with results")
    for label, results in runs.items():
        if isinstance(results, Result):
            raise InputError(f"runs[{label!r}]: is a Result; allowed is a list of results")
        if not results:
            raise InputError(f"runs[{label!r}]: has no results; allowed is at least one")
    return runs


def _spread(values: Sequence[float], name: str) -> Spread:
    mean = math.fsum(values) / len(values) if values else math.nan
    sd = statistics.stdev(values) if len(values) > 1 and math.isfinite(mean) else math.nan
    return Spread(mean, sd, share=name == "participation")
