"""Runs of logs. Seeds do not change a log, so that intervals come from bootstrapped ones; where
steps are skipped, figures are per matched step, since sums over different steps cannot be
compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..support.inputs import counted
from .records import CURVES, Result

PER = 1000  # matched steps
BANDS = "Mean over seeds; the bands are one standard deviation wide on each side."
EVENTS = "events"  # that bootstrapped logs drew, and not clients first
SUMS = (*CURVES, "packed", "rounds", "paid")


def originals(results: Sequence[Result]) -> list[Result]:
    """The runs of the world as it is."""
    return [result for result in results if not bootstrapped(result.settings)]


def replicas(results: Sequence[Result]) -> list[Result]:
    """The runs of bootstrapped logs."""
    return [result for result in results if bootstrapped(result.settings)]


def bootstrapped(settings: Mapping[str, Any]) -> bool:
    return "bootstrap" in dict(settings.get("world") or {})


def resampled(settings: Mapping[str, Any]) -> str:
    """What a bootstrapped log drew: "events drawn with replacement"."""
    world = dict(settings.get("world") or {})
    drawn = world.get("bootstrap", EVENTS)
    once = "without" if drawn == EVENTS else "with replacement, events without"
    return f"{drawn} drawn {once if 'repeats' in world else 'with'} replacement"


def widening(settings: Mapping[str, Any]) -> float:
    """By how much further another log would be away than bootstrapped logs lie apart. Such as draw
    m of n events without replacement have the rest in common with each other: by sqrt(m / (n - m)).
    NaN if they draw all events, and tell nothing."""
    world = dict(settings.get("world") or {})
    if "repeats" not in world or world["bootstrap"] != EVENTS:
        return 1.0
    left = world["recorded"] - world["length"]
    return math.sqrt(world["length"] / left) if left else math.nan


def depends_on_seed(settings: Mapping[str, Any]) -> bool:
    """Whether the run would differ with another seed; one of a log would not."""
    return bool(dict(settings.get("traits") or {}).get("chance", True))


def skips(finals: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any of the runs with these final figures skipped steps."""
    return any(final["matched"] < final["steps"] for final in finals)


def per_matched(final: Mapping[str, Any]) -> dict[str, Any]:
    """Final figures per 1,000 matched steps, but for `matched` itself; NaN if there are none."""
    scale = PER / final["matched"] if final["matched"] else math.nan
    return {key: scale * x if key in SUMS else x for key, x in final.items()}


def finals_of(runs: Iterable[Sequence[Result]]) -> list[list[dict[str, Any]]]:
    """The final figures of all runs, on one scale."""
    found = [[result.summary() for result in results] for results in runs]
    if not skips(final for finals in found for final in finals):
        return found
    return [[per_matched(final) for final in finals] for finals in found]


def bands_note(runs: Mapping[str, Sequence[Result]]) -> str:
    """The note below curves: whose mean the lines are, and how wide the bands."""
    every = [result.summary() for results in runs.values() for result in results]
    logs = max(len(replicas(results)) for results in runs.values())
    over = "Over the matched steps. " if skips(every) else ""
    if logs:
        drawn = counted(logs, "bootstrapped log")
        band = f"the bands are one standard deviation of {drawn} wide on each side."
        return f"{over}One run of the log; {band}"
    return over + (BANDS if any(len(found) > 1 for found in runs.values()) else "One run each.")
