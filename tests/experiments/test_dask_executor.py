"""Sweeps on a real Dask cluster: the same numbers, and none lost with a worker."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import incfed
from incfed.errors import InputError
from incfed.experiments import run
from incfed.experiments.checkpoint import NAME, CellsFile, read_cells
from incfed.experiments.dask_executor import Dask
from incfed.experiments.engine import Local, run_cells
from incfed.results.records import Result
from incfed.support.extras import install
from support.cli import incfed as command
from support.cli import incfed as incfed_command
from support.cli import invoke
from support.dask_cluster import Cluster, cluster
from support.experiments import OWN, TOML, experiment, trace
from support.sweeps import SWEEP, cells, figures, mine

pytest.importorskip("distributed", reason="distributed (incfed[dask]) is not installed")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers."""
    with cluster(tmp_path_factory.mktemp("dask"), 2) as made:
        yield made


def test_the_same_numbers_bit_for_bit(two: Cluster, tmp_path: Path) -> None:
    trace().save(tmp_path / "log.npz")
    recorded = {"kind": "Trace", "file": "log.npz"}  # without expected rewards: regret is NaN
    some = [*cells(tmp_path), *cells(tmp_path, world=recorded, steps=None)]
    here = run_cells(some, executor=Local(1))
    there = run_cells(
        some, executor=Dask(two.address), checkpoint=CellsFile(tmp_path / "out" / NAME)
    )
    assert not there.failures
    assert figures(there.records) == figures(here.records)
    assert figures(read_cells(tmp_path / "out" / NAME), sort=True) == figures(
        here.records, sort=True
    )
    again = run_cells(
        some, executor=Dask(two.address), checkpoint=CellsFile(tmp_path / "out" / NAME)
    )
    assert (again.kept, figures(again.records)) == (len(some), figures(here.records))


def test_a_lost_worker_s_cells_are_run_again(two: Cluster, tmp_path: Path) -> None:
    some = cells(tmp_path, seeds=12, steps=20_000)
    victim = two.worker()
    two.wait_for(3)
    seen: list[int] = []

    def kill(done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == 3:
            os.kill(victim.pid, signal.SIGKILL)

    there = run_cells(some, executor=Dask(two.address), progress=kill)
    assert victim.wait() == -signal.SIGKILL
    assert there.complete, there.failures
    assert figures(there.records) == figures(run_cells(some, executor=Local(1)).records)
    assert seen == sorted(seen)
    assert seen[-1] == len(some) * 20_000
    two.wait_for(2)


def test_ctrl_c_keeps_what_is_finished_and_leaves_the_cluster_idle(
    two: Cluster, tmp_path: Path
) -> None:
    some = cells(tmp_path, seeds=40, steps=5_000)

    def press(done: int, total: int) -> None:
        if done >= 4 * 5_000:
            raise KeyboardInterrupt

    file = tmp_path / "out" / NAME
    there = run_cells(some, executor=Dask(two.address), checkpoint=CellsFile(file), progress=press)
    assert there.interrupted
    assert not there.failures
    assert len(there.records) == len(read_cells(file)) == 4
    with two.client() as client:
        limit = time.monotonic() + 60
        while client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)):
            assert time.monotonic() < limit
            time.sleep(0.05)


def test_two_sweeps_of_the_same_cells_do_not_meet(two: Cluster, tmp_path: Path) -> None:
    """The second is stopped while the first runs, and takes only its own back."""
    some = cells(tmp_path, seeds=6, steps=5_000)

    def press(done: int, total: int) -> None:
        raise KeyboardInterrupt

    def meanwhile(done: int, total: int) -> None:
        if done == 5_000:
            other = run_cells(some, executor=Dask(two.address), progress=press)
            assert (other.interrupted, len(other.records)) == (True, 1)

    assert run_cells(some, executor=Dask(two.address), progress=meanwhile).complete


def test_an_edited_class_is_not_run_as_it_was(two: Cluster, tmp_path: Path) -> None:
    """Workers live long: what they loaded for an earlier sweep is not what the file says now."""
    (tmp_path / "own.py").write_text(OWN)
    first = run_cells(mine(tmp_path), executor=Dask(two.address))
    assert all(record.figures["payment"] > 0 for record in first.records)
    free = OWN.replace("PayEveryone().decide", "incfed.PaymentFree().decide")
    (tmp_path / "own.py").write_text(free)
    there = run_cells(mine(tmp_path), executor=Dask(two.address))
    assert there.complete, there.failures
    assert all(record.figures["payment"] == 0 for record in there.records)
    assert figures(there.records) == figures(run_cells(mine(tmp_path), executor=Local(1)).records)


def test_an_edited_trace_is_read_again(two: Cluster, tmp_path: Path) -> None:
    some = cells(tmp_path, world={"kind": "Trace", "file": "log.npz"}, steps=60)
    found = []
    for steps in (60, 61):
        trace(steps).save(tmp_path / "log.npz")
        there = run_cells(some, executor=Dask(two.address))
        assert there.complete, there.failures
        here = run_cells(some, executor=Local(1))
        assert figures(there.records) == figures(here.records)
        found.append([record.figures["reward"] for record in there.records])
    assert found[0] != found[1]


def test_a_file_that_is_another_there_is_a_failure(two: Cluster, tmp_path: Path) -> None:
    trace().save(tmp_path / "log.npz")
    some = cells(tmp_path, world={"kind": "Trace", "file": "log.npz"}, steps=None)
    there = run_cells(
        some,
        executor=Dask(two.address),
        begin=lambda total, kept: trace(61).save(tmp_path / "log.npz"),
    )
    assert len(there.failures) == len(some)
    assert "would not be the same run" in there.failures[0][1]
    assert "(worker tcp://127.0.0.1:" in there.failures[0][1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("__version__ = '0.0.1'", "has incfed 0.0.1; for the same numbers"),
        ("raise ModuleNotFoundError('not here')", "cannot use incfed (not here); for the same"),
    ],
)
def test_a_worker_that_would_compute_something_else(
    two: Cluster, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "incfed").mkdir()
    (tmp_path / "incfed" / "__init__.py").write_text(text)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    other = two.worker(PYTHONPATH=path)
    try:
        two.wait_for(3)
        with pytest.raises(InputError, match="--dask: the worker tcp://") as refused:
            run_cells(
                cells(tmp_path),
                executor=Dask(two.address),
                checkpoint=CellsFile(tmp_path / "out" / NAME),
            )
        assert said in str(refused.value)
        assert not (tmp_path / "out").exists()
    finally:
        other.kill()
        other.wait()
        two.wait_for(2)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=rf"--dask: needs .* {re.escape(install('dask'))}"):
        run_cells(
            cells(tmp_path),
            executor=Dask("tcp://x:1"),
            checkpoint=CellsFile(tmp_path / "out" / NAME),
        )
    assert not (tmp_path / "out").exists()


def test_nobody_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InputError, match=f"--dask: got '{address}', must be the address of"):
            run_cells(cells(tmp_path), executor=Dask(address, patience=0.5))
    monkeypatch.setattr("distributed.Client", pytest.fail)  # refused before there is one
    for wrong in ("nonsense", "nonsense://x", "tcp://host.invalid:1"):
        with pytest.raises(InputError, match="--dask: got '"):
            run_cells(cells(tmp_path), executor=Dask(wrong, patience=0.5))


def test_a_scheduler_without_workers_and_one_that_goes_away(tmp_path: Path) -> None:
    with cluster(tmp_path, 0) as alone:
        with pytest.raises(InputError, match=r"has no workers; start some with: dask worker tcp"):
            run_cells(cells(tmp_path), executor=Dask(alone.address, patience=0.5))
        alone.worker()
        alone.wait_for(1)
        some = cells(tmp_path, seeds=30, steps=5_000)

        def kill(done: int, total: int) -> None:
            alone.scheduler.kill()

        there = run_cells(some, executor=Dask(alone.address), progress=kill)
        assert len(there.records) + len(there.failures) == len(some)
        assert there.records
        assert "went away" in there.failures[-1][1]


def test_a_cell_that_kills_its_workers_is_a_fault() -> None:
    from distributed.scheduler import KilledWorker

    error: Any = KilledWorker("key", None, 3)
    answer = Dask("tcp://x:1")._answer("error", (KilledWorker, error, None))
    assert not isinstance(answer, Result)
    assert "worker after worker died over it" in getattr(answer, "text", "")


def test_whole_results_come_back_from_a_cluster(two: Cluster, tmp_path: Path) -> None:
    """As data: the workers write nothing to the folder of results."""
    here = run(experiment(tmp_path, output="here"), executor=Local(1))
    made = experiment(tmp_path, output="there")
    there = run(made, executor=Dask(two.address))
    assert there.complete, there.failures
    assert there.runs == here.runs
    for label, results in here.runs.items():
        for seed, result in enumerate(results):
            saved = incfed.load(tmp_path / f"there/runs/{label}/seed-{seed}")
            assert np.array_equal(saved.regret, result.regret)
            assert saved.rounds == result.rounds
    assert run(made, executor=Dask(two.address)).kept == 4


def test_incfed_run_on_a_cluster(two: Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TOML)
    there = incfed_command(tmp_path, "run", "a.toml", "--dask", two.address, "--output", "there")
    assert there.returncode == 0, there.stderr
    assert f"4 runs of 400 steps: 2 algorithms, 2 seeds; on the cluster at {two.address}" in (
        there.stderr
    )
    here = incfed_command(tmp_path, "run", "a.toml", "--jobs", "1", "--output", "here")
    assert there.stdout == here.stdout
    figures = [(tmp_path / name / "summary.json").read_text() for name in ("here", "there")]
    assert figures[0] == figures[1]
    both = incfed_command(tmp_path, "run", "a.toml", "--dask", two.address, "--jobs", "2")
    assert (both.returncode, both.stdout) == (2, "")
    assert "--jobs: is for processes on this machine" in both.stderr


def test_the_command_line_on_a_cluster(two: Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SWEEP)
    done = command(tmp_path, "sweep", "a.toml", "--dask", two.address)
    assert done.returncode == 0, done.stderr
    assert f"on the cluster at {two.address}" in done.stderr
    assert "distributed" not in done.stderr  # no log lines of somebody else's
    more = invoke(tmp_path, "sweep", "a.toml", "--dask", two.address, "--jobs", "2")
    assert (more.returncode, more.stdout) == (2, "")
    assert "--jobs: is for processes on this machine" in more.stderr
