"""Experiments: the demo, configs, what was run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .base import Dask, Fresh, Jobs, Resume, app, ended, path, plainly


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
        from ..experiments.runs import run_demo

        ended(screen, *run_demo(screen, output, seeds=seeds, jobs=jobs, quick=quick, fresh=fresh))


@app.command(
    epilog="[bold]incfed run incfed.toml[/bold]   on all cores\n\n"
    "[bold]incfed run incfed.toml --seeds 20 --output more[/bold]   more seeds, elsewhere\n\n"
    "[bold]incfed run incfed.toml --dask tcp://host:8786[/bold]   on a cluster\n\n"
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
    dask: Dask = None,
    resume: Resume = False,
    fresh: Fresh = False,
) -> None:
    """Run every algorithm of a config with every seed, and compare them.

    Each run is saved as it finishes: after Ctrl-C, the same command goes on.
    Writes report.html, plots, a summary and all runs to the output folder.
    """
    with plainly() as screen:
        from ..experiments.runs import run_config

        ended(
            screen,
            *run_config(
                screen,
                config,
                output=output,
                seeds=seeds,
                jobs=jobs,
                dask=dask,
                resume=resume,
                fresh=fresh,
            ),
        )


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
