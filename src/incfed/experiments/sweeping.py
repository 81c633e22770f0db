"""`incfed sweep`: what people see of a sweep while it runs, and when it is done."""

from __future__ import annotations

from pathlib import Path

from ..support.inputs import counted
from .book import NAME
from .engine import Cells, Local, run_cells
from .screen import Screen
from .sweep_report import publish_sweep
from .sweeps import executor_for, read_sweep
from .tidy import summarise


def carry_out(
    screen: Screen,
    config: Path,
    *,
    output: Path | None,
    seeds: int | None,
    jobs: int | None,
    dask: str | None,
    fresh: bool,
) -> tuple[Cells, Path]:
    """Run the sweep of a config under a progress bar and write about it; where that is."""
    sweep = read_sweep(config, seeds=seeds, output=output)
    executor = executor_for(jobs, dask)

    def begin(total: int, kept: int) -> None:
        what = (
            f"{counted(total, 'run')}: {counted(sweep.points, 'point')}, "
            f"{counted(len(sweep.seeds), 'seed')}"
        )
        todo = total - kept
        if kept:
            what += f"; {kept:,} of {counted(total, 'run')} already there"
        elif isinstance(executor, Local) and min(executor.jobs, todo) > 1:
            what += f"; {min(executor.jobs, todo)} processes"
        elif dask is not None:
            what += f"; on the cluster at {dask}"
        screen.note(what)

    with screen.progress(len(sweep.cells)) as bar:
        done = run_cells(
            sweep.cells,
            book=sweep.output / NAME,
            executor=executor,
            fresh=fresh,
            progress=bar.update,
            slow=bar.compiling,
            begin=begin,
            source=sweep.name,
        )
    if done.interrupted:
        return done, sweep.output
    screen.cell_failures(done.failures)
    where = {"runs": sweep.output / NAME}
    if done.records:
        words = sweep.intro()
        if done.failures:
            failed = f"{len(done.failures)} of {counted(done.total, 'run')}"
            words += f"\n\nNot included: {failed}, which failed."
        with screen.busy("writing the report"):
            report = publish_sweep(sweep.output, sweep.title, words, done.records)
        screen.points(sweep.title, summarise(done.records), sweep.output / "summary.md")
        where = {"report": report, "tables": sweep.output / "cells.parquet", **where}
    screen.places(where)
    if done.failures:
        failed = f"{len(done.failures)} of {counted(done.total, 'run')} failed"
        screen.error(f"{failed}; the others are kept")
    else:
        screen.hint("Next: open the report in a browser; change the config and run it again.")
    return done, sweep.output
