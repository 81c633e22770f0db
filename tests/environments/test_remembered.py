"""A run that is remembered is the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incfed
from incfed.environments import remembered
from incfed.environments.base import Events
from incfed.environments.movielens.world import MovieLensStream
from incfed.environments.remembered import Remembered
from incfed.experiments.cell_runner import CellRunner
from incfed.experiments.cells import Cell, Record, Task
from support.movielens import Sample

cuts = st.lists(st.integers(0, 7), max_size=6)


@given(st.lists(cuts, min_size=1, max_size=4))
def test_however_it_is_cut(passes: list[list[int]]) -> None:
    world = incfed.Synthetic(clients=3, dim=2, arms=3, pool=9)
    kept = Remembered(world)
    plain = world.open(np.random.SeedSequence(5)).take(60)
    for lengths in passes:
        stream = kept.open(np.random.SeedSequence(5))
        at = 0
        for n in lengths:
            for part, whole in zip(stream.take(n), plain, strict=True):
                np.testing.assert_array_equal(part, whole[at : at + n])
            at += n
    assert kept.settings() == world.settings()


def _cell(folder: Path, seed: int, threshold: float) -> Cell:
    return Cell(
        world={"kind": "MovieLens", "folder": str(folder), "min_events": 20, "dim": 3, "arms": 5},
        algorithm={
            "kind": "IncFedUCB", "mechanism": {"kind": "PaymentFree"}, "threshold": threshold,
            "costs": 1.0,
        },
        seed=seed,
        steps=50,
        folder=folder,
        point={},
    )  # fmt: skip


def _do(runner: CellRunner, cell: Cell) -> Record:
    made = runner.build(cell)
    found = runner.run(Task(cell, made.steps, made.world_id, made.fingerprint), lambda done: None)
    assert isinstance(found, Record)
    return found


def test_settings_with_the_same_seed_draw_their_steps_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Sample(users=6, movies=300).write(tmp_path)
    drawn: list[int] = []

    def take(self: Any, n: int, plain: Any = MovieLensStream.take) -> Events:
        drawn.append(n)
        return plain(self, n)  # type: ignore[no-any-return]

    monkeypatch.setattr(MovieLensStream, "take", take)
    runner = CellRunner()
    cells = [_cell(tmp_path, seed, d) for seed in (1, 2) for d in (0.5, 2.0, 8.0)]
    found = [_do(runner, cell) for cell in cells]
    assert drawn == [50, 50]  # one for each seed
    assert found == [_do(CellRunner(), cell) for cell in cells]
    assert len(drawn) == 2 + 6
    monkeypatch.setattr(remembered, "MOST_BYTES", 1000)  # too long to be kept
    assert [_do(runner, cell) for cell in cells] == found
    assert len(drawn) == 8 + 6
