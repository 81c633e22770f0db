"""Batches of cells in one session: processes stay, and no batch gets another's answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from incfed.experiments.cells import Cell
from incfed.experiments.checkpoint import CellsFile, read_cells
from incfed.experiments.engine import Local, Session, run_cells


def cells(*seeds: int, steps: int = 60) -> list[Cell]:
    return [
        Cell(
            world={"kind": "Synthetic", "clients": 4, "dim": 3, "arms": 3, "pool": 20},
            algorithm={"kind": "DisLinUCB", "threshold": 0.1},
            seed=seed,
            steps=steps,
            point={"n": seed},
        )
        for seed in seeds
    ]


@pytest.mark.parametrize("jobs", [1, 2])
def test_batch_after_batch_is_as_all_at_once(jobs: int, tmp_path: Path) -> None:
    file = tmp_path / "out/cells.jsonl"
    with Session(checkpoint=CellsFile(file), executor=Local(jobs)) as session:
        batches = [
            session.run(session.check(cells(*some))) for some in ((0,), (1, 2, 3), (2, 3, 4))
        ]
    assert [batch.kept for batch in batches] == [0, 0, 2]
    whole = run_cells(cells(*range(5)), executor=Local(1))
    found = {record.seed: record for batch in batches for record in batch.records}
    assert [found[seed] for seed in range(5)] == whole.records
    assert len(read_cells(file)) == 5


def test_processes_stay_for_the_next_batch_and_go_with_the_session() -> None:
    executor = Local(2)
    with Session(executor=executor) as session:
        session.run(session.check(cells(0, 1)))
        first = executor._pool
        assert first is not None
        session.run(session.check(cells(2, 3)))
        assert executor._pool is first
        processes = [worker.process for worker in first.workers]
    assert executor._pool is None
    assert not any(process.is_alive() for process in processes)


def test_what_a_stopped_batch_was_at_is_not_taken_for_the_next_ones() -> None:
    executor = Local(2)
    with Session(executor=executor) as session:
        batch = session.check([*cells(0, 1, 2), *cells(3, 4, steps=200_000)])
        answers = executor.run(
            list(batch.tasks.values()), batch.algorithms, lambda steps: None, None
        )
        for _ in range(3):
            next(answers)
        answers.close()  # while somebody is at the fourth
        later = session.run(session.check(cells(7, 8)))
    assert later.records == run_cells(cells(7, 8), executor=Local(1)).records
