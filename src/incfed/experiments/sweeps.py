"""Sweeps: a config with a [sweep] table, every combination of it with every seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support import inputs, places
from ..support.extras import needs
from ..support.inputs import InputError, counted, refuse
from . import grid
from .cells import Cell, Record, shown
from .checkpoint import NAME, CellsFile, check_resume
from .config import Recipe, check_outline, load, override
from .engine import Outcome, executor_for, run_cells
from .runs import conclude, watched
from .sweep_report import publish_sweep
from .tidy import PointSummary, cells_frame, curves_frame, summarise

if TYPE_CHECKING:
    import pandas
    import polars

    from .screen import Screen


@dataclass(frozen=True)
class Sweep:
    """A sweep to be run: its cells in full, and where the results go."""

    title: str
    axes: tuple[grid.Axis, ...]
    cells: list[Cell]
    seeds: tuple[int, ...]
    output: Path
    name: str  # of the config, for messages

    @property
    def points(self) -> int:
        return len(self.cells) // len(self.seeds)

    def intro(self) -> str:
        """What is swept, in a sentence or two."""
        swept = "; ".join(f"{a.path}: {', '.join(map(shown, a.values))}" for a in self.axes)
        seeds = counted(len(self.seeds), "seed")
        return (
            f"{counted(self.points, 'point')} with {seeds} each. "
            "All points of a world saw the same "
            f"clients, arms and noise.\n\nSwept: {swept}."
        )


@dataclass(frozen=True)
class Swept:
    """A finished sweep: `records` has one entry a run."""

    title: str
    intro: str
    records: list[Record]
    failures: list[tuple[Cell, str]]

    def to_polars(self) -> polars.DataFrame:
        """One row a run: the swept parameters, the seed, the final figures."""
        return cells_frame(self.records)

    def to_pandas(self) -> pandas.DataFrame:
        """One row a run: the swept parameters, the seed, the final figures."""
        with needs("pandas", "to_pandas()", "pandas"):
            import pandas
        return pandas.DataFrame(self.to_polars().to_dict(as_series=False))

    def curves(self) -> polars.DataFrame:
        """Up to 200 rows a run: the swept parameters, the seed, the step and the four metrics."""
        return curves_frame(self.records)

    def summary(self) -> list[PointSummary]:
        """The points in order, each with the mean and spread of its figures over the seeds."""
        return summarise(self.records)

    def save(self, folder: str | Path) -> Path:
        """Write tables and a report to `folder`; the path of the report."""
        return publish_sweep(inputs.path("folder", folder), self.title, self.intro, self.records)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<Sweep {self.title!r}: {counted(len(self.records), 'run')}{failed}>"


def read_sweep(
    config: str | Path | Mapping[str, Any], *, seeds: int | None = None, output: Path | None = None
) -> Sweep:
    """The sweep in a file, or in tables as of a file; `seeds` and `output` replace its own."""
    if isinstance(config, Mapping):
        changes = {"seeds": seeds, "output": None if output is None else str(output.absolute())}
        return build_sweep(override(Recipe(config), **changes), title="sweep")
    if not isinstance(config, str | Path):
        raise refuse("config", config, "the path of a TOML file, or tables as in one")
    return build_sweep(load(config, seeds=seeds, output=output), title=Path(config).stem)


def build_sweep(recipe: Recipe, *, title: str = "sweep") -> Sweep:
    """The sweep of a recipe, or an InputError that names the file and the place in it."""
    with places.at(recipe.name):
        outline = check_outline(recipe)
        axes = grid.axes(recipe.tables.get("sweep"), list(outline.algorithms))
        points = grid.points(axes, outline, recipe.folder)
        runs = len(points) * len(outline.seeds)
        if runs > grid.MOST_CELLS:
            most = f"must have at most {grid.MOST_CELLS:,}"
            raise InputError(f"sweep: has {counted(runs, 'run')}, {most}")
    cells = [
        Cell(
            world=point.world,
            algorithm={**point.algorithm, "label": point.columns["algorithm"]},
            seed=seed,
            steps=point.steps,
            folder=recipe.folder,
            point=point.columns,
        )
        for point in points
        for seed in outline.seeds
    ]
    return Sweep(
        title=title,
        axes=tuple(axes),
        cells=cells,
        seeds=outline.seeds,
        output=outline.output,
        name=recipe.name,
    )


def sweep(
    config: str | Path | Mapping[str, Any],
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    output: str | Path | None = None,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Swept:
    """Run every combination of a [sweep] table with every seed, and return the results.

    `config` is the path of a TOML file, or its tables. `jobs` processes on this machine (as many as
    cores, if left out), or the cluster whose scheduler is at `dask`: the numbers are the same.
    With `output`, finished runs are kept in that folder: called again, only what is missing is run;
    tables and a report are written there too. Without, nothing is written. `progress` is called
    with the steps done and the steps in all. A run that fails is in `failures`, the others are not
    lost. With several processes, a script must call this under `if __name__ == "__main__":`.
    """
    folder = None if output is None else inputs.path("output", output).absolute()
    made = read_sweep(config, seeds=seeds, output=folder)
    done = run_cells(
        made.cells,
        checkpoint=None if folder is None else CellsFile(folder / NAME),
        executor=executor_for(jobs, dask),
        fresh=fresh,
        progress=progress,
        source=made.name,
    )
    if done.interrupted:
        raise KeyboardInterrupt
    result = Swept(made.title, made.intro(), done.records, done.failures)
    if folder is not None and done.records:
        result.save(folder)
    return result


def sweep_config(
    screen: Screen,
    config: Path,
    *,
    output: Path | None,
    seeds: int | None,
    jobs: int | None,
    dask: str | None,
    resume: bool,
    fresh: bool,
) -> tuple[Outcome, Path]:
    """Run the sweep of a config under a progress bar and report on it; its folder."""
    made = read_sweep(config, seeds=seeds, output=output)
    executor = executor_for(jobs, dask)
    file = made.output / NAME
    check_resume(file, resume=resume, fresh=fresh)
    count = len(made.cells)
    runs = partial(run_cells, made.cells, checkpoint=CellsFile(file), fresh=fresh, source=made.name)
    size = f"{counted(made.points, 'point')}, {counted(len(made.seeds), 'seed')}"
    outcome = watched(screen, f"{counted(count, 'run')}: {size}", count, executor, runs)
    if outcome.interrupted:
        return outcome, made.output
    where = {"runs": file}
    if outcome.records:
        words = made.intro()
        if outcome.failures:
            failed = f"{len(outcome.failures)} of {counted(outcome.total, 'run')}"
            words += f"\n\nNot included: {failed}, which failed."
        with screen.busy("writing the report"):
            report = publish_sweep(made.output, made.title, words, outcome.records)
        screen.points(made.title, summarise(outcome.records), made.output / "summary.md")
        where = {"report": report, "tables": made.output / "cells.parquet", **where}
    conclude(screen, outcome, where, "change the config and run it again.")
    return outcome, made.output
