"""`incfed run`: an experiment is one world, some algorithms and some seeds; each pair is a run.

It is a sweep without axes that keeps whole results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..algorithms.base import Algorithm
from ..environments.base import World
from ..results.tables import compare
from ..support import places
from ..support.files import fingerprint, slugs
from ..support.inputs import InputError, counted
from .cell_runner import CellRunner
from .cells import Cell
from .checkpoint import check_resume
from .config import Component, Recipe, build_algorithm, check_outline, check_steps, load
from .engine import Executor, Outcome, Progress, executor_for, run_cells
from .run_folders import INDEX, RunFolders

if TYPE_CHECKING:
    from .screen import Screen


@dataclass(frozen=True)
class Experiment:
    """Checked and complete; `read` makes one from a file, `build` from tables."""

    recipe: Recipe
    scene: Component
    entries: Mapping[str, Component]  # by label
    steps: int
    seeds: tuple[int, ...]
    output: Path
    runner: CellRunner = field(compare=False, repr=False)  # has the world in memory

    @property
    def world(self) -> World:
        world: World = self.scene.value
        return world

    @property
    def algorithms(self) -> dict[str, Algorithm]:
        return {label: entry.value for label, entry in self.entries.items()}

    def cells(self) -> list[Cell]:
        return [
            Cell(
                world=self.scene.table,
                algorithm={**entry.table, "label": label},
                seed=seed,
                steps=self.steps,
                folder=self.recipe.folder,
                point={"algorithm": label},
            )
            for label, entry in self.entries.items()
            for seed in self.seeds
        ]

    def folder(self, cell: Cell) -> Path:
        """Where the whole result of a cell goes."""
        return self.output / "runs" / self._slugs[cell.point["algorithm"]] / f"seed-{cell.seed}"

    def fingerprint_0_1(self, cell: Cell) -> str:
        """By which version 0.1 recognised the run; with the version of today, because a run of
        another one is never kept."""
        label, scene = cell.point["algorithm"], self._identities[None]
        own = self._identities[label]
        return fingerprint([__version__, label, cell.seed, self.steps, scene, own])

    @cached_property
    def _slugs(self) -> dict[str, str]:
        return slugs(list(self.entries))

    @cached_property
    def _identities(self) -> dict[str | None, Any]:
        """Of the algorithms by label, and of the world."""
        return {None: self.scene.identity()} | {
            label: entry.identity() for label, entry in self.entries.items()
        }


def read(path: str | Path, *, seeds: int | None = None, output: Path | None = None) -> Experiment:
    """The experiment in the file `path`; `seeds` and `output` take the place of the file's."""
    return build(load(path, seeds=seeds, output=output))


def build(recipe: Recipe) -> Experiment:
    """The experiment of a recipe, or an InputError that names the file and the place in it."""
    with places.at(recipe.name):
        if "sweep" in recipe.tables:
            raise InputError("sweep: is for `incfed sweep`; `incfed run` takes no such table")
        outline = check_outline(recipe)
        runner = CellRunner()
        scene, _ = runner.world(outline.world, recipe.folder)
        steps = check_steps(outline.steps, scene.value)
        entries = {
            label: build_algorithm(table, f"algorithm[{n}]", scene.value, steps, recipe.folder)
            for n, (label, table) in enumerate(outline.algorithms.items(), 1)
        }
        return Experiment(
            recipe=recipe,
            scene=scene,
            entries=entries,
            steps=steps,
            seeds=outline.seeds,
            output=outline.output,
            runner=runner,
        )


def run(
    experiment: Experiment,
    *,
    executor: Executor | None = None,
    resume: bool = False,
    fresh: bool = False,
    progress: Progress | None = None,
    slow: Callable[[], None] | None = None,
    begin: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Run what is not in the output folder yet, and save it there; see `run_cells`.

    `resume` refuses a folder without runs to continue. With several processes, a script must call
    this under `if __name__ == "__main__":`.
    """
    check_resume(experiment.output / INDEX, resume=resume, fresh=fresh)
    return run_cells(
        experiment.cells(),
        checkpoint=RunFolders(experiment),
        executor=executor,
        fresh=fresh,
        progress=progress,
        slow=slow,
        begin=begin,
        source=experiment.recipe.name,
        runner=experiment.runner,
    )


def run_config(
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
    """Run the experiment of a config under a progress bar and report on it; its folder."""
    from .outputs import Chapter, draw, intro, matching, publish

    experiment = read(config, seeds=seeds, output=output)
    executor = executor_for(jobs, dask)
    for line in experiment.world.notes:
        screen.note(line)
    outcome = _watch(screen, experiment, executor, resume=resume, fresh=fresh)
    if outcome.interrupted:
        return outcome, experiment.output
    where = {"runs": experiment.output / "runs"}
    if runs := outcome.runs:
        text = matching(runs)
        with screen.busy("drawing plots, writing the report"):
            words, chapter = intro(experiment, outcome), Chapter("Comparison", runs, text)
            report = publish(experiment.output, config.stem, words, [chapter])
            plots = draw(experiment.output, runs)
        screen.table(config.stem, compare(runs), text)
        where = {"report": report, **({"plots": plots} if plots else {}), **where}
    conclude(screen, outcome, where, "change the config and run it again.")
    return outcome, experiment.output


def run_demo(
    screen: Screen, output: Path, *, seeds: int, jobs: int | None, quick: bool, fresh: bool
) -> tuple[Outcome, Path]:
    """Run the demo under a progress bar and report on it; its folder."""
    from . import demo
    from .outputs import publish

    experiment = demo.demo(output, seeds=seeds, quick=quick)
    outcome = _watch(screen, experiment, executor_for(jobs, None), resume=False, fresh=fresh)
    if outcome.interrupted:
        return outcome, experiment.output
    chapters = demo.chapters(outcome.runs)
    with screen.busy("writing the report"):
        report = publish(experiment.output, demo.TITLE, demo.intro(experiment), chapters)
    for chapter in chapters:
        screen.table(chapter.heading, compare(chapter.runs), chapter.text)
    where = {"report": report, "runs": experiment.output / "runs"}
    conclude(
        screen,
        outcome,
        where,
        "open the report in a browser; `incfed init` starts one of your own.",
    )
    return outcome, experiment.output


def _watch(
    screen: Screen, experiment: Experiment, executor: Executor, *, resume: bool, fresh: bool
) -> Outcome:
    count = len(experiment.entries) * len(experiment.seeds)
    what = (
        f"{counted(count, 'run')} of {counted(experiment.steps, 'step')}: "
        f"{counted(len(experiment.entries), 'algorithm')}, {counted(len(experiment.seeds), 'seed')}"
    )
    runs = partial(run, experiment, resume=resume, fresh=fresh)
    return watched(screen, what, count, executor, runs)


def watched(
    screen: Screen, what: str, count: int, executor: Executor, runs: Callable[..., Outcome]
) -> Outcome:
    """Call `runs` (`run_cells`, or a function that passes its arguments on) under a progress bar,
    after a line that says `what` is run, and print the failures."""

    def begin(total: int, kept: int) -> None:
        place = executor.describe(total)
        more = f"{kept:,} of {counted(total, 'run')} already there" if kept else place
        screen.note(f"{what}; {more}" if more else what)

    with screen.progress(count) as bar:
        outcome = runs(executor=executor, progress=bar.update, slow=bar.compiling, begin=begin)
    if not outcome.interrupted:
        screen.failures(outcome.failures)
    return outcome


def conclude(screen: Screen, outcome: Outcome, where: Mapping[str, Path], then: str) -> None:
    """Print where things are, and what failed or what to do next."""
    screen.places(where)
    if outcome.failures:
        failed = f"{len(outcome.failures)} of {counted(outcome.total, 'run')} failed"
        screen.error(f"{failed}; the others are kept")
    else:
        screen.hint(f"Next: open the report in a browser; {then}")
