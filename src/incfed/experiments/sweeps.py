"""Sweeps: a config with a [sweep] table, every combination of it with every seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import errors
from ..errors import refuse
from ..results.document import Block, Document, Text
from ..results.notebook import Shown
from ..results.plots import can_plot
from ..support import inputs
from ..support.extras import needs
from ..support.inputs import counted, noun
from ..support.terminal import Terminal
from . import grid
from .cells import Cell, Record
from .checkpoint import NAME, read_cells
from .config import Recipe, check_outline, load, override
from .engine import Outcome, executor_for, run_cells
from .outputs import not_included
from .parameters import Names, Parameter, names_of, value_in_words
from .points import PointSummary, is_number, points_table, summarise
from .suite import Suite
from .sweep_figures import first_figures
from .sweep_report import cells_frame, curves_frame, publish_sweep, show_points

if TYPE_CHECKING:
    import pandas
    import polars

LOGS = ("ReplayLog", "Trace")


@dataclass(frozen=True, kw_only=True)
class Sweep(Suite):
    """A sweep to be run: its cells in full, and where the results go."""

    title: str
    axes: tuple[grid.SweepAxis, ...]
    seeds: tuple[int, ...]

    @property
    def points(self) -> int:
        return len(self.cells) // len(self.seeds)

    @property
    def names(self) -> dict[str, Parameter]:
        """The swept parameters in words, by column."""
        return names_of(self.axes)

    def intro(self, records: Sequence[Record]) -> str:
        """A text that says what was run in which world, and what is swept."""
        swept = "; ".join(
            f"{self.names[a.column].axis}: {', '.join(map(value_in_words, _sorted(a.values)))}"
            for a in self.axes
        )
        sizes = ", ".join(filter(None, [_range(records, "clients"), _range(records, "steps")]))
        points = f"{counted(self.points, 'point')} with {counted(len(self.seeds), 'seed')} each"
        return (
            f"{self._world()}: {sizes}; {points}. All points of a world saw the same clients, arms "
            f"and noise.\n\nSwept: {swept}."
        )

    def _world(self) -> str:
        kinds = dict.fromkeys(str(cell.world.get("kind", "")) for cell in self.cells)
        return f"{' and '.join(kinds)} {noun(len(kinds), 'world')}"

    def settings(self) -> dict[str, Any]:
        """The settings that are not swept: of the run, of the world, and of each algorithm."""
        first = self.cells[0]
        groups = {"Run": {"steps": first.steps, "seeds": list(self.seeds)}, "World": first.world}
        for cell in self.cells:
            groups.setdefault(str(cell.algorithm.get("label", "")), cell.algorithm)
        kept = {}
        for name, table in groups.items():
            section = {"Run": "run", "World": "world"}.get(name, "algorithm")
            own = [a for a in self.axes if a.section == section and a.only in (None, name)]
            kept[name] = _without(table, [("label",), *(axis.keys for axis in own)])
        return kept

    def describe(self) -> str:
        runs, points = counted(len(self.cells), "run"), counted(self.points, "point")
        return f"{runs}: {points}, {counted(len(self.seeds), 'seed')}"

    def report(self, terminal: Terminal, outcome: Outcome) -> dict[str, Path]:
        words = self.intro(outcome.records) + not_included(outcome)
        with terminal.busy("writing the report"):
            report = publish_sweep(
                self.output, self.title, words, outcome.records, self.names, self.settings()
            )
        show_points(terminal, self.title, outcome.records, self.output, self.names)
        tables = self.output / "cells.parquet"
        return {"report": report, "tables": tables, "runs": self.output / NAME}


def _sorted(values: Sequence[Any]) -> list[Any]:
    """Numbers ascend; anything else stays in order."""
    return sorted(values) if all(map(is_number, values)) else list(values)


def _range(records: Sequence[Record], name: str) -> str:
    """A count of the runs in words: "12 clients", or "12 to 50 clients"; empty if it is unknown."""
    found = sorted({int(record.figures[name]) for record in records if name in record.figures})
    if len(found) < 2:
        return counted(found[0], name.removesuffix("s")) if found else ""
    return f"{found[0]:,} to {found[-1]:,} {name}"


def _without(table: Mapping[str, Any], paths: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The table without what is at these paths in it."""
    kept: dict[str, Any] = {}
    for key, value in table.items():
        below = [path[1:] for path in paths if path[0] == key]
        if () not in below:
            kept[key] = _without(value, below) if isinstance(value, Mapping) else value
    return kept


@dataclass(frozen=True)
class Swept(Shown):
    """A finished sweep: `records` has one entry a run.

    >>> world = {"kind": "Synthetic", "clients": 5, "dim": 3, "arms": 4, "pool": 50}
    >>> study = {
    ...     "run": {"steps": 100, "seeds": 2}, "world": world,
    ...     "algorithm": [{"kind": "Independent"}], "sweep": {"algorithm.ridge": [0.1, 1.0, 10.0]},
    ... }
    >>> swept = incfed.sweep(study, jobs=1)
    >>> swept
    <Sweep 'sweep': 6 runs>
    """

    title: str
    intro: str
    records: list[Record]
    failures: list[tuple[Cell, str]]
    names: Names = field(default_factory=dict, repr=False)  # of parameters, in words
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)  # that are not swept

    def to_polars(self) -> polars.DataFrame:
        """One row a run: the swept parameters, the seed, the final figures.

        >>> swept.to_polars().columns[:3]
        ['algorithm', 'ridge', 'seed']
        """
        return cells_frame(self.records)

    def to_pandas(self) -> pandas.DataFrame:
        """One row a run: the swept parameters, the seed, the final figures.

        >>> swept.to_pandas().groupby("ridge").regret.mean().size
        3
        """
        with needs("pandas", "to_pandas()", "pandas"):
            import pandas
        return pandas.DataFrame(self.to_polars().to_dict(as_series=False))

    def curves(self) -> polars.DataFrame:
        """Up to 200 rows a run: the swept parameters, the seed, the step and the four metrics.

        >>> swept.curves().columns
        ['algorithm', 'ridge', 'seed', 'step', 'regret', 'reward', 'communication', 'payment']
        """
        return curves_frame(self.records)

    def summary(self) -> list[PointSummary]:
        """The points in order, each with the mean and spread of its figures over the seeds.

        >>> [(summary.point["ridge"], str(summary.row.regret)) for summary in swept.summary()]
        [(0.1, '7.95 ± 1.12'), (1.0, '7.08 ± 0.40'), (10.0, '6.71 ± 0.60')]
        """
        return summarise(self.records)

    def document(self) -> Document:
        """A report of what was swept, the figures of every point, and the first of them as a curve
        or a map.

        >>> swept.document().title
        "Sweep 'sweep': 6 runs"
        """
        blocks: list[Block] = [Text(self.intro)]
        if self.records:
            points = self.summary()
            blocks.append(points_table(points, self.names, seeds=False))
            blocks += first_figures(points, self.names) if can_plot() else ()
        return Document(repr(self)[1:-1], tuple(blocks))

    def save(self, folder: str | Path) -> Path:
        """Write tables and a report to `folder`; the path of the report.

        >>> swept.save("swept").name
        'report.html'
        """
        target = inputs.path("folder", folder)
        if (target / NAME).exists():
            read_cells(target / NAME)  # what another version wrote is left as it is
        return publish_sweep(
            target,
            self.title,
            self.intro,
            self.records,
            self.names,
            self.settings,
        )

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<Sweep {self.title!r}: {counted(len(self.records), 'run')}{failed}>"


def read_sweep(
    config: str | Path | Mapping[str, Any], *, seeds: int | None = None, output: Path | None = None
) -> Sweep:
    """The sweep in a file, or in tables as of a file; `seeds` and `output` replace its own."""
    if isinstance(config, Mapping):
        return build_sweep(override(Recipe(config), seeds, output))
    if not isinstance(config, str | Path):
        raise refuse("config", config, "the path of a TOML file, or tables as in one")
    recipe = load(config, seeds=seeds, output=output, commands=("sweep", "run"))
    return build_sweep(recipe, title=Path(config).stem)


def build_sweep(recipe: Recipe, *, title: str = "sweep") -> Sweep:
    """The sweep of a recipe, or an InputError that names the file and the place in it."""
    with errors.at(recipe.name):
        outline = check_outline(recipe)
        axes = grid.axes(recipe.tables.get("sweep"), list(outline.algorithms))
        cells = grid.cells(axes, outline, recipe.folder)
        if all(_is_log(cell.world) for cell in cells):  # seeds do not change it
            outline = replace(outline, seeds=outline.seeds[:1])
            cells = grid.cells(axes, outline, recipe.folder)
    return Sweep(
        name=recipe.name,
        cells=cells,
        output=outline.output,
        title=title,
        axes=tuple(axes),
        seeds=outline.seeds,
    )


def _is_log(table: Mapping[str, Any]) -> bool:
    """Whether runs in the world of this table do not depend on the seed."""
    return table.get("kind") in LOGS and not (table.get("turn") or "bootstrap" in table)


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

    >>> swept = incfed.sweep(
    ...     {
    ...         "run": {"steps": 100, "seeds": 2},
    ...         "world": {"kind": "Synthetic", "clients": 5, "dim": 3, "arms": 4, "pool": 50},
    ...         "algorithm": [{"kind": "Independent"}],
    ...         "sweep": {"algorithm.ridge": [0.1, 1.0, 10.0]},
    ...     },
    ...     jobs=1,
    ... )
    >>> swept.to_polars().height  # three points with two seeds
    6
    """
    folder = None if output is None else inputs.path("output", output).absolute()
    made = read_sweep(config, seeds=seeds, output=folder)
    done = run_cells(
        made.cells,
        checkpoint=None if folder is None else made.checkpoint(),
        executor=executor_for(jobs, dask),
        fresh=fresh,
        progress=progress,
        source=made.name,
    )
    if done.interrupted:
        raise KeyboardInterrupt
    intro = made.intro(done.records)
    result = Swept(made.title, intro, done.records, done.failures, made.names, made.settings())
    if folder is not None and done.records:
        result.save(folder)
    return result
