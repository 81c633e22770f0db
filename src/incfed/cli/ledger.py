"""The clients of a federation, and its ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import FAILED
from .base import app, path, plainly
from .service import DEFAULT, PANEL, ConfigFile

if TYPE_CHECKING:
    from ..experiments.screen import Screen
    from ..ledger.database import Database
    from ..service.coordinator.config import Config

client = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", help="Enrol clients, revoke them, list them."
)
ledger = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Audit and export what was decided and paid.",
)
app.add_typer(client, name="client", rich_help_panel=PANEL)
app.add_typer(ledger, name="ledger", rich_help_panel=PANEL)


@contextmanager
def _opened(
    path: Path, *, new: bool = False, load: bool = False
) -> Iterator[tuple[Screen, Database, Config]]:
    """The database of a config. `new`: it may be made; `load`: mechanisms of the user's own are
    loaded."""
    with plainly() as screen:
        from ..support.extras import install
        from ..support.places import missing

        try:
            from ..ledger.database import Database
            from ..ledger.database import plainly as said_plainly
            from ..service.coordinator.config import read_config
        except ImportError as error:
            raise missing(error.name or "a package", f"there: {install('service')}") from None
        config = read_config(path, load=load)
        store = Database(config.server.database, new=new)
        try:
            with said_plainly():
                yield screen, store, config
        finally:
            store.close()


@client.command(epilog="[bold]incfed client enrol shop-12[/bold]   prints its token, once")
def enrol(name: Annotated[str, typer.Argument()], config: ConfigFile = DEFAULT) -> None:
    """Enrol a client and print its token. Only a hash of the token is kept."""
    import time

    with _opened(config, new=True, load=True) as (screen, store, found):
        from ..ledger import clients
        from ..ledger.federation import create

        with store.write() as connection:
            create(connection, found.settings, time.time())
            number, token = clients.enrol(connection, name, time.time())
        screen.note(f"Client {number}, {name}. Its token, which cannot be shown again:")
        screen.say(token)


@client.command()
def revoke(name: Annotated[str, typer.Argument()], config: ConfigFile = DEFAULT) -> None:
    """Revoke a client's token. What it shared and was paid stays."""
    import time

    with _opened(config) as (screen, store, _):
        from ..ledger import clients

        with store.write() as connection:
            number = clients.revoke(connection, name, time.time())
        screen.note(f"Client {number}, {name}, is revoked.")


@client.command("list")
def list_clients(config: ConfigFile = DEFAULT) -> None:
    """List all clients: id, name, last seen, and what they were paid."""
    with _opened(config) as (screen, store, _):
        from ..ledger.views import clients_table

        with store.read() as connection:
            screen.say(clients_table(connection))


@ledger.command()
def audit(
    config: ConfigFile = DEFAULT,
    head: Annotated[
        Path | None,
        typer.Option(parser=path, help="A head kept elsewhere, to check against.", metavar="FILE"),
    ] = None,
    mechanism_file: Annotated[
        list[str] | None,
        typer.Option(
            help="Code of a mechanism of your own (a .py file or a module), instead of what the "
            "config names. Repeat it for several.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Recompute every decision, payment and sum.

    Exits with 1 on any disagreement, and with 2 if it cannot audit: a mechanism's code is missing.
    """
    files = mechanism_file or []
    with _opened(config, load=not files) as (screen, store, _):
        from ..ledger.audit import audit as run
        from ..ledger.audit import read_head
        from ..mechanisms.registry import load_code

        for file in files:
            load_code(file, "--mechanism-file", Path())
        saved = None if head is None else read_head(head)
        with store.read() as connection:
            report = run(connection, saved)
        for finding in report.findings:
            screen.error(finding)
        screen.say(report.words)
        if report.proved_from > 1:
            screen.say(
                f"Statistics were pruned: decisions are proved from round {report.proved_from} "
                "on; before it, only that nothing was changed since."
            )
        if not report.clean:
            raise typer.Exit(FAILED)


@ledger.command("head", epilog="[bold]incfed ledger head > /elsewhere/head.json[/bold]")
def show_head(config: ConfigFile = DEFAULT) -> None:
    """Print the last entry's number and hash. Keep them where the database's owner cannot write."""
    with _opened(config) as (screen, store, _):
        from ..ledger.audit import write_head

        with store.read() as connection:
            screen.say(write_head(connection))


@ledger.command(epilog="[bold]incfed ledger export payments.csv[/bold]")
def export(
    path: Annotated[Path, typer.Argument(parser=path, help="Ends in .csv or .parquet.")],
    what: Annotated[str, typer.Option(help="payments, rounds or entries.")] = "payments",
    config: ConfigFile = DEFAULT,
) -> None:
    """Export payments, rounds or entries to a file."""
    with _opened(config) as (screen, store, _):
        from ..ledger.views import export as write
        from ..support.inputs import counted

        with store.read() as connection:
            count = write(connection, path, what)
        screen.note(f"{path}: {counted(count, 'row')}")


@ledger.command(epilog="[bold]incfed ledger prune --before 2026-01-31[/bold]")
def prune(
    before: Annotated[str, typer.Option(help="A day, or a moment, in UTC (ISO 8601).")],
    config: ConfigFile = DEFAULT,
) -> None:
    """Delete what clients uploaded in rounds that ended before; decisions and payments stay."""
    import time
    from datetime import UTC, datetime

    with _opened(config) as (screen, store, _):
        from ..ledger.federation import prune as delete
        from ..support.inputs import refuse

        try:
            moment = datetime.fromisoformat(before)
        except ValueError:
            raise refuse("--before", before, "a day such as 2026-01-31") from None
        at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        with store.write() as connection:
            gone = delete(connection, at.timestamp(), time.time())
        screen.note(f"Deleted: uploads up to round {gone.round}, V_g before epoch {gone.epoch}.")
