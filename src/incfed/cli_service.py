"""The command line of a real federation: the coordinator, its clients, its ledger."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from .experiments.screen import Screen
    from .ledger.store import Store
    from .service.coordinator.config import Config

FAILED = 1
PANEL = "A real federation"  # of `incfed --help`
NEEDED = "there: pip install 'incfed[service]'"

ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", help="The federation's TOML file.", metavar="FILE")
]
DEFAULT = Path("federation.toml")

client = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
ledger = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
_plainly: list[Callable[[], AbstractContextManager[Screen]]] = []


def mount(app: typer.Typer, plainly: Callable[[], AbstractContextManager[Screen]]) -> None:
    """Add these commands to `app`; `plainly` says errors as all its commands do."""
    _plainly[:] = [plainly]
    epilog = "[bold]incfed serve --config federation.toml[/bold]"
    app.command(epilog=epilog, rich_help_panel=PANEL)(serve)
    app.command(
        rich_help_panel=PANEL,
        epilog="[bold]incfed up[/bold]   a minute and a half, then a summary\n\n"
        "[bold]incfed up --mechanism PaymentFree --clients 8[/bold]   nobody is paid\n\n"
        "[bold]incfed up -o tour[/bold]   twice: the second goes on with the first's federation"
    )(up)
    said = "Enrol clients, revoke them, list them."
    app.add_typer(client, name="client", help=said, rich_help_panel=PANEL)
    said = "Audit and export what was decided and paid."
    app.add_typer(ledger, name="ledger", help=said, rich_help_panel=PANEL)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Screen, Store, Config]]:
    """The database of a config."""
    with _plainly[0]() as screen:
        from .experiments.places import missing

        try:
            from .ledger.store import Store
            from .service.coordinator.config import read_config
        except ImportError as error:
            raise missing(error.name or "a package", NEEDED) from None
        config = read_config(path)
        store = Store(config.server.database)
        try:
            yield screen, store, config
        finally:
            store.close()


def serve(
    config: ConfigFile = DEFAULT,
    host: Annotated[str | None, typer.Option(help="Instead of the config's.")] = None,
    port: Annotated[int | None, typer.Option(help="Instead of the config's.")] = None,
) -> None:
    """Run a coordinator until SIGTERM or Ctrl-C; several may share one PostgreSQL."""
    with _plainly[0]():
        from dataclasses import replace

        from .experiments.places import missing

        try:
            from .service.coordinator.config import read_config
            from .service.coordinator.ready import check
            from .service.coordinator.serve import serve as run
        except ImportError as error:
            raise missing(error.name or "a package", NEEDED) from None
        found = read_config(config)
        changes = {"host": host, "port": port}
        given = {name: value for name, value in changes.items() if value is not None}
        found = replace(found, server=replace(found.server, **given))  # type: ignore[arg-type]
        check(found.server)
        run(found)


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
            metavar="FOLDER",
            help="Keep it there, and go on with what is there; else a new temporary one.",
        ),
    ] = None,
) -> None:
    """The two-minute tour: a real coordinator and a few clients on this machine, live.

    Every client is a process with incfed.Client in it, acting in a synthetic world.
    Kill any of them and see: it is started again, and nothing is lost.
    """  # fmt: skip
    with _plainly[0]() as screen:
        from importlib.util import find_spec

        from .experiments.places import missing

        for name in ("httpx", "fastapi", "prometheus_client", "sqlalchemy", "alembic", "uvicorn"):
            if find_spec(name) is None:  # the processes' needs, looked for without loading them
                raise missing(name, "there: pip install 'incfed[service,client]'")
        from .service.tour.plan import Plan
        from .service.tour.tour import run

        plan = Plan(
            clients=clients, seconds=seconds, steps=steps, pace=pace, mechanism=mechanism,
            beta=beta, threshold=threshold, cost=cost, budget=budget, seed=seed,
        )  # fmt: skip
        if not run(screen, plan, output, port, ["incfed.cli", "serve", "--config"]):
            raise typer.Exit(FAILED)


@client.command(epilog="[bold]incfed client enrol shop-12[/bold]   prints its token, once")
def enrol(name: Annotated[str, typer.Argument()], config: ConfigFile = DEFAULT) -> None:
    """Let a client in: prints the token that it needs. Only a hash of it is kept."""
    import time

    with _opened(config) as (screen, store, found):
        from .ledger import clients
        from .ledger.founding import begin

        with store.write() as connection:
            begin(connection, found.settings, time.time())
            number, token = clients.enrol(connection, name, time.time())
        screen.note(f"Client {number}, {name}. Its token, which cannot be shown again:")
        screen.say(token)


@client.command()
def revoke(name: Annotated[str, typer.Argument()], config: ConfigFile = DEFAULT) -> None:
    """Shut a client out. What it shared and was paid stays."""
    import time

    with _opened(config) as (screen, store, _):
        from .ledger import clients

        with store.write() as connection:
            number = clients.revoke(connection, name, time.time())
        screen.note(f"Client {number}, {name}, is shut out.")


@client.command("list")
def list_clients(config: ConfigFile = DEFAULT) -> None:
    """All clients: id, name, when heard of last, and what they were paid."""
    with _opened(config) as (screen, store, _):
        from .ledger.summary import clients_table

        with store.read() as connection:
            screen.say(clients_table(connection))


@ledger.command()
def audit(
    config: ConfigFile = DEFAULT,
    head: Annotated[
        Path | None, typer.Option(help="A head kept elsewhere, to check against.", metavar="FILE")
    ] = None,
) -> None:
    """Recompute every decision, payment and sum; exits with 1 on any disagreement."""
    with _opened(config) as (screen, store, _):
        from .ledger.audit import audit as run
        from .ledger.audit import read_head

        kept = None if head is None else read_head(head)
        with store.read() as connection:
            report = run(connection, kept)
        for finding in report.findings:
            screen.error(finding)
        screen.say(
            f"{report.entries:,} entries, {report.rounds:,} rounds closed, {report.spent:,.2f} "
            f"paid; {'clean' if report.clean else 'NOT CLEAN'}"
        )
        if report.proved_from > 1:
            screen.say(
                f"Statistics were pruned: decisions are proved from round {report.proved_from} "
                "on; before it, only that nothing was changed since."
            )
        if not report.clean:
            raise typer.Exit(FAILED)


@ledger.command("head", epilog="[bold]incfed ledger head > /elsewhere/head.json[/bold]")
def show_head(config: ConfigFile = DEFAULT) -> None:
    """Print the last entry's number and hash; keep them where the database's owner cannot write."""
    with _opened(config) as (screen, store, _):
        from .ledger.chain import head

        with store.read() as connection:
            screen.say(json.dumps(head(connection)._asdict()))


@ledger.command(epilog="[bold]incfed ledger export payments.csv[/bold]")
def export(
    path: Annotated[Path, typer.Argument(help="Ends in .csv or .parquet.")],
    what: Annotated[str, typer.Option(help="payments, rounds or entries.")] = "payments",
    config: ConfigFile = DEFAULT,
) -> None:
    """Write payments, rounds or entries for finance."""
    with _opened(config) as (screen, store, _):
        from .ledger.export import export as write

        with store.read() as connection:
            count = write(connection, path, what)
        screen.note(f"{path}: {count:,} rows")


@ledger.command(epilog="[bold]incfed ledger prune --before 2026-01-31[/bold]")
def prune(
    before: Annotated[str, typer.Option(help="A day, or a moment, in UTC (ISO 8601).")],
    config: ConfigFile = DEFAULT,
) -> None:
    """Forget what clients uploaded in rounds that ended before; decisions and payments stay."""
    import time
    from datetime import UTC, datetime

    with _opened(config) as (screen, store, _):
        from .inputs import refuse
        from .ledger.pruning import prune as forget

        try:
            moment = datetime.fromisoformat(before)
        except ValueError:
            raise refuse("--before", before, "a day such as 2026-01-31") from None
        at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        with store.write() as connection:
            gone = forget(connection, at.timestamp(), time.time())
        screen.note(f"Forgotten: uploads up to round {gone.round}, V_g before epoch {gone.epoch}.")
