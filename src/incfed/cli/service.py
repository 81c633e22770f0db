"""`incfed serve` and `incfed up`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from . import FAILED
from .base import app, option, path, report_errors

FOLDER = "Folder, new or of an earlier run to continue (default: a temporary one)."
PANEL = "A real federation"  # of `incfed --help`

ConfigFile = Annotated[
    Path, option("FILE", "The federation's TOML file.", "--config", "-c", parser=path)
]
DEFAULT = Path("federation.toml")


@contextmanager
def service_installed(extra: str = "service") -> Iterator[None]:
    """Say how to install what an import of the service lacks."""
    from ..errors import missing
    from ..support.extras import install

    try:
        yield
    except ImportError as error:
        raise missing(error.name or "a package", f"installed: {install(extra)}") from None


@app.command(epilog="[bold]incfed serve --config federation.toml[/bold]", rich_help_panel=PANEL)
def serve(
    config: ConfigFile = DEFAULT,
    host: Annotated[
        str | None, option("HOST", "Address to listen on (default: the config's).")
    ] = None,
    port: Annotated[int | None, option("N", "Port to listen on (default: the config's).")] = None,
) -> None:
    """Run a coordinator until SIGTERM or Ctrl-C. Several can share one PostgreSQL database."""
    with report_errors():
        from dataclasses import replace

        with service_installed():
            from ..ledger.database import translate_errors
            from ..service.coordinator.config import read_config
            from ..service.coordinator.serve import preflight
            from ..service.coordinator.serve import serve as run
        found = read_config(config)
        changes = {"host": host, "port": port}
        given = {name: value for name, value in changes.items() if value is not None}
        found = replace(found, server=replace(found.server, **given))  # type: ignore[arg-type]
        preflight(found.server)
        with translate_errors():
            run(found)


@app.command(
    epilog="[bold]incfed up[/bold]   90 seconds, then a summary\n\n"
    "[bold]incfed up --mechanism PaymentFree --clients 8[/bold]   without payments\n\n"
    "[bold]incfed up -o tour[/bold]   run twice: the second run continues the first",
    rich_help_panel=PANEL,
)
def up(
    clients: Annotated[int, option("N", "Number of clients.")] = 5,
    seconds: Annotated[float, option("S", "How long to run.")] = 90.0,
    steps: Annotated[int | None, option("N", "Stop after N steps of all clients together.")] = None,
    pace: Annotated[float, option("X", "Average steps per second of a client.")] = 3.0,
    mechanism: Annotated[
        str, option("KIND", "A built-in mechanism, such as PaymentFree or Truthful.")
    ] = "PaymentEfficient",
    beta: Annotated[
        float | None, option("BETA", "For PaymentEfficient, CostAware and Exact (default: 0.7).")
    ] = None,
    threshold: Annotated[
        float, option("D_C", "How much a client learns before it asks for a round.")
    ] = 8.0,
    cost: Annotated[float, option("COST", "Average price of a client's data.")] = 4.0,
    budget: Annotated[float, option("X", "Most to pay in total.")] = 100.0,
    seed: Annotated[int, option("N", "Seed of the synthetic world.")] = 0,
    port: Annotated[
        int | None, option("N", "Port of the coordinator (default: any free port).")
    ] = None,
    output: Annotated[Path | None, option("FOLDER", FOLDER, "--output", "-o", parser=path)] = None,
) -> None:
    """Watch a federation: a coordinator and a few clients on this machine.

    Every client is a process that uses incfed.Client in a synthetic world.
    Kill any of them: it is restarted, and nothing is lost.
    """  # fmt: skip
    with report_errors() as terminal:
        from importlib.util import find_spec

        from ..errors import missing
        from ..support.extras import install

        for name in ("httpx", "fastapi", "prometheus_client", "sqlalchemy", "alembic", "uvicorn"):
            if find_spec(name) is None:  # the processes' needs, looked for without loading them
                raise missing(name, f"installed: {install('service', 'client')}")
        from ..service.tour.options import TourOptions
        from ..service.tour.tour import run

        options = TourOptions(
            clients=clients, seconds=seconds, steps=steps, pace=pace, mechanism=mechanism,
            beta=beta, threshold=threshold, cost=cost, budget=budget, seed=seed,
        )  # fmt: skip
        if not run(terminal, options, output, port, ["incfed.cli", "serve", "--config"]):
            raise typer.Exit(FAILED)
