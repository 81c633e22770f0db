"""Cells of small sweeps, and a config of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incfed.experiments.cells import Cell, Record
from support.experiments import TOML, WORLD


def cells(
    folder: Path,
    *,
    betas: Sequence[float] = (0.3, 0.7),
    seeds: int = 3,
    steps: int | None = 400,
    world: dict[str, Any] | None = None,
) -> list[Cell]:
    return [
        Cell(
            world=world or WORLD,
            algorithm={
                "kind": "IncFedUCB",
                "mechanism": {"kind": "PaymentEfficient", "beta": beta},
                "threshold": "theory",
                "costs": 2.0,
            },
            seed=seed,
            steps=steps,
            folder=folder,
            point={"beta": beta},
        )
        for beta in betas
        for seed in range(seeds)
    ]


def mine(folder: Path, **options: Any) -> list[Cell]:
    """With the class in own.py."""
    mechanism = {"kind": "own.py:Mine", **options}
    table = {"kind": "IncFedUCB", "mechanism": mechanism, "threshold": 0.2, "costs": 2.0}
    return [Cell(WORLD, table, seed, 400, folder, {"mine": 1}) for seed in range(2)]


def figures(records: Sequence[Record], *, sort: bool = False) -> list[str]:
    """All of them to the last bit, NaN included."""
    lines = [one.to_json() for one in records]
    return sorted(lines) if sort else lines


SWEEP = f"""{TOML}
[sweep]
"world.noise" = [0.1, 0.3]
"algorithm.costs" = [1, 10]
"""
