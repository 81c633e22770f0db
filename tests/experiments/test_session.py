"""Lots of cells in one session: processes stay, and nothing of one lot is taken for another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from incfed.experiments.book import read_book
from incfed.experiments.cells import Cell
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
def test_lot_after_lot_is_as_all_at_once(jobs: int, tmp_path: Path) -> None:
    book = tmp_path / "book/cells.jsonl"
    with Session(book=book, executor=Local(jobs)) as session:
        lots = [session.do(session.check(cells(*some))) for some in ((0,), (1, 2, 3), (2, 3, 4))]
    assert [lot.kept for lot in lots] == [0, 0, 2]
    whole = run_cells(cells(*range(5)), executor=Local(1))
    found = {record.seed: record for lot in lots for record in lot.records}
    assert [found[seed] for seed in range(5)] == whole.records
    assert len(read_book(book)) == 5


def test_processes_stay_for_the_next_lot_and_go_with_the_session() -> None:
    executor = Local(2)
    with Session(executor=executor) as session:
        session.do(session.check(cells(0, 1)))
        first = executor._workers
        assert first is not None
        session.do(session.check(cells(2, 3)))
        assert executor._workers is first
        processes = [worker.process for worker in first._workers]
    assert executor._workers is None
    assert not any(process.is_alive() for process in processes)


def test_what_a_stopped_lot_was_at_is_not_taken_for_the_next_ones() -> None:
    executor = Local(2)
    with Session(executor=executor) as session:
        lot = session.check([*cells(0, 1, 2), *cells(3, 4, steps=200_000)])
        answers = executor.run(list(lot.work.values()), lot.algorithms, lambda steps: None, None)
        for _ in range(3):
            next(answers)
        answers.close()  # while somebody is at the fourth
        later = session.do(session.check(cells(7, 8)))
    assert later.records == run_cells(cells(7, 8), executor=Local(1)).records
