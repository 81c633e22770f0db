"""Random recorded worlds."""

from __future__ import annotations

from typing import Any

import numpy as np

import incfed


def arrays(steps: int = 60, seed: int = 0) -> dict[str, Any]:
    """A trace by ids into a table of items."""
    chance = np.random.default_rng(seed)
    items = chance.standard_normal((9, 3))
    ids = chance.integers(0, 9, (steps, 4))
    expected = items[ids] @ np.array([1.0, -1.0, 0.5])
    return {
        "clients": chance.integers(0, 5, steps),
        "arms": ids,
        "items": items,
        "rewards": expected + 0.1 * chance.standard_normal((steps, 4)),
        "expected": expected,
    }


def same_numbers(one: incfed.Result, two: incfed.Result) -> None:
    for name in ("regret", "reward", "communication", "payment"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    np.testing.assert_array_equal(one.rounds.participants, two.rounds.participants)
    np.testing.assert_array_equal(one.rounds.payments, two.rounds.payments)


def same_trace(one: incfed.Trace, two: incfed.Trace) -> None:
    assert one.count == two.count
    for name in ("clients", "arms", "items", "rewards", "expected"):
        mine, theirs = getattr(one, name), getattr(two, name)
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)
