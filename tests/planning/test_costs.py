"""Costs of clients: known, or drawn by seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from incfed.errors import InputError
from incfed.planning.costs import read_costs

DRAWN = [
    {"kind": "uniform", "low": 5, "high": 50},
    {"kind": "exponential", "mean": 20},
    {"kind": "lognormal", "median": 20, "spread": 2},
]


@pytest.mark.parametrize("table", DRAWN, ids=lambda table: str(table["kind"]))
def test_costs_are_drawn_by_seed_and_nothing_else(table: dict[str, Any]) -> None:
    costs = read_costs(table, 500)
    first = costs.of(3)
    assert isinstance(first, list)
    assert first == read_costs(table, 500).of(3)
    assert first != costs.of(4)
    assert costs.of(3, 2.0) == [2 * cost for cost in first]
    if table["kind"] == "uniform":
        assert 5 <= min(first) < max(first) <= 50
    elif table["kind"] == "exponential":
        assert np.mean(first) == pytest.approx(20, rel=0.2)
    else:
        assert np.median(first) == pytest.approx(20, rel=0.2)
        assert np.mean([10 <= cost <= 40 for cost in first]) == pytest.approx(0.683, abs=0.06)


def test_known_costs() -> None:
    assert read_costs(7, 3).of(0) == 7
    assert read_costs([1, 2, 3], 3).of(5, 0.5) == [0.5, 1, 1.5]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1, "costs: got -1, must be a number from 0"),
        ("much", "costs: got 'much', must be a number, a list"),
        ([1, 2], "costs: got '2 costs', must be one number, or 3"),
        ([1, -2, 3], r"costs\[2\]: got -2"),
        ({}, "costs.kind: is missing"),
        ({"kind": "log-normal"}, "did you mean 'lognormal'"),
        ({"kind": "uniform", "low": 3}, "costs.high: is missing"),
        ({"kind": "uniform", "low": 3, "high": 2}, "costs.low: got 3.0, must be at most"),
        ({"kind": "lognormal", "median": 3, "spread": 0.5}, "costs.spread: got 0.5"),
        ({"kind": "exponential", "mean": 3, "sd": 1}, "costs.sd: got 1, but there is no such"),
    ],
)
def test_bad_costs(value: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_costs(value, 3)
