"""Experiments: demo, run, sweep, reproduce; init to begin with, show to look at results."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .base import Dask, Fresh, Jobs, Resume, app, ended, path, plainly

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", parser=path, help="Output folder (default: the config's)."),
]
Seeds = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Number of seeds (default: the config's).")
]


@app.command(
    epilog="[bold]incfed demo[/bold]   the full demo\n\n"
    "[bold]incfed demo --quick --output /tmp/try[/bold]   a smaller world, in seconds"
)
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=path, help="Output folder.")
    ] = Path("demo"),
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of seeds.")] = 5,
    jobs: Jobs = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller world, fewer steps.")] = False,
    fresh: Fresh = False,
) -> None:
    """The paper in small: what sharing costs, and how little money makes clients share.

    Fifty clients, three costs of sharing, five algorithms.
    Prints a table for each cost and writes report.html, which works offline.
    """
    with plainly() as screen:
        from ..experiments.engine import Local
        from ..experiments.runs import run_demo

        done = run_demo(screen, output, Local(jobs), seeds=seeds, quick=quick, fresh=fresh)
        ended(screen, *done)


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
    output: Output = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    dask: Dask = None,
    resume: Resume = False,
    fresh: Fresh = False,
) -> None:
    """Run every algorithm of a config with every seed, and compare them.

    Each run is saved as it finishes. After Ctrl-C, the same command continues.
    Writes report.html, plots, a summary and all runs to the output folder.
    """
    with plainly() as screen:
        from ..experiments.engine import executor_for
        from ..experiments.runs import run_config

        done = run_config(
            screen, config, executor_for(jobs, dask),
            output=output, seeds=seeds, resume=resume, fresh=fresh,
        )  # fmt: skip
        ended(screen, *done)


@app.command(
    epilog="[bold]incfed sweep study.toml[/bold]   on all cores\n\n"
    "[bold]incfed sweep study.toml --dask tcp://host:8786[/bold]   on a cluster\n\n"
    "In the config, a table like this one is added to those of [bold]incfed run[/bold]:\n\n"
    r"\[sweep]" + "\n\n"
    r'"world.noise" = \[0.1, 0.3]' + "\n\n"
    r'"algorithm.costs" = \[1, 10, 100]   of every algorithm that has it' + "\n\n"
    r'"algorithm\[paid].mechanism.beta" = \[1.0, 0.7]   of the one with this label' + "\n\n"
    r'"run.steps" = \[1000, 5000]'
)
def sweep(
    config: Annotated[
        Path, typer.Argument(parser=path, help=r"A TOML file with a \[sweep] table.")
    ],
    output: Output = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    dask: Dask = None,
    resume: Resume = False,
    fresh: Fresh = False,
) -> None:
    """Run every combination of some parameters with every seed, here or on a cluster.

    An algorithm that does not have a swept parameter runs once, as it is.
    Each run is saved as it finishes. After Ctrl-C, the same command continues.
    The numbers do not depend on where they were computed.
    """
    with plainly() as screen:
        from ..experiments.engine import executor_for
        from ..experiments.sweeps import sweep_config

        done = sweep_config(
            screen, config, executor_for(jobs, dask),
            output=output, seeds=seeds, resume=resume, fresh=fresh,
        )  # fmt: skip
        ended(screen, *done)


@app.command(
    epilog="[bold]incfed reproduce table1 table5 figure1 --as-published[/bold]   needs no data\n\n"
    "[bold]incfed reproduce all --movielens ml-20m[/bold]   everything\n\n"
    "[bold]incfed reproduce all --quick[/bold]   a first look, in a minute"
)
def reproduce(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="table1 to table6, figure1 to figure4, or all."),
    ],
    movielens: Annotated[
        Path | None,
        typer.Option(
            parser=path,
            metavar="FOLDER",
            help="Unpacked MovieLens data (table2-4, 6, figure3-4).",
        ),
    ] = None,
    min_events: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Users of MovieLens with more events are clients "
            r"\[default: 3000 for ml-20m, as in the paper, else 1000].",
        ),
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="Stale reads: matches the published figures."),
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Number of seeds.")] = 10,
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed, and the beginning of MovieLens.")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=path, help="Output folder.")
    ] = Path("reproduction"),
    jobs: Jobs = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue, and keep the finished runs in the folder.")
    ] = False,
    fresh: Fresh = False,
) -> None:
    """Reproduce the paper's tables and figures, and compare them with the published ones.

    Writes reproduction.html, tables as Markdown and LaTeX, figures as PNG and SVG.
    Each run is saved as it finishes. After Ctrl-C, continue with --resume.
    """
    with plainly() as screen:
        from ..experiments.paper.reproduce import carry_out, request
        from ..experiments.paper.settings import Mode

        mode = Mode(as_published, quick, movielens, min_events)
        asked = request(targets, seeds=seeds, mode=mode)
        done = carry_out(screen, asked, output, jobs=jobs, resume=resume, fresh=fresh)
        ended(screen, done, output, "--resume")


@app.command(
    epilog="[bold]incfed init study.toml && incfed run study.toml[/bold]\n\n"
    "[bold]incfed init --plan && incfed plan world.toml[/bold]"
)
def init(
    path: Annotated[Path | None, typer.Argument(parser=path, help="File to write.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Write a case for [bold]incfed plan[/bold] instead.")
    ] = False,
) -> None:
    """Write a commented config: a small experiment, ready to run."""
    with plainly() as screen:
        from ..experiments.template import NAME, write_template

        if plan:
            place = Path("world.toml") if path is None else path
            written = write_template(place, force=force, room="planning", name="world.toml")
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
        Path, typer.Argument(parser=path, help="The output folder, or the folder of one run.")
    ],
) -> None:
    """Show the results in a folder: one run, an experiment or a sweep, finished or not."""
    with plainly() as screen:
        from ..experiments.show import show_folder

        show_folder(screen, folder)
