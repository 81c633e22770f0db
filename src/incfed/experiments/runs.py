"""`incfed run`: an experiment is one world, some algorithms and some seeds; each pair is a run.

It is a sweep without axes that keeps whole results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from .. import errors
from .._version import __version__
from ..algorithms.base import Algorithm
from ..environments.base import World
from ..errors import InputError
from ..results.collection import INDEX
from ..results.comparison import Comparison
from ..results.terminal import show
from ..support.files import fingerprint, slugs
from ..support.inputs import counted
from ..support.terminal import Terminal, short
from . import grid
from .cell_runner import CellRunner
from .cells import Cell
from .config import Component, Recipe, build_algorithm, check_outline, check_steps, load, redrawn
from .engine import Outcome
from .run_folders import RunFolders, last_earlier, next_earlier
from .suite import Suite


@dataclass(frozen=True, kw_only=True)
class Experiment(Suite):
    """Checked and complete; `read` makes one from a file, `build` from tables."""

    environment: Component
    entries: Mapping[str, Component]  # by label
    steps: int
    seeds: tuple[int, ...]

    mark: ClassVar[str] = INDEX

    @property
    def world(self) -> World:
        world: World = self.environment.value
        return world

    @property
    def algorithms(self) -> dict[str, Algorithm]:
        return {label: entry.value for label, entry in self.entries.items()}

    def folder(self, cell: Cell) -> Path:
        """Where the whole result of a cell goes."""
        kind = "bootstrap" if "bootstrap" in self._again(cell) else "seed"
        return self.output / "runs" / self._slugs[cell.point["algorithm"]] / f"{kind}-{cell.seed}"

    def fingerprint(self, cell: Cell) -> str:
        """A hash of all that the run of a cell depends on, by which a saved one is recognised."""
        label = cell.point["algorithm"]
        world, algorithm = self.environment.identity, self.entries[label].identity
        again = self._again(cell)
        return fingerprint([__version__, label, cell.seed, self.steps, world, algorithm, *again])

    def _again(self, cell: Cell) -> list[str]:
        """Words that tell a run of a bootstrapped log from one of the log; of others, none."""
        if "bootstrap" in self.environment.table or "bootstrap" not in cell.world:
            return []
        return ["bootstrap", *([cell.world["resample"]] if "resample" in cell.world else [])]

    @cached_property
    def _slugs(self) -> dict[str, str]:
        return slugs(list(self.entries))

    def checkpoint(self) -> RunFolders:
        return RunFolders(self)

    def found(self, fresh: bool = False) -> str:
        finished, changed = self.checkpoint().finished()
        if changed:
            kept = short(next_earlier(self.output))
            return f"the results there, of another config, will be kept in {kept}"
        if finished:
            there = f"{len(finished):,} of {counted(len(self.cells), 'run')} already there"
            return f"{there}, to be run again" if fresh else there
        return super().found(fresh)

    def describe(self) -> str:
        runs, steps = counted(len(self.cells), "run"), counted(self.steps, "step")
        size = f"{counted(len(self.entries), 'algorithm')}, {self.drawn}"
        return "\n".join([*self.world.notes, f"{runs} of {steps}: {size}"])

    @property
    def drawn(self) -> str:
        """ "5 seeds", or of a log "1 log, 20 bootstrapped logs"."""
        again = sum(bool(self._again(cell)) for cell in self.cells) // len(self.entries)
        if self.world.chance:
            return counted(len(self.seeds), "seed")
        return ", ".join(["1 log", *([counted(again, "bootstrapped log")] if again else [])])

    def report(self, terminal: Terminal, outcome: Outcome) -> dict[str, Path]:
        from .outputs import Chapter, draw, intro, matching, publish

        title, runs = Path(self.name).stem, outcome.runs
        text = matching(runs)
        with terminal.busy("drawing plots, writing the report"):
            words, chapter = intro(self, outcome), Chapter("Comparison", runs, text)
            report = publish(self.output, title, words, [chapter])
            plots = draw(self.output, Comparison(runs))
        show(terminal, Chapter(title, runs, text).document())
        drawn = {"plots": plots} if plots else {}
        before = last_earlier(self.output)
        kept = {"earlier": before} if before else {}
        return {"report": report, **drawn, "runs": self.output / "runs", **kept}


def read(
    path: str | Path,
    *,
    seeds: int | None = None,
    output: Path | None = None,
    bootstrap: int | None = None,
) -> Experiment:
    """The experiment in the file `path`; other arguments take the place of the file's."""
    return build(load(path, seeds=seeds, output=output, bootstrap=bootstrap))


def build(recipe: Recipe) -> Experiment:
    """The experiment of a recipe, or an InputError that names the file and the place in it."""
    with errors.at(recipe.name):
        if "sweep" in recipe.tables:
            raise InputError("sweep: is for `incfed sweep`; `incfed run` takes no such table")
        outline = check_outline(recipe)
        runner = CellRunner()
        environment, _ = runner.world(outline.world, recipe.folder)
        steps = check_steps(outline.steps, environment.value)
        entries = {
            label: build_algorithm(
                table, f"algorithm[{n}]", environment.value, steps, recipe.folder
            )
            for n, (label, table) in enumerate(outline.algorithms.items(), 1)
        }
        if not environment.value.chance:  # seeds do not change a log
            outline = replace(outline, seeds=outline.seeds[:1])
        cells = grid.cells([], outline, recipe.folder)
        if not environment.value.chance:
            drawn = redrawn(steps, outline.resample)
            cells = _with_bootstraps(cells, drawn, outline.bootstrap)
        return Experiment(
            name=recipe.name,
            cells=cells,
            output=outline.output,
            runner=runner,
            environment=environment,
            entries=entries,
            steps=steps,
            seeds=outline.seeds,
        )


def _with_bootstraps(cells: list[Cell], drawn: Mapping[str, Any], many: int) -> list[Cell]:
    """Each run of a log, and the same with bootstrapped logs."""
    return [
        run
        for cell in cells
        for run in (
            cell,
            *(
                replace(cell, world={**cell.world, **drawn}, seed=cell.seed + n)
                for n in range(1, many + 1)
            ),
        )
    ]
