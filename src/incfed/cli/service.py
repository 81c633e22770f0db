"""A real federation: its coordinator, and the tour."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import FAILED
from .base import app, path, plainly

PANEL = "A real federation"  # of `incfed --help`

ConfigFile = Annotated[
    Path,
    typer.Option("--config", "-c", parser=path, help="The federation's TOML file.", metavar="FILE"),
]
DEFAULT = Path("federation.toml")


@app.command(epilog="[bold]incfed serve --config federation.toml[/bold]", rich_help_panel=PANEL)
def serve(
    config: ConfigFile = DEFAULT,
    host: Annotated[str | None, typer.Option(help="Instead of the config's.")] = None,
    port: Annotated[int | None, typer.Option(help="Instead of the config's.")] = None,
) -> None:
    """Run a coordinator until SIGTERM or Ctrl-C; several may share one PostgreSQL."""
    with plainly():
        from dataclasses import replace

        from ..support.extras import install
        from ..support.places import missing

        try:
            from ..ledger.store import plainly as said_plainly
            from ..service.coordinator.config import read_config
            from ..service.coordinator.serve import preflight
            from ..service.coordinator.serve import serve as run
        except ImportError as error:
            raise missing(error.name or "a package", f"there: {install('service')}") from None
        found = read_config(config)
        changes = {"host": host, "port": port}
        given = {name: value for name, value in changes.items() if value is not None}
        found = replace(found, server=replace(found.server, **given))  # type: ignore[arg-type]
        preflight(found.server)
        with said_plainly():
            run(found)


@app.command(
    epilog="[bold]incfed up[/bold]   a minute and a half, then a summary\n\n"
    "[bold]incfed up --mechanism PaymentFree --clients 8[/bold]   nobody is paid\n\n"
    "[bold]incfed up -o tour[/bold]   twice: the second goes on with the first's federation",
    rich_help_panel=PANEL,
)
def up(
    clients: Annotated[int, typer.Option(metavar="N", help="Example clients.")] = 5,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long.")] = 90.0,
    steps: Annotated[
        int | None, typer.Option(metavar="N", help="End after so many, of all clients together.")
    ] = None,
    pace: Annotated[
        float, typer.Option(metavar="X", help="Steps a second of a client, on average.")
    ] = 3.0,
    mechanism: Annotated[
        str, typer.Option(metavar="KIND", help="PaymentEfficient, PaymentFree or PayEveryone.")
    ] = "PaymentEfficient",
    beta: Annotated[
        float | None, typer.Option(metavar="BETA", help="Of PaymentEfficient; 0.7 if not given.")
    ] = None,
    threshold: Annotated[
        float, typer.Option(metavar="D_C", help="How much news calls for a round.")
    ] = 8.0,
    cost: Annotated[
        float, typer.Option(metavar="COST", help="What sharing costs, give or take a half.")
    ] = 4.0,
    budget: Annotated[float, typer.Option(metavar="X", help="To be paid in all.")] = 100.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Another one: another world.")] = 0,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Of the coordinator; a free one if not given.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            parser=path,
            metavar="FOLDER",
            help="Keep it there, and go on with what is there; else a new temporary one.",
        ),
    ] = None,
) -> None:
    """The two-minute tour: a real coordinator and a few clients on this machine, live.

    Every client is a process with incfed.Client in it, acting in a synthetic world.
    Kill any of them and see: it is started again, and nothing is lost.
    """  # fmt: skip
    with plainly() as screen:
        from importlib.util import find_spec

        from ..support.extras import install
        from ..support.places import missing

        for name in ("httpx", "fastapi", "prometheus_client", "sqlalchemy", "alembic", "uvicorn"):
            if find_spec(name) is None:  # the processes' needs, looked for without loading them
                raise missing(name, f"there: {install('service', 'client')}")
        from ..service.tour.plan import Plan
        from ..service.tour.tour import run

        plan = Plan(
            clients=clients, seconds=seconds, steps=steps, pace=pace, mechanism=mechanism,
            beta=beta, threshold=threshold, cost=cost, budget=budget, seed=seed,
        )  # fmt: skip
        if not run(screen, plan, output, port, ["incfed.cli", "serve", "--config"]):
            raise typer.Exit(FAILED)
