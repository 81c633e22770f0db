"""The engine: the same numbers whoever runs them, kept when finished, run once; and batches of
cells in one session: processes stay, and no batch gets another's answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import incfed
from incfed.errors import InputError
from incfed.experiments.cells import Cell
from incfed.experiments.checkpoint import NAME, CellsFile, read_cells
from incfed.experiments.engine import Local, Session, run_cells
from incfed.experiments.points import summarise
from support.experiments import OWN, WORLD, trace
from support.sweeps import cells, figures, mine


def test_a_record_is_what_the_simulator_says(tmp_path: Path) -> None:
    [cell] = cells(tmp_path, betas=[0.7], seeds=1)
    [record] = run_cells([cell], executor=Local(1)).records
    algorithm = incfed.IncFedUCB(
        incfed.PaymentEfficient(beta=0.7),
        threshold=incfed.thresholds.theory(steps=400, clients=4, dim=3, beta=0.7, ridge=0.1),
        costs=2.0,
    )
    world = incfed.Synthetic(clients=4, dim=3, arms=3, pool=10)
    result = incfed.simulate(world, algorithm, steps=400, seed=0)
    assert record.figures == result.summary()
    assert record.point == {"beta": 0.7}
    step = np.array(record.curve["step"])
    assert (len(step), step[0], step[-1]) == (200, 1, 400)
    assert set(np.diff(step)) <= {2, 3}  # evenly spread
    for name in ("regret", "reward", "communication", "payment"):
        assert np.array_equal(record.curve[name], getattr(result, name)[step.astype(int) - 1])


def test_figures_of_clients_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    """A run that is known without them is made again, once; of equal runs one keeps them."""
    [cell] = cells(tmp_path, betas=[0.7], seeds=1)
    asked = replace(cell, by_client=True)
    with Session(CellsFile(tmp_path / "out" / NAME), Local(1)) as session:
        [plain] = session.run(session.check([cell])).records
        outcome = session.run(session.check([cell, asked]))
        assert outcome.kept == 0
        [same, full] = outcome.records
        assert session.run(session.check([asked])).kept == 1
    assert (plain.clients, full) == ({}, same)
    assert full.figures == plain.figures
    for name, total in (("reward", "reward"), ("regret", "regret"), ("paid", "payment")):
        assert len(full.clients[name]) == 4
        assert sum(full.clients[name]) == pytest.approx(full.figures[total])
    with Session(CellsFile(tmp_path / "out" / NAME), Local(1)) as session:
        again = session.run(session.check([asked]))
        assert (again.kept, again.records[0].clients) == (1, full.clients)


def test_one_process_or_two_in_the_order_of_the_cells(tmp_path: Path) -> None:
    some = cells(tmp_path)
    seen: list[tuple[int, int]] = []
    one = run_cells(some, executor=Local(1))
    two = run_cells(some, executor=Local(2), progress=lambda *now: seen.append(now))
    assert figures(one.records) == figures(two.records)
    assert [(r.point["beta"], r.seed) for r in one.records] == [
        (cell.point["beta"], cell.seed) for cell in some
    ]
    assert (one.complete, one.kept, one.failures, one.interrupted) == (True, 0, [], False)
    assert seen == sorted(seen)
    assert seen[-1] == (2400, 2400)


def test_progress_is_told_within_a_cell(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    some = cells(tmp_path, seeds=1, steps=3000)
    run_cells(some, executor=Local(1), progress=lambda *now: seen.append(now))
    steps = [1024, 2048, 3000, 3000, 4024, 5048, 6000, 6000]  # by 1024, then the end of the cell
    assert seen == [(done, 6000) for done in steps]


def test_cells_that_are_the_same_run_are_run_once(tmp_path: Path) -> None:
    [cell] = cells(tmp_path, betas=[0.7], seeds=1)
    named = {**cell.algorithm, "label": "another name"}
    other = Cell(cell.world, named, 0, 400, tmp_path, {"table": 2})
    total: list[int] = []
    done = run_cells(
        [cell, other],
        executor=Local(1),
        checkpoint=CellsFile(tmp_path / NAME),
        progress=lambda done, steps: total.append(steps),
    )
    assert total[-1] == 400
    assert [record.point for record in done.records] == [{"beta": 0.7}, {"table": 2}]
    assert done.records[0].figures == done.records[1].figures
    assert len(read_cells(tmp_path / NAME)) == 1


def test_what_the_file_has_is_not_run_again(tmp_path: Path) -> None:
    file = tmp_path / "out" / NAME
    first = run_cells(cells(tmp_path, seeds=2), executor=Local(1), checkpoint=CellsFile(file))
    before = file.read_bytes()
    started: list[tuple[int, int]] = []
    more = run_cells(
        cells(tmp_path),
        executor=Local(1),
        checkpoint=CellsFile(file),
        begin=lambda *now: started.append(now),
    )
    assert started == [(6, 4)]
    assert (more.kept, more.complete) == (4, True)
    assert file.read_bytes().startswith(before)
    assert len(read_cells(file)) == 6
    assert figures(more.records) == figures(run_cells(cells(tmp_path), executor=Local(1)).records)
    assert figures(more.records[:2]) == figures(first.records[:2])
    fresh = run_cells(
        cells(tmp_path, seeds=1), executor=Local(1), checkpoint=CellsFile(file), fresh=True
    )
    assert (fresh.kept, len(read_cells(file))) == (0, 2)
    assert [path.name for path in file.parent.iterdir()] == [NAME]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_takes_nobody_along(tmp_path: Path, jobs: int) -> None:
    (tmp_path / "own.py").write_text(OWN)
    some = [*mine(tmp_path, at=2, trouble="raise"), *cells(tmp_path, seeds=1)]
    done = run_cells(some, executor=Local(jobs), checkpoint=CellsFile(tmp_path / "out" / NAME))
    assert [cell.seed for cell, _ in done.failures] == [0, 1]
    assert {why for _, why in done.failures} == {"KeyError: 'lost it' (own.py, line 12)"}
    assert len(done.records) == len(read_cells(tmp_path / "out" / NAME)) == 2


def test_a_lost_process_s_cell_is_run_again_but_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Dies the first time only: it leaves a file behind.
    once = "if not os.path.exists('died'): open('died', 'w').close(); os.kill"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN.replace("os.kill", once))
    (tmp_path / "ever.py").write_text(OWN)
    [ever, _] = mine(tmp_path, trouble="die")
    ever = Cell(
        ever.world,
        {**ever.algorithm, "mechanism": {"kind": "ever.py:Mine", "trouble": "die"}},
        0,
        400,
        tmp_path,
    )
    done = run_cells([ever, *mine(tmp_path, trouble="die")], executor=Local(2))
    assert (tmp_path / "died").exists()
    [(cell, why)] = done.failures
    assert cell is ever
    assert "ended with code -9 (3 processes in a row)" in why
    whole = run_cells(mine(tmp_path, trouble="die"), executor=Local(2))
    assert figures(done.records) == figures(whole.records)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, jobs: int) -> None:
    file = tmp_path / NAME
    some = cells(tmp_path, seeds=10, steps=20_000)

    def press(done: int, total: int) -> None:
        if done > 100_000:
            raise KeyboardInterrupt

    done = run_cells(some, executor=Local(jobs), checkpoint=CellsFile(file), progress=press)
    assert done.interrupted
    assert not done.failures
    assert 0 < len(done.records) < 20
    assert len(read_cells(file)) == len(done.records)
    if jobs == 1:  # seed by seed, so that there is something to compare
        count = len(done.records)
        assert {record.seed for record in done.records} == set(range((count + 1) // 2))


def test_a_bad_cell_is_refused_before_anything_happens(tmp_path: Path) -> None:
    bad = cells(tmp_path, betas=[0.5, 1.5], seeds=1)
    with pytest.raises(InputError) as refused:
        run_cells(bad, checkpoint=CellsFile(tmp_path / "out" / NAME), source="a.toml")
    assert str(refused.value).startswith("a.toml: beta 1.5: algorithm.mechanism.beta: got 1.5")
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match=r"beta 0.3: world\.dim: got 0, must be"):
        run_cells(cells(tmp_path, world={**WORLD, "dim": 0}))
    with pytest.raises(InputError, match=r"beta 0.3: run\.steps: is missing"):
        run_cells(cells(tmp_path, steps=None))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_file_that_changes_meanwhile_is_a_failure(tmp_path: Path, jobs: int) -> None:
    trace().save(tmp_path / "log.npz")
    some = cells(tmp_path, world={"kind": "Trace", "file": "log.npz"}, steps=60)
    done = run_cells(
        some,
        executor=Local(jobs),
        begin=lambda total, kept: trace(61).save(tmp_path / "log.npz"),
    )
    assert len(done.failures) == len(some)
    assert "would not be the same run" in done.failures[0][1]


def test_another_file_another_run(tmp_path: Path) -> None:
    file = tmp_path / "out" / NAME
    (tmp_path / "own.py").write_text(OWN)
    run_cells(mine(tmp_path), executor=Local(1), checkpoint=CellsFile(file))
    assert run_cells(mine(tmp_path), executor=Local(1), checkpoint=CellsFile(file)).kept == 2
    (tmp_path / "own.py").write_text(OWN + "\n")
    assert run_cells(mine(tmp_path), executor=Local(1), checkpoint=CellsFile(file)).kept == 0


def test_a_module_that_was_edited_after_it_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would go on with the old one, under the new file's fingerprint."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "sweep_module.py").write_text(OWN)
    table = {"kind": "IncFedUCB", "mechanism": {"kind": "sweep_module:Mine"}, "threshold": 0.2}
    some = [Cell(WORLD, table, 0, 100, tmp_path)]
    assert run_cells(some, executor=Local(1)).complete
    (tmp_path / "sweep_module.py").write_text(OWN + "\n")
    with pytest.raises(InputError, match=r"sweep_module\.py has changed since this process loaded"):
        run_cells(some, executor=Local(1))


def test_nothing_to_do(tmp_path: Path) -> None:
    done = run_cells([], checkpoint=CellsFile(tmp_path / NAME))
    assert (done.total, done.records, done.complete) == (0, [], True)
    assert json.loads((tmp_path / NAME).read_text())["format"] == "incfed.cells"


def test_other_settings_under_the_same_point_are_not_averaged(tmp_path: Path) -> None:
    short, long = (replace(cells(tmp_path)[0], steps=n) for n in (50, 90))
    run_cells(
        [short, replace(short, seed=7)], checkpoint=CellsFile(tmp_path / NAME), executor=Local(1)
    )
    run_cells([long], checkpoint=CellsFile(tmp_path / NAME), executor=Local(1))
    found = summarise(read_cells(tmp_path / NAME))
    assert [len(one.seeds) for one in found] == [2, 1]


def small(*seeds: int, steps: int = 60) -> list[Cell]:
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
            session.run(session.check(small(*some))) for some in ((0,), (1, 2, 3), (2, 3, 4))
        ]
    assert [batch.kept for batch in batches] == [0, 0, 2]
    whole = run_cells(small(*range(5)), executor=Local(1))
    found = {record.seed: record for batch in batches for record in batch.records}
    assert [found[seed] for seed in range(5)] == whole.records
    assert len(read_cells(file)) == 5


def test_processes_stay_for_the_next_batch_and_go_with_the_session() -> None:
    executor = Local(2)
    with Session(executor=executor) as session:
        session.run(session.check(small(0, 1)))
        first = executor._pool
        assert first is not None
        session.run(session.check(small(2, 3)))
        assert executor._pool is first
        processes = [worker.process for worker in first.workers]
    assert executor._pool is None
    assert not any(process.is_alive() for process in processes)


def test_what_a_stopped_batch_was_at_is_not_taken_for_the_next_ones() -> None:
    executor = Local(2)
    with Session(executor=executor) as session:
        batch = session.check([*small(0, 1, 2), *small(3, 4, steps=200_000)])
        answers = executor.run(
            list(batch.tasks.values()), batch.algorithms, lambda steps: None, None
        )
        for _ in range(3):
            next(answers)
        answers.close()  # while somebody is at the fourth
        later = session.run(session.check(small(7, 8)))
    assert later.records == run_cells(small(7, 8), executor=Local(1)).records
