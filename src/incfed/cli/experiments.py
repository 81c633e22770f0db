"""Experiments: the demo, configs, what was run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import FAILED
from .base import Fresh, Jobs, app, path, plainly, stopped

if TYPE_CHECKING:
    from ..experiments import Experiment, Outcome
    from ..experiments.screen import Screen


@app.command(
    epilog="[bold]incfed demo[/bold]   the whole of it\n\n"
    "[bold]incfed demo --quick --output /tmp/try[/bold]   a smaller world, in seconds"
)
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=path, help="Folder for the results.")
    ] = Path("demo"),
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Runs of each algorithm.")] = 5,
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller world, fewer steps.")] = False,
    fresh: Fresh = False,
) -> None:
    """The paper in small: what sharing costs, and how little money makes clients share.

    Fifty clients, three costs of sharing, five algorithms.
    Prints a table for each cost and writes report.html, which works offline.
    """
    with plainly() as screen:
        from ..experiments import demo as paper
        from ..experiments.outputs import publish
        from ..results import compare

        experiment = paper.demo(output, seeds=seeds, quick=quick)
        outcome = _carry_out(screen, experiment, jobs, fresh)
        chapters = paper.chapters(outcome.runs)
        words = paper.intro(experiment)
        with screen.busy("writing the report"):
            report = publish(experiment.output, paper.TITLE, words, chapters)
        for chapter in chapters:
            screen.table(chapter.heading, compare(chapter.runs), chapter.text)
        _close(screen, outcome, {"report": report, "runs": experiment.output / "runs"})
        if outcome.complete:
            screen.hint("Next: open the report in a browser; `incfed init` starts one of your own.")


@app.command(
    epilog="[bold]incfed run incfed.toml[/bold]   on all cores\n\n"
    "[bold]incfed run incfed.toml --seeds 20 --output more[/bold]   more seeds, elsewhere\n\n"
    "[bold]incfed run incfed.toml > table.md[/bold]   the table as Markdown"
)
def run(
    config: Annotated[
        Path, typer.Argument(parser=path, help="A TOML file; `incfed init` writes one.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", parser=path, help="Folder, instead of the config's."),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number, instead of the config's.")
    ] = None,
    jobs: Jobs = None,
    fresh: Fresh = False,
) -> None:
    """Run every algorithm of a config with every seed, and compare them.

    Each run is saved as it finishes: after Ctrl-C, the same command goes on.
    Writes report.html, plots, a summary and all runs to the output folder.
    """
    with plainly() as screen:
        from ..experiments import read
        from ..experiments.outputs import Chapter, draw, intro, matching, publish
        from ..results import compare

        experiment = read(config, seeds=seeds, output=output)
        for line in experiment.world.notes:
            screen.note(line)
        outcome = _carry_out(screen, experiment, jobs, fresh)
        where = {"runs": experiment.output / "runs"}
        if outcome.runs:
            words, text = intro(experiment, outcome), matching(outcome.runs)
            chapter = Chapter("Comparison", outcome.runs, text)
            with screen.busy("drawing plots, writing the report"):
                report = publish(experiment.output, config.stem, words, [chapter])
                plots = draw(experiment.output, outcome.runs)
            screen.table(config.stem, compare(outcome.runs), text)
            where = {"report": report, **({"plots": plots} if plots else {}), **where}
        _close(screen, outcome, where)
        if outcome.complete:
            screen.hint("Next: open the report in a browser; change the config and run it again.")


@app.command(
    epilog="[bold]incfed init study.toml && incfed run study.toml[/bold]\n\n"
    "[bold]incfed init --plan && incfed plan world.toml[/bold]"
)
def init(
    path: Annotated[Path | None, typer.Argument(parser=path, help="Where to write it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="A case for [bold]incfed plan[/bold] instead.")
    ] = False,
) -> None:
    """Write a config with comments: a small experiment that runs as it is."""
    with plainly() as screen:
        from ..experiments.template import NAME, write_template

        if plan:
            place = Path("world.toml") if path is None else path
            written = write_template(place, force=force, room="incfed.planning", name="world.toml")
        else:
            written = write_template(Path(NAME) if path is None else path, force=force)
        then = "plan" if plan else "run"
        screen.say(f"Wrote {written}. Edit it, then: incfed {then} {shlex.quote(str(written))}")


@app.command(
    epilog="[bold]incfed show results[/bold]   the table of an experiment\n\n"
    "[bold]incfed show results/runs/payment-free/seed-0[/bold]   one run"
)
def show(
    folder: Annotated[
        Path, typer.Argument(parser=path, help="A run's folder, or that of an experiment.")
    ],
) -> None:
    """Show a saved run, or the table of an experiment, finished or not."""
    with plainly() as screen:
        from ..experiments.show import show_folder

        show_folder(screen, folder)


def _carry_out(screen: Screen, experiment: Experiment, jobs: int | None, fresh: bool) -> Outcome:
    """Run an experiment under a progress bar; say so and leave if it is interrupted."""
    from ..experiments.experiment import INDEX, OURS
    from ..experiments.runner import plan, run
    from ..support.files import alone_in, claim

    claim(experiment.output, mark=INDEX, ours=OURS)
    with alone_in(experiment.output):
        todo = plan(experiment, jobs=jobs, fresh=fresh)
        screen.plan(todo)
        with screen.progress(len(todo.todo)) as bar:
            outcome = run(todo, progress=bar.update, slow=bar.compiling)
    if outcome.interrupted:
        stopped(screen, outcome.finished, outcome.total, experiment.output)
    screen.failures(outcome.failures)
    return outcome


def _close(screen: Screen, outcome: Outcome, where: dict[str, Path]) -> None:
    """Say where things are, and what went wrong."""
    from ..support.inputs import counted

    screen.places(where)
    if outcome.failures:
        failed = f"{len(outcome.failures)} of {counted(outcome.total, 'run')} failed"
        screen.error(f"{failed}; the others are kept")
        raise typer.Exit(FAILED)
