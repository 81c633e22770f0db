"""The clients of a federation, and its ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import FAILED
from .base import flag, group, option, path, report_errors
from .service import DEFAULT, PANEL, ConfigFile, service_installed

if TYPE_CHECKING:
    from ..ledger.database import Database
    from ..ledger.withdrawal import Withdrawn
    from ..service.coordinator.config import Config
    from ..support.terminal import Terminal

MECHANISM_FILE = (
    "Code of a mechanism of your own (a .py file or a module), instead of what the config names. "
    "Repeat it for several."
)

FULL = "full"  # of `export`: all tables, for an audit without the database

client = group("client", "Enrol clients, revoke them, withdraw what they shared, list them.", PANEL)
ledger = group("ledger", "Audit and export what was decided and paid.", PANEL)


@contextmanager
def opened(
    path: Path, *, new: bool = False, load: bool = False
) -> Iterator[tuple[Terminal, Database, Config]]:
    """The database of a config. `new`: create it if it does not exist; `load`: load mechanisms of
    the user's own."""
    with report_errors() as terminal:
        with service_installed():
            from ..ledger.database import Database, translate_errors
            from ..service.coordinator.config import read_config
        config = read_config(path, load=load)
        with closing(Database(config.server.database, new=new)) as store, translate_errors():
            yield terminal, store, config


@contextmanager
def _exported(path: Path) -> Iterator[tuple[Terminal, Database, None]]:
    """A database filled with what `export full` wrote."""
    with report_errors() as terminal:
        with service_installed():
            from ..ledger.full_export import reading
        with reading(path) as store:
            yield terminal, store, None


def _note(store: Database, note: Callable[[Any], None]) -> None:
    """In a transaction, for the console. Whoever may only read the database can go on without."""
    from contextlib import suppress

    from ..ledger.database import DatabaseError

    with suppress(DatabaseError), store.write() as connection:
        note(connection)


@client.command(epilog="[bold]incfed client enrol shop-12[/bold]   prints its token, once")
def enrol(
    name: Annotated[str, typer.Argument(help="The client.")], config: ConfigFile = DEFAULT
) -> None:
    """Enrol a client and print its token. Only a hash of the token is kept."""
    import time

    with opened(config, new=True, load=True) as (terminal, store, found):
        from ..ledger import clients
        from ..ledger.federation import create

        with store.write() as connection:
            create(connection, found.settings, time.time())
            number, token = clients.enrol(connection, name, time.time())
        terminal.note(f"Client {number}, {name}. Its token, which cannot be shown again:")
        terminal.say(token)


@client.command()
def revoke(
    who: Annotated[str, typer.Argument(metavar="ID", help="Its id, or its name.")],
    config: ConfigFile = DEFAULT,
) -> None:
    """Revoke a client's token. What it shared and was paid stays."""
    import time

    with opened(config) as (terminal, store, _):
        from ..ledger import clients
        from ..ledger.federation import too_small

        with store.write() as connection:
            member = clients.revoke(connection, who, time.time())
            small = too_small(connection)
        terminal.note(f"Client {member.id}, {member.name}, is revoked.")
        if small:
            terminal.note(f"warning: {small}")


@client.command("reset-key")
def reset_key(
    who: Annotated[str, typer.Argument(metavar="ID", help="Its id, or its name.")],
    config: ConfigFile = DEFAULT,
) -> None:
    """Forget the key of a client that has lost it. The next one that it sends is registered."""
    import time

    with opened(config) as (terminal, store, _):
        from ..ledger import clients

        with store.write() as connection:
            member = clients.reset_key(connection, who, time.time())
        terminal.note(f"Client {member.id}, {member.name}, may register another key.")


@client.command(epilog="[bold]incfed client withdraw 12[/bold]   takes out what client 12 shared")
def withdraw(
    who: Annotated[str, typer.Argument(metavar="ID", help="Its id, or its name.")],
    partial: Annotated[
        bool, flag("--partial", "Of what it shared, leave in what was pruned.")
    ] = False,
    wait: Annotated[
        float, option("SECONDS", "How long to wait for the end of a round.", min=0.0)
    ] = 60.0,
    config: ConfigFile = DEFAULT,
) -> None:
    """Take all that a client has shared out of the model. What it was paid stays.

    Its token stays valid: to keep it from sharing again, revoke it first.
    """
    with opened(config) as (terminal, store, _):
        from ..ledger import clients
        from ..support.inputs import counted

        with store.read() as connection:
            member = clients.find(connection, who)
        done = _withdraw(store, member.id, partial, wait)
        rounds = counted(len(done.rounds), "round")
        terminal.note(
            f"Client {member.id}, {member.name}: {counted(done.steps, 'observation')} of {rounds} "
            f"taken out. Epoch {done.epoch} has the corrected model."
        )
        if done.pruned:
            terminal.note(
                f"What it shared in {counted(len(done.pruned), 'round')} up to {done.pruned[-1]} "
                "was pruned, and stays in the model."
            )


def _withdraw(store: Database, client: int, partial: bool, wait: float) -> Withdrawn:
    """Between two rounds: tries again until then."""
    import time

    from ..ledger.database import notify
    from ..ledger.withdrawal import RoundInProgress, withdraw

    end = time.monotonic() + wait
    while True:
        try:
            with store.write() as connection:
                done = withdraw(connection, client, time.time(), partial=partial)
                notify(connection, store.name)
            return done
        except RoundInProgress:
            if time.monotonic() >= end:
                raise
        time.sleep(0.1)


@client.command("list")
def list_clients(config: ConfigFile = DEFAULT) -> None:
    """List all clients: id, name, last seen, and what they were paid. CSV, if piped."""
    with opened(config) as (terminal, store, _):
        from ..ledger.views import clients_listing
        from ..results.listing import show_listing

        with store.read() as connection:
            show_listing(terminal, clients_listing(connection))


@ledger.command()
def audit(
    config: ConfigFile = DEFAULT,
    head: Annotated[
        Path | None, option("FILE", "A head kept elsewhere, to check against.", parser=path)
    ] = None,
    mechanism_file: Annotated[list[str] | None, option("FILE", MECHANISM_FILE)] = None,
    export: Annotated[
        Path | None,
        option("FILE", "What `export full` wrote, instead of the database.", parser=path),
    ] = None,
) -> None:
    """Recompute every decision, payment and sum, and verify every signature.

    Exits with 1 on any disagreement, and with 2 if it cannot audit: a mechanism's code is missing.
    """
    import time

    files = mechanism_file or []
    found = opened(config, load=not files) if export is None else _exported(export)
    with found as (terminal, store, _):
        from ..ledger.audit import audit as run
        from ..ledger.audit import read_head
        from ..ledger.audits import record
        from ..mechanisms.registry import MECHANISMS

        for file in files:
            MECHANISMS.load_code(file, "--mechanism-file", Path())
        saved = None if head is None else read_head(head)
        with store.read() as connection:
            report = run(connection, saved)
        if export is None:
            _note(store, lambda connection: record(connection, report, time.time()))
        for finding in report.findings:
            terminal.error(finding)
        terminal.say(report.words)
        if report.proved_from > 1:
            terminal.say(
                f"Statistics were pruned: decisions are proved from round {report.proved_from} "
                "on; before it, only that nothing was changed since."
            )
        if not report.clean:
            raise typer.Exit(FAILED)


@ledger.command("head", epilog="[bold]incfed ledger head > /elsewhere/head.json[/bold]")
def show_head(config: ConfigFile = DEFAULT) -> None:
    """Print the last entry's number and hash. Keep them where the database's owner cannot write."""
    import time

    with opened(config) as (terminal, store, _):
        from ..ledger.audit import write_head
        from ..ledger.overview import HEAD, note_chore

        with store.read() as connection:
            terminal.say(write_head(connection))
        _note(store, lambda connection: note_chore(connection, HEAD, "saved", time.time()))


@ledger.command(epilog="[bold]incfed ledger verify sqlite:///copy.db --folder state[/bold]")
def verify(
    source: Annotated[
        str,
        typer.Argument(
            help="The coordinator (https://...), a database (sqlite:///...) or an export."
        ),
    ],
    folder: Annotated[Path, option("FOLDER", "The state folder of the client.", parser=path)],
    token_file: Annotated[
        Path | None, option("FILE", "The client's token, for a coordinator.", parser=path)
    ] = None,
    ca: Annotated[
        Path | None, option("FILE", "Certificates to trust, for a coordinator.", parser=path)
    ] = None,
) -> None:
    """Prove that a ledger holds what a client did, once and unchanged, and extends what it saw.

    Exits with 1 if it does not, and with 2 if it cannot tell.
    """
    with report_errors() as terminal, service_installed():
        from ..errors import refuse
        from ..ledger.database import translate_errors
        from ..service.client.verification import over_http, verify_folder

        if source.startswith(("http://", "https://")):
            if token_file is None or not token_file.is_file():
                given = token_file and str(token_file)
                raise refuse("--token-file", given, "a file with the client's token")
            token = token_file.read_text(encoding="utf-8").strip()
            certificates = None if ca is None else str(ca)
            verdict = verify_folder(folder, over_http(source, token, ca=certificates))
        else:
            from ..ledger.database import Database
            from ..ledger.full_export import SUFFIX, reading
            from ..ledger.proofs import LedgerTree
            from ..service.client.verification import client_of

            tree, client = LedgerTree(), client_of(folder)
            exported = source.endswith(SUFFIX)
            kept = reading(Path(source)) if exported else closing(Database(source, new=False))
            with kept as store, translate_errors(), store.read() as connection:
                verdict = verify_folder(
                    folder, lambda since, round: tree.prove(connection, client, since, round)
                )
        for finding in verdict.findings:
            terminal.error(finding)
        terminal.say(verdict.words)
        if verdict.findings:
            raise typer.Exit(FAILED)


@ledger.command(
    epilog="[bold]incfed ledger export payments[/bold]   a table\n\n"
    "[bold]incfed ledger export rounds rounds.parquet[/bold]   to a file\n\n"
    "[bold]incfed ledger export full ledger.jsonl[/bold]   all that an audit needs"
)
def export(
    kind: Annotated[
        str, typer.Argument(help="payments, offers, rounds or entries; or full, for an audit.")
    ],
    file: Annotated[
        Path | None,
        typer.Argument(parser=path, help="Ends in .csv or .parquet; that of full, in .jsonl."),
    ] = None,
    config: ConfigFile = DEFAULT,
) -> None:
    """Export payments, offers, rounds or entries: to a file, or as a table (CSV, if piped)."""
    with opened(config) as (terminal, store, _):
        from ..errors import missing
        from ..ledger.full_export import SUFFIX, write_full
        from ..ledger.views import TABLES, listing
        from ..ledger.views import export as write
        from ..results.listing import show_listing
        from ..support.inputs import counted
        from ..values import Word

        Word((*TABLES, FULL)).of("kind", kind)
        if kind == FULL and file is None:
            raise missing("file", f"a name that ends in {SUFFIX}, for a full export")
        with store.read() as connection:
            if file is None:
                show_listing(terminal, listing(connection, kind))
                return
            count = write_full(connection, file) if kind == FULL else write(connection, file, kind)
        terminal.note(f"{file}: {counted(count, 'row')}")


@ledger.command("paid-out", epilog='[bold]incfed ledger paid-out shop-12 --by "Ann Lee"[/bold]')
def mark_paid_out(
    who: Annotated[str, typer.Argument(metavar="ID", help="Its id, or its name.")],
    by: Annotated[str, typer.Option(help="Who paid.")],
    round: Annotated[int | None, option("N", "Only the payment for this round.")] = None,
    through: Annotated[int | None, option("N", "Only up to this round.")] = None,
    config: ConfigFile = DEFAULT,
) -> None:
    """Mark a client's payments as paid out: all that are not marked yet, or some. Marks stay."""
    import time

    with opened(config) as (terminal, store, _):
        from ..errors import refuse
        from ..ledger.payouts import mark_paid_out as mark
        from ..support.inputs import counted

        if round is not None and through is not None:
            raise refuse("--through", through, "left out with --round")
        with store.write() as connection:
            done = mark(connection, who, by, time.time(), round=round, through=through)
        paid = counted(len(done.rounds), "payment")
        terminal.note(f"{done.name}: {paid}, {done.amount:,} in all, marked as paid out by {by}.")


@ledger.command(epilog="[bold]incfed ledger prune --before 2026-01-31[/bold]")
def prune(
    before: Annotated[str, typer.Option(help="A day, or a moment, in UTC (ISO 8601).")],
    config: ConfigFile = DEFAULT,
) -> None:
    """Delete the uploads of rounds that ended before a date. Decisions and payments stay."""
    import time
    from datetime import UTC, datetime

    with opened(config) as (terminal, store, _):
        from ..errors import refuse
        from ..ledger.federation import prune as delete

        try:
            moment = datetime.fromisoformat(before)
        except ValueError:
            raise refuse("--before", before, "a day such as 2026-01-31") from None
        at = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        with store.write() as connection:
            gone = delete(connection, at.timestamp(), time.time())
        terminal.note(f"Deleted: uploads up to round {gone.round}, V_g before epoch {gone.epoch}.")
