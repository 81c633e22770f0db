"""Paired differences: runs of the same seed saw the same clients, arms and noise, so that a small
difference between algorithms shows although both vary."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence

from ..support.inputs import counted
from .document import Block, Column, Table, TableCell, TableRow
from .intervals import Interval
from .numbers import human_spread
from .records import Result
from .replays import PER, bootstrapped, finals_of, widening
from .tables import Runs, compare, known_metrics, metric_columns


def paired_difference(first: Sequence[Result], second: Sequence[Result], metric: str) -> Interval:
    """By how much the final figure of the second exceeds that of the first, seed by seed; of a log,
    with an interval from the bootstrapped logs that both saw."""
    base, other = finals_of([first, second])
    known = {_key(result): final[metric] for result, final in zip(first, base, strict=True)}
    pairs = [(_key(result), final[metric]) for result, final in zip(second, other, strict=True)]
    apart = [(key[0], float(own - known[key])) for key, own in pairs if key in known]
    again = [gap for drawn, gap in apart if drawn]
    own = [gap for drawn, gap in apart if not drawn]
    if not again:
        return Interval.of(own)
    centre = own or again
    wider = widening(second[-1].settings)
    return Interval.bootstrap(math.fsum(centre) / len(centre), again, wider)


def _key(result: Result) -> tuple[bool, str]:
    """Equal for two runs that saw the same events: the world, how long, and the seed."""
    events = {name: result.settings.get(name) for name in ("world", "steps", "seed")}
    return bootstrapped(result.settings), json.dumps(events, sort_keys=True)


def difference_blocks(runs: Runs) -> Iterator[Block]:
    """A table of the differences to the first label, if there are seeds to judge them by."""
    (first, base), *others = runs.items()
    compared = compare(runs)
    known = known_metrics(compared)
    found = {
        label: {metric: paired_difference(base, results, metric) for metric in known}
        for label, results in others
    }
    seeds = max((row["reward"].n for row in found.values()), default=0)
    if seeds < 2:
        return
    unpaired = [label for label, row in found.items() if not row["reward"].n]
    found = {label: row for label, row in found.items() if label not in unpaired}
    shown = [m for m in known if any(math.isfinite(row[m].mean) for row in found.values())]
    rows = (
        TableRow((TableCell(label), *(_cell(metric, row[metric]) for metric in shown)))
        for label, row in found.items()
    )
    note = (
        f"Mean difference to {first} over {counted(seeds, 'seed')}, ± half of its 95 % interval; "
        "runs of a seed saw the same clients, arms and noise."
    )
    if compared[0].bootstrap:
        same = {row.bootstrap for row in compared} == {seeds}
        logs = counted(seeds, "bootstrapped log")
        many = logs if same else f"up to {logs}"
        note = (
            f"Difference to {first}, ± half of its 95 % interval from {many}, each the same "
            "for both."
        )
    if any(row.repeated for row in compared):
        return  # of a log with several seeds: an interval would be false certainty
    if compared[0].matched:
        note = f"Per {PER:,} matched steps. {note}"
    if unpaired:
        note += " Left out: those without runs of the same world, steps and seeds."
    columns = (Column(f"Against {first}", "left"), *metric_columns(shown))
    yield Table(columns, tuple(rows), note)


def _cell(metric: str, one: Interval) -> TableCell:
    """With its sign; of a share in percentage points."""
    scale, unit = (100.0, " points") if metric == "participation" else (1.0, "")
    mean, half, size = human_spread(scale * one.mean, scale * one.half)
    return TableCell(f"+{mean}" if one.mean > 0 else mean, half, size + unit * bool(half))
