"""Policies of the user's own that configs name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import incfed
from incfed.experiments import Recipe, build
from incfed.experiments.sweeps import build_sweep
from support.policies import (
    WORLD,
    Paper,
    same,
)

# ------------------------------------------------------------------------------- where it is named

CODE = """
from dataclasses import dataclass
import numpy as np
import incfed

@dataclass
class Mine(incfed.Policy):
    scale: float = 1.0

    def choose(self, model, arms, rng):
        weights = np.exp(self.scale * model.predict(arms))
        return weights / weights.sum()

class Wrong(incfed.Mechanism):
    def decide(self, round):
        return round.settle(round.everyone)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(CODE)
    return tmp_path


def tables(policy: object, **more: Any) -> dict[str, Any]:
    return {
        "run": {"steps": 60},
        "world": {"kind": "Synthetic", "clients": 3, "dim": 2, "arms": 3, "pool": 20},
        "algorithm": [{"kind": "Independent", "policy": policy}],
        **more,
    }


def test_in_a_config(folder: Path) -> None:
    own = {"kind": "own.py:Mine", "scale": 0.5}
    [entry] = build(Recipe(tables(own), folder)).entries.values()
    assert entry.value.policy.scale == 0.5
    assert [Path(name).name for name in entry.sources] == ["own.py"]
    [entry] = build(Recipe(tables("own.py:Mine"), folder)).entries.values()
    result = incfed.simulate(WORLD, entry.value, steps=20)
    assert result.settings["algorithm"]["policy"] == {"kind": "Mine", "scale": 1.0}


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"kind": "own.py:Mine", "scael": 1}, r"policy\.scael: got 1, but there is no such"),
        ("own.py:Nine", r"policy\.kind: own\.py has no Nine .did you mean 'Mine'"),
        ("own.py:Wrong", r"policy\.kind: .* must be a class derived from incfed\.Policy"),
        ("Mine", r"policy\.kind: got 'Mine', must be such as 'my_file\.py:MyClass'"),
        ({}, r"policy\.kind: is missing, must be such as 'my_file\.py:MyClass'"),
        (3, r"policy: got 3, must be a table, such as \{ kind = \"my_file\.py:Mine\" \}"),
    ],
)
def test_mistakes_in_a_config(folder: Path, policy: object, said: str) -> None:
    with pytest.raises(incfed.InputError, match=rf"algorithm\[1\]\.{said}"):
        build(Recipe(tables(policy), folder))


def test_in_a_sweep(folder: Path) -> None:
    over: Any = {"algorithm.policy.scale": [0.5, 5.0]}
    sweep = build_sweep(Recipe(tables("own.py:Mine", sweep=over), folder))
    assert {cell.algorithm["policy"]["scale"] for cell in sweep.cells} == {0.5, 5.0}


def test_in_a_comparison() -> None:
    both = {"own": incfed.DisLinUCB(1.0, policy=Paper()), "built-in": incfed.DisLinUCB(1.0)}
    found = incfed.compare(WORLD, both, steps=200, seeds=2)
    for one, two in zip(*found.runs.values(), strict=True):
        same(one, two)
    assert found.to_polars().height
