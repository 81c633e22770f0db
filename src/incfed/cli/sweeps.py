"""Many runs: sweeps, and the paper again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import Dask, Fresh, Jobs, Resume, app, ended, path, plainly


@app.command(
    epilog="[bold]incfed sweep study.toml[/bold]   on all cores\n\n"
    "[bold]incfed sweep study.toml --dask tcp://host:8786[/bold]   on a cluster\n\n"
    "In the config, a table like this one is added to those of [bold]incfed run[/bold]:\n\n"
    r"\[sweep]" + "\n\n"
    r'"world.noise" = \[0.1, 0.3]' + "\n\n"
    r'"algorithm.costs" = \[1, 10, 100]   of every algorithm that takes it' + "\n\n"
    r'"algorithm\[paid].mechanism.beta" = \[1.0, 0.7]   of the one labelled so' + "\n\n"
    r'"run.steps" = \[1000, 5000]'
)
def sweep(
    config: Annotated[
        Path, typer.Argument(parser=path, help=r"A TOML file with a \[sweep] table.")
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
    """Run every combination of some parameters with every seed, here or on a cluster.

    An algorithm that does not take a parameter is left as it is, and runs once.
    Each run is kept as it finishes: after Ctrl-C, the same command goes on.
    The numbers do not depend on who ran them.
    """
    with plainly() as screen:
        from ..experiments.sweeps import sweep_config

        ended(
            screen,
            *sweep_config(
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
            parser=path, metavar="FOLDER", help="MovieLens as unpacked, for table2-4, 6, figure3-4."
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
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How many.")] = 10,
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed, and the beginning of MovieLens.")
    ] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=path, help="Folder for all of it.")
    ] = Path("reproduction"),
    jobs: Jobs = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep finished runs in the folder, and go on.")
    ] = False,
    fresh: Fresh = False,
) -> None:
    """Run the paper's tables and figures again, and set them beside the published ones.

    Writes reproduction.html, tables as Markdown and LaTeX, figures as PNG and SVG.
    Each run is kept as it finishes: after Ctrl-C, --resume goes on.
    """
    with plainly() as screen:
        from ..experiments.paper.reproduce import carry_out, request
        from ..experiments.paper.settings import Mode

        mode = Mode(as_published, quick, movielens, min_events)
        asked = request(targets, seeds=seeds, mode=mode)
        done = carry_out(screen, asked, output, jobs=jobs, resume=resume, fresh=fresh)
        ended(screen, done, output, "--resume")
