"""`incfed serve` and `incfed up`."""

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
    host: Annotated[
        str | None, typer.Option(help="Address to listen on; overrides the config.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port to listen on; overrides the config.")
    ] = None,
) -> None:
    """Run a coordinator until SIGTERM or Ctrl-C. Several can share one PostgreSQL database."""
    with plainly():
        from dataclasses import replace

        from ..support.extras import install
        from ..support.places import missing

        try:
            from ..ledger.database import plainly as said_plainly
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
    epilog="[bold]incfed up[/bold]   90 seconds, then a summary\n\n"
    "[bold]incfed up --mechanism PaymentFree --clients 8[/bold]   without payments\n\n"
    "[bold]incfed up -o tour[/bold]   run twice: the second run continues the first",
    rich_help_panel=PANEL,
)
def up(
    clients: Annotated[int, typer.Option(metavar="N", help="Number of clients.")] = 5,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long to run.")] = 90.0,
    steps: Annotated[
        int | None, typer.Option(metavar="N", help="Stop after N steps of all clients together.")
    ] = None,
    pace: Annotated[
        float, typer.Option(metavar="X", help="Average steps per second of a client.")
    ] = 3.0,
    mechanism: Annotated[
        str, typer.Option(metavar="KIND", help="PaymentEfficient, PaymentFree or PayEveryone.")
    ] = "PaymentEfficient",
    beta: Annotated[
        float | None,
        typer.Option(metavar="BETA", help="Beta of PaymentEfficient; 0.7 if not given."),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(metavar="D_C", help="How much a client learns before it asks for a round."),
    ] = 8.0,
    cost: Annotated[
        float, typer.Option(metavar="COST", help="Average price of a client's data.")
    ] = 4.0,
    budget: Annotated[float, typer.Option(metavar="X", help="Most to pay in total.")] = 100.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the synthetic world.")] = 0,
    port: Annotated[
        int | None,
        typer.Option(metavar="N", help="Port of the coordinator; any free port if not given."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            parser=path,
            metavar="FOLDER",
            help="Folder, new or of an earlier run to continue; a temporary one if not given.",
        ),
    ] = None,
) -> None:
    """Watch a federation: a coordinator and a few clients on this machine.

    Every client is a process that uses incfed.Client in a synthetic world.
    Kill any of them: it is restarted, and nothing is lost.
    """  # fmt: skip
    with plainly() as screen:
        from importlib.util import find_spec

        from ..support.extras import install
        from ..support.places import missing

        for name in ("httpx", "fastapi", "prometheus_client", "sqlalchemy", "alembic", "uvicorn"):
            if find_spec(name) is None:  # the processes' needs, looked for without loading them
                raise missing(name, f"there: {install('service', 'client')}")
        from ..service.tour.options import TourOptions
        from ..service.tour.tour import run

        options = TourOptions(
            clients=clients, seconds=seconds, steps=steps, pace=pace, mechanism=mechanism,
            beta=beta, threshold=threshold, cost=cost, budget=budget, seed=seed,
        )  # fmt: skip
        if not run(screen, options, output, port, ["incfed.cli", "serve", "--config"]):
            raise typer.Exit(FAILED)
