"""Paired differences: runs of the same seed saw the same clients, arms and noise, so that a small
difference between algorithms shows although both vary."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..support.inputs import counted
from .document import Block, Column, Table, TableCell, TableRow
from .intervals import Interval
from .numbers import human_spread
from .records import Result
from .tables import Runs, compare, known_metrics, metric_columns


def paired_difference(first: Sequence[Result], second: Sequence[Result], metric: str) -> Interval:
    """By how much the final figure of the second exceeds that of the first, seed by seed."""
    base = {one.settings.get("seed"): one.summary()[metric] for one in first}
    pairs = [(one.summary()[metric], one.settings.get("seed")) for one in second]
    return Interval.of(float(own - base[seed]) for own, seed in pairs if seed in base)


def difference_blocks(runs: Runs) -> Iterator[Block]:
    """A table of the differences to the first label, if there are seeds to judge them by."""
    (first, base), *others = runs.items()
    known = known_metrics(compare(runs))
    found = {
        label: {metric: paired_difference(base, results, metric) for metric in known}
        for label, results in others
    }
    seeds = max((one["reward"].n for one in found.values()), default=0)
    if seeds < 2:
        return
    shown = [m for m in known if any(math.isfinite(row[m].mean) for row in found.values())]
    rows = (
        TableRow((TableCell(label), *(_cell(metric, row[metric]) for metric in shown)))
        for label, row in found.items()
    )
    note = (
        f"Mean difference to {first} over {counted(seeds, 'seed')}, ± half of its 95 % interval; "
        "runs of a seed saw the same clients, arms and noise."
    )
    columns = (Column(f"Against {first}", "left"), *metric_columns(shown))
    yield Table(columns, tuple(rows), note)


def _cell(metric: str, one: Interval) -> TableCell:
    """With its sign; of a share in percentage points."""
    scale, unit = (100.0, " points") if metric == "participation" else (1.0, "")
    mean, half, size = human_spread(scale * one.mean, scale * one.half)
    return TableCell(f"+{mean}" if one.mean > 0 else mean, half, size + unit * bool(half))
