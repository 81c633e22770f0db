"""Several algorithms side by side: the mean over seeds and how far single runs lie apart; of a log,
its figures and their intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InputError
from ..support.inputs import counted
from . import markdown
from .document import Column, Table, TableCell, TableRow
from .intervals import student
from .numbers import human_spread, percent_spread
from .palette import Pens
from .records import Result
from .replays import (
    PER,
    bootstrapped,
    depends_on_seed,
    finals_of,
    resampled,
    skips,
    widening,
)

Runs = Mapping[str, Sequence[Result]]
"""Results by label: the same algorithm with several seeds under one label."""

METRICS = ("regret", "reward", "communication", "packed", "payment", "rounds", "participation")
# What a narrow terminal can do without, the highest first; see `document.Column`.
DROPS = {"packed": 5, "rounds": 4, "reward": 3, "participation": 2, "communication": 1}


@dataclass(frozen=True)
class Spread:
    """The mean and the sample standard deviation (n - 1) of single runs; NaN for one run. Of a log,
    its figure and the standard deviation of bootstrapped logs; `times` it is half an interval."""

    mean: float
    sd: float
    share: bool = False
    times: float = 1.0

    def parts(self) -> tuple[str, str, str]:
        """Mean, spread (empty if there is none) and the unit that both are in, as text."""
        return (percent_spread if self.share else human_spread)(self.mean, self.times * self.sd)

    def cell(self) -> TableCell:
        return TableCell(*self.parts())

    def __str__(self) -> str:
        return str(self.cell())


def spread(values: Sequence[float], share: bool = False) -> Spread:
    """Mean and spread of the figures of single runs; NaN of none."""
    mean = math.fsum(values) / len(values) if values else math.nan
    sd = statistics.stdev(values) if len(values) > 1 and math.isfinite(mean) else math.nan
    return Spread(mean, sd, share)


def log_spread(
    figures: Sequence[float],
    replicas: Sequence[float],
    share: bool = False,
    wider: float = 1.0,
) -> Spread:
    """A figure of a log, and how far bootstrapped logs lie apart; see `replays.widening`."""
    times = student(0.975, len(replicas) - 1) if len(replicas) > 1 else math.nan
    return Spread(spread(figures).mean, spread(replicas).sd, share, wider * times)


@dataclass(frozen=True)
class ComparisonRow:
    """One algorithm over its seeds, or on a log. If steps of a log were skipped, `matched` of them
    were not, and sums are per 1,000 of those."""

    label: str
    seeds: int
    regret: Spread
    reward: Spread
    communication: Spread
    packed: Spread
    payment: Spread
    rounds: Spread
    participation: Spread
    matched: Spread | None = None
    bootstrap: int = 0  # number of bootstrapped logs
    resample: str = "events drawn with replacement"  # what they drew
    repeated: bool = False  # the same run with several seeds, which do not change it


def compare(runs: Runs) -> list[ComparisonRow]:
    """One row a label, in the order given. Regret is NaN if it is unknown for any seed;
    participation counts only the seeds that had rounds."""
    finals = finals_of(checked(runs).values())
    rows = []
    for (label, results), found in zip(runs.items(), finals, strict=True):
        drawn = [bootstrapped(result.settings) for result in results]
        own = [final for final, again in zip(found, drawn, strict=True) if not again]
        again = [final for final, again in zip(found, drawn, strict=True) if again]
        repeated = len(own) > 1 and not depends_on_seed(results[0].settings)
        last = results[-1].settings
        made = row(label, own or again, again, widening(last))
        rows.append(replace(made, repeated=repeated, resample=resampled(last)))
    return rows


def row(
    label: str,
    finals: Sequence[Mapping[str, Any]],
    again: Sequence[Mapping[str, Any]] = (),
    wider: float = 1.0,
) -> ComparisonRow:
    """The row of some runs with these final figures (see `Result.summary`), `again` those of
    bootstrapped logs; on one scale, see `replays`."""

    def figures(among: Sequence[Mapping[str, Any]], name: str) -> list[float]:
        found = [float(final[name]) for final in among]
        return [x for x in found if not math.isnan(x)] if name == "participation" else found

    def summarised(name: str) -> Spread:
        share = name == "participation"
        if again:
            return log_spread(figures(finals, name), figures(again, name), share, wider)
        return spread(figures(finals, name), share)

    spreads: dict[str, Any] = {name: summarised(name) for name in METRICS}
    return ComparisonRow(
        label=label,
        seeds=len(finals),
        **spreads,
        matched=summarised("matched") if skips(finals) else None,
        bootstrap=len(again),
    )


def comparison_table(
    rows: Sequence[ComparisonRow], *, pens: Pens | None = None, seeds: bool = True
) -> Table:
    """A table with a line for each row, marked with the colour of its pen. Without `seeds`, their
    number is shown only where it differs."""
    counts = {row.seeds for row in rows}
    counted_each = seeds or len(counts) > 1
    shown = known_metrics(rows)
    logs = max((row.bootstrap for row in rows), default=0)
    skipping = any(row.matched for row in rows)
    counted_each = counted_each and not (logs or skipping)
    count = [Column("Seeds", drop=6)] if counted_each else []
    count += [Column("Matched", drop=6)] if skipping else []
    head = f"Per {PER:,} matched steps" if skipping else "Algorithm"
    columns = (Column(head, "left"), *count, *metric_columns(shown))
    lines = []
    for row in rows:
        colour = pens[row.label].colour if pens and row.label in pens else ""
        figures = [getattr(row, name).cell() for name in shown]
        own = [TableCell(str(row.seeds))] if counted_each else []
        if skipping:
            own.append(row.matched.cell() if row.matched else TableCell(""))
        lines.append(TableRow((TableCell(row.label, colour=colour), *own, *figures)))
    note = spread_note(counts, [row.bootstrap for row in rows], {row.resample for row in rows})
    if any(row.repeated for row in rows):
        note += " Seeds do not change a log: ± does not say how much another log would differ."
    return Table(columns, tuple(lines), note)


def known_metrics(rows: Iterable[ComparisonRow]) -> list[str]:
    """Metrics that are known for some row: a log may not know its regret."""
    means = [[getattr(row, name).mean for name in METRICS] for row in rows]
    return [name for n, name in enumerate(METRICS) if not all(math.isnan(row[n]) for row in means)]


def metric_columns(shown: Sequence[str]) -> list[Column]:
    """The columns of metrics; reward may be dropped where there is regret."""
    drops = DROPS if "regret" in shown else {**DROPS, "reward": 0}
    return [Column(name.capitalize(), drop=drops.get(name, 0)) for name in shown]


def spread_note(
    counts: Collection[int], logs: Sequence[int] = (), drawn: Collection[str] = ()
) -> str:
    """The note below a table with these numbers of seeds, or of bootstrapped logs."""
    if max(logs, default=0) > 1:
        most = counted(max(logs), "bootstrapped log")
        many = most if min(logs) == max(logs) else f"up to {most}"
        return (
            f"Final figures of the log, ± half of their 95 % interval from {many} "
            f"({' or '.join(sorted(drawn))})."
        )
    if max(counts, default=0) < 2:
        return "Final figures."
    seeds = counted(max(counts), "seed") if len(counts) == 1 else "the seeds"
    return f"Final figures, mean ± standard deviation over {seeds}."


def to_markdown(rows: Sequence[ComparisonRow]) -> str:
    """The comparison as a Markdown table."""
    return markdown.render_table(comparison_table(rows))


def checked(runs: Runs) -> Runs:
    """The runs, unless there are none, or a label has no results."""
    if not runs:
        raise InputError("runs: is empty; allowed is at least one label with results")
    for label, results in runs.items():
        if isinstance(results, Result):
            raise InputError(f"runs[{label!r}]: is a Result; allowed is a list of results")
        if not results:
            raise InputError(f"runs[{label!r}]: has no results; allowed is at least one")
    return runs
