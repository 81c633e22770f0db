"""Before you launch: what it will cost, and which settings to run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from . import STOPPED
from .base import Dask, Fresh, Jobs, app, path, plainly


@app.command(
    epilog="[bold]incfed plan world.toml --budget 10000 --max-communication 5e6 --minimize regret"
    "[/bold]\n\n"
    "[bold]incfed plan world.toml --min-reward 99% --minimize payment[/bold]   99 % of what "
    "paying everyone gives\n\n"
    "The file describes your world and what sharing costs:\n\n"
    r'costs = 100   or \[10, 25, ...], or { kind = "lognormal", median = 100, spread = 2 }'
    "\n\n"
    r"\[run]" + "\n\n"
    "steps = 5000\n\n"
    r"\[world]" + "\n\n"
    'kind = "Synthetic"   or a log: Trace, ReplayLog, MovieLens\n\n'
    "clients = 50"
)
def plan(
    world: Annotated[
        Path,
        typer.Argument(
            parser=path,
            help="A TOML file; `incfed init --plan` writes one.",
        ),
    ],
    minimize: Annotated[
        str | None,
        typer.Option(metavar="AIM", help="regret, payment or communication."),
    ] = None,
    maximize: Annotated[str | None, typer.Option(metavar="AIM", help="reward.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="X", help="The most you pay; 10%: of paying everyone."),
    ] = None,
    max_communication: Annotated[
        str | None, typer.Option(metavar="X", help="The most numbers sent.")
    ] = None,
    max_regret: Annotated[str | None, typer.Option(metavar="X", help="The most regret.")] = None,
    min_reward: Annotated[
        str | None,
        typer.Option(metavar="X", help="The least reward; 99%: of what paying everyone gives."),
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, metavar="N", help="Settings to try, rounded up to batches of 16.")
    ] = 160,
    held_out: Annotated[
        int,
        typer.Option(
            "--held-out",
            min=2,
            metavar="N",
            help="Seeds for the final figures.",
        ),
    ] = 20,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the search.")] = 0,
    output: Annotated[
        Path, typer.Option("--output", "-o", parser=path, help="Folder for the plan.")
    ] = Path("plan"),
    jobs: Jobs = None,
    dask: Dask = None,
    fresh: Fresh = False,
) -> None:
    """Find settings that fit your limits, and what they will cost.

    Tries mechanisms, beta, D_c and lambda, and gives up poor ones early.
    The figures come from runs that were not used to choose.
    Writes plan.html, run.toml (to simulate the advice) and federation.toml (to serve it).
    Finished runs are kept: after Ctrl-C, run the same command to continue.
    """
    with plainly() as screen:
        from ..planning import plan as make_plan
        from ..planning.report import plan_document
        from ..planning.terminal import introduce, show_files, show_progress

        try:
            with screen.counting("settings") as bar:
                made = make_plan(
                    world, minimize=minimize, maximize=maximize, budget=budget,
                    max_communication=max_communication, max_regret=max_regret,
                    min_reward=min_reward, trials=trials, held_out=held_out, seed=seed,
                    jobs=jobs, dask=dask, output=output, fresh=fresh,
                    progress=lambda now: show_progress(bar, now), slow=bar.compiling,
                    begin=lambda case, goal: introduce(screen, case, goal),
                )  # fmt: skip
        except KeyboardInterrupt:
            again = shlex.join(["incfed", *(arg for arg in sys.argv[1:] if arg != "--fresh")])
            screen.error(f"stopped: finished runs are kept in {output}; continue with: {again}")
            raise typer.Exit(STOPPED) from None
        screen.show(plan_document(made))
        show_files(screen, made, output)


@app.command(
    epilog="[bold]incfed estimate --clients 200 --steps 20000 --dim 10 --beta 0.7 --cost 5[/bold]"
)
def estimate(
    clients: Annotated[int, typer.Option(min=1, metavar="N", help="Number of clients.")] = 50,
    steps: Annotated[
        int, typer.Option(min=2, metavar="T", help="Steps of all clients together.")
    ] = 5000,
    dim: Annotated[int, typer.Option(min=1, metavar="D", help="Features of an arm.")] = 25,
    beta: Annotated[
        float,
        typer.Option(metavar="BETA", help="beta of PaymentEfficient, 0 to 1."),
    ] = 1.0,
    cost: Annotated[
        float, typer.Option(metavar="COST", help="What sharing costs a client.")
    ] = 10.0,
    threshold: Annotated[
        float | None, typer.Option(metavar="D_C", help="D_c; the theorem's own if not given.")
    ] = None,
    ridge: Annotated[float, typer.Option(metavar="LAMBDA", help="lambda.")] = 0.1,
) -> None:
    """Compare the bounds of the theorems with one quick simulation.

    Rounds, communication and payment are bounded with the constants of the proof;
    for regret, only the growth is known.
    """
    with plainly() as screen:
        from ..planning import estimate as make_estimate

        made = make_estimate(
            clients=clients, steps=steps, dim=dim, beta=beta, cost=cost, threshold=threshold,
            ridge=ridge,
        )  # fmt: skip
        screen.say(str(made))
