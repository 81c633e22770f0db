"""Near-ties of the frozen runs: `PYTHONPATH=tests python tests/frozen/ties.py [NAME ...]`.

Another processor may give other last digits, so that a decision between candidates that lie that
close may go the other way. Each run is repeated with its numbers a little larger and smaller, far
more than rounding does. If anything but the last digits of figures differs then, the run has a
near-tie: give it another seed, or name it in `runs.LEFT_OUT`.

Ties by design, such as those of clients with the same costs, are kept: all costs are multiplied
alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import incfed
from frozen import golden
from frozen.recording import Run
from frozen.runs import RUNS

SHIFT = 1e-7  # relative, of what is disturbed
SAME = 1e-4  # relative: figures that differ by less are those of the same decisions
TRIGGERS = {"Threshold": "D_c", "GrowthRatio": "gamma", "News": "above", "Patient": "news"}


def near_ties(run: Run) -> dict[str, str]:
    """What the record of a run depends on by less than its last digits: by what was disturbed, the
    first difference."""
    usual = golden.plain(run.record())
    found = {}
    for name, other in disturbed(run):
        differences = golden.differences(other.record(), usual, relative=SAME)
        if differences:
            found[name] = differences[0]
    return found


def disturbed(run: Run) -> Iterator[tuple[str, Run]]:
    """The run with one of its numbers a little larger, or smaller."""
    for by in (1.0 + SHIFT, 1.0 - SHIFT):
        for name, change in CHANGES.items():
            other = change(run, by)
            if other is not None:
                yield f"{name} x {by!r}", other


def _setting(name: str) -> Callable[[Run, float], Run | None]:
    def change(run: Run, by: float) -> Run | None:
        value: Any = getattr(run.algorithm, name, None)
        if name == "costs" and _exact(run):
            return None
        if isinstance(value, incfed.DrawnCosts | incfed.DriftingCosts):
            other: Any = replace(value, mean=_times(value.mean, by))
        elif value is None or isinstance(value, str):
            return None
        else:
            other = _times(value, by)
        return run._replace(algorithm=replace(run.algorithm, **{name: other}))

    return change


def _exact(run: Run) -> bool:
    """Whether sums of money are given in whole cents, say, which no processor changes."""
    return getattr(run.algorithm, "money_digits", None) is not None


def _times(value: Any, by: float) -> Any:
    return value * by if np.ndim(value) == 0 else [one * by for one in value]


def _width(run: Run, by: float) -> Run:
    """Alpha, whether it is a formula or a number."""
    rules = run.algorithm
    name = "width_scale" if rules.exploration is None else "exploration"
    return run._replace(algorithm=replace(rules, **{name: by * getattr(rules, name)}))


def _trigger(run: Run, by: float) -> Run | None:
    trigger = getattr(run.algorithm, "trigger", None)
    if trigger is None:
        return None
    name = TRIGGERS[type(trigger).__name__]
    changes: dict[str, Any] = {name: by * getattr(trigger, name)}
    return run._replace(algorithm=replace(run.algorithm, trigger=replace(trigger, **changes)))  # type: ignore[call-arg]


def _mechanism(run: Run, by: float) -> Run | None:
    """Beta, the cover, the price, the pot or the money of a round."""
    mechanism: Any = getattr(run.algorithm, "mechanism", None)
    known = vars(mechanism) if mechanism is not None else {}
    names = ["beta", "cover", *([] if _exact(run) else ["price", "pot", "per_round"])]
    names = [name for name in names if name in known]
    if not names:
        return None
    other = replace(mechanism, **{names[0]: by * known[names[0]]})
    return run._replace(algorithm=replace(run.algorithm, mechanism=other))  # type: ignore[call-arg]


def _rewards(run: Run, by: float) -> Run | None:
    """Each reward by another small number: by the noise of a synthetic world."""
    world = run.world()
    if isinstance(world, incfed.Synthetic):
        return run._replace(world=lambda: replace(world, noise=by * world.noise))
    if not isinstance(world, incfed.Trace):
        return None
    chance = np.random.default_rng(0).standard_normal(world.rewards.shape)
    other = incfed.Trace(
        world.clients,
        world.arms,
        world.rewards * (1.0 + (by - 1.0) * chance),
        expected=world.expected,
        count=world.count,
        items=world.items,
    )
    return run._replace(world=lambda: other)


CHANGES: dict[str, Callable[[Run, float], Run | None]] = {
    "ridge": _setting("ridge"),
    "alpha": _width,
    "costs": _setting("costs"),
    "threshold": _setting("threshold"),
    "upload": _setting("upload"),
    "download": _setting("download"),
    "growth": _setting("growth"),
    "trust": _setting("trust"),
    "trigger": _trigger,
    "mechanism": _mechanism,
    "rewards": _rewards,
}


def main(names: list[str]) -> None:
    for name in names or RUNS:
        for what, where in near_ties(RUNS[name]).items():
            print(f"{name}: {what}: {where}")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
