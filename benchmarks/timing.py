"""Timing for people who compare: interleaved, the best of several, so that noise hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(repeats: int, **actions: Callable[[], object]) -> dict[str, float]:
    """Seconds each action takes: the best of `repeats`, in turn, after one turn of warm-up."""
    best = dict.fromkeys(actions, float("inf"))
    for turn in range(repeats + 1):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            took = time.perf_counter() - start
            if turn:
                best[name] = min(best[name], took)
    return best


def row(name: str, value: float, unit: str, note: str = "") -> None:
    print(f"  {name:<44} {value:>10,.2f} {unit:<4} {note}")
