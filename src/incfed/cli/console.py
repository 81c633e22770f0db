"""`incfed console`, and the operators who may log in to that of a coordinator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import app, flag, group, option, report_errors
from .ledger import opened
from .service import DEFAULT, PANEL, ConfigFile, service_installed

operator = group(
    "operator", "Manage who may look at a federation, or change it, in the console.", PANEL
)


@app.command(
    epilog="[bold]incfed console[/bold]   runs, sweeps and plans below this folder\n\n"
    "[bold]incfed console results/[/bold]   those of another folder\n\n"
    "[bold]incfed console sqlite:///federation.db[/bold]   a federation",
    rich_help_panel=PANEL,
)
def console(
    what: Annotated[
        str, typer.Argument(metavar="[FOLDER_OR_DATABASE_URL]", help="What to look at.")
    ] = ".",
    port: Annotated[int, option("N", "Port to listen on (default: any free port).")] = 0,
    browser: Annotated[bool, flag("--open/--no-open", "Open it in a browser.")] = True,
) -> None:
    """Look at saved results, or at a federation, in a browser.

    Listens on this machine only, and needs no login: every user of it may
    look. A coordinator serves the same pages under /console, with a login.
    """  # fmt: skip
    with report_errors() as terminal:
        with service_installed("console"):
            from ..console.serve import serve
            from ..ledger.database import Database
        from ..errors import InputError

        if "://" in what:
            store = Database(what, new=False)
            try:
                serve(terminal, store=store, port=port, browser=browser)
            finally:
                store.close()
            return
        folder = Path(what)
        if not folder.is_dir():
            raise InputError(
                f"FOLDER_OR_DATABASE_URL: got {what!r}, must be a folder, or an address such as "
                "sqlite:///federation.db"
            )
        serve(terminal, folder=folder, port=port, browser=browser)


@operator.command(epilog="[bold]incfed operator add ada --role operator[/bold]")
def add(
    name: Annotated[str, typer.Argument(help="A name that no operator has had yet.")],
    role: Annotated[str, option("ROLE", "viewer: may look; operator: may change things, too.")],
    config: ConfigFile = DEFAULT,
) -> None:
    """Add an operator and print the token to log in with. Only a hash of it is kept."""
    import time

    with opened(config) as (terminal, store, _):
        from ..ledger import operators

        with store.write() as connection:
            token = operators.add(connection, name, role, time.time())
        terminal.note(f"Added {name}, {role}. The token, which cannot be shown again:")
        terminal.say(token)


@operator.command()
def revoke(
    name: Annotated[str, typer.Argument(help="As in incfed operator list.")],
    config: ConfigFile = DEFAULT,
) -> None:
    """Revoke an operator's token. Sessions end at once; what was done stays on record."""
    import time

    with opened(config) as (terminal, store, _):
        from ..ledger import operators

        with store.write() as connection:
            operators.revoke(connection, name, time.time())
        terminal.note(f"{name} is revoked.")


@operator.command("list")
def list_operators(config: ConfigFile = DEFAULT) -> None:
    """List the operators."""
    with opened(config) as (terminal, store, _):
        from ..ledger import operators
        from ..results.document import Column, Document, Table, TableRow
        from ..results.terminal import show

        with store.read() as connection:
            found = operators.everyone(connection)
        if not found:
            terminal.note("There is none yet. Add one with: incfed operator add NAME --role viewer")
            return
        rows = [
            TableRow.of(operator.name, operator.role, "revoked" if operator.revoked else "")
            for operator in found
        ]
        columns = tuple(Column(title, "left") for title in ("name", "role", ""))
        show(terminal, Document("", (Table(columns, tuple(rows)),)))
