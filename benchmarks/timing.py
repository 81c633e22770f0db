"""Timing for people who compare: in turn, the best of many, so that noise hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable

TURN = 0.3  # seconds an action may be repeated for in its turn


def best_of(turns: int, **actions: Callable[[], object]) -> dict[str, float]:
    """Seconds each action takes at best, over `turns` turns after one of warm-up."""
    best = dict.fromkeys(actions, float("inf"))
    for turn in range(turns + 1):
        for name, action in actions.items():
            end = time.perf_counter() + TURN
            while True:
                start = time.perf_counter()
                action()
                now = time.perf_counter()
                if turn:
                    best[name] = min(best[name], now - start)
                if now > end or not turn:
                    break
    return best


def row(name: str, value: float, unit: str, note: str = "") -> None:
    print(f"  {name:<44} {value:>10,.2f} {unit:<4} {note}")
