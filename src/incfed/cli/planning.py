"""Before you launch: what it will cost, and which settings to run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import (
    Dask,
    Fresh,
    Jobs,
    OpenConsole,
    Output,
    app,
    flag,
    option,
    path,
    report_errors,
    same_command,
    show_in_console,
)


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
        Path, typer.Argument(parser=path, help="A TOML file; `incfed init --plan` writes one.")
    ],
    minimize: Annotated[str | None, option("AIM", "regret, payment or communication.")] = None,
    maximize: Annotated[str | None, option("AIM", "reward.")] = None,
    budget: Annotated[
        str | None, option("X", "Most to pay in total; 10%: of what paying everyone costs.")
    ] = None,
    max_communication: Annotated[str | None, option("X", "Most numbers to send.")] = None,
    max_regret: Annotated[str | None, option("X", "Largest regret.")] = None,
    min_reward: Annotated[
        str | None, option("X", "Smallest reward; 99%: of what paying everyone gives.")
    ] = None,
    clients_may_lie: Annotated[
        bool,
        flag("--clients-may-lie", "Try only mechanisms with a bound on what lying gains."),
    ] = False,
    trials: Annotated[
        int, option("N", "Settings to try, rounded up to batches of 16.", min=1)
    ] = 160,
    held_out: Annotated[
        int, option("N", "Seeds for the final figures; of a log, worlds, each run 4 times.", min=2)
    ] = 20,
    seed: Annotated[int, option("N", "Seed of the search.", min=0)] = 0,
    output: Output = Path("plan"),
    jobs: Jobs = None,
    dask: Dask = None,
    fresh: Fresh = False,
    open_console: OpenConsole = False,
) -> None:
    """Find settings that fit your limits, and what they will cost.

    Tries mechanisms, triggers and their settings, and gives up poor ones early.
    The figures come from runs that were not used to choose.
    Writes plan.html, run.toml (to simulate the advice) and federation.toml (to serve it).
    Finished runs are kept: after Ctrl-C, run the same command to continue.
    """
    kept = f"finished runs, if any, are kept in {output}; continue with: {same_command()}"
    with report_errors(f"stopped: {kept}") as terminal:
        from ..planning import plan as make_plan
        from ..planning.report import introduce, show_plan, show_progress

        with terminal.counting("settings") as bar:
            made = make_plan(
                world, minimize=minimize, maximize=maximize, budget=budget,
                max_communication=max_communication, max_regret=max_regret,
                min_reward=min_reward, clients_may_lie=clients_may_lie,
                trials=trials, held_out=held_out, seed=seed,
                jobs=jobs, dask=dask, output=output, fresh=fresh,
                progress=lambda now: show_progress(bar, now), slow=bar.compiling,
                begin=lambda case, goal: introduce(terminal, case, goal),
            )  # fmt: skip
        show_plan(terminal, made, output)
        if open_console:
            show_in_console(terminal, output)


@app.command(
    epilog="[bold]incfed estimate --clients 200 --steps 20000 --dim 10 --beta 0.7 --cost 5[/bold]"
)
def estimate(
    clients: Annotated[int, option("N", "Number of clients.", min=1)] = 50,
    steps: Annotated[int, option("T", "Steps of all clients together.", min=2)] = 5000,
    dim: Annotated[int, option("D", "Features of an arm.", min=1)] = 25,
    beta: Annotated[float, option("BETA", "beta of PaymentEfficient, 0 to 1.")] = 1.0,
    cost: Annotated[float, option("COST", "What sharing costs a client.")] = 10.0,
    threshold: Annotated[
        str | None, option("D_C", "D_c: a number, or high, low or theory (the default).")
    ] = None,
    ridge: Annotated[float, option("LAMBDA", "lambda.")] = 0.1,
) -> None:
    """Simulate once, quickly, and print the bounds of the theorems where they say something.

    Rounds, communication and payment are bounded with the constants of the proof;
    for regret, only the growth is known.
    """
    with report_errors() as terminal:
        from ..planning import estimate as make_estimate

        made = make_estimate(
            clients=clients, steps=steps, dim=dim, beta=beta, cost=cost,
            threshold=_threshold(threshold), ridge=ridge,
        )  # fmt: skip
        terminal.say(str(made))


def _threshold(text: str | None) -> float | str | None:
    """A number, or else the name of a formula."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
