"""Shared by all commands: the app, common options, and how errors are reported."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from .._version import __version__
from . import FAILED, REFUSED, STOPPED

if TYPE_CHECKING:
    from ..experiments import Outcome
    from ..experiments.screen import Screen


def path(text: str | Path) -> Path:
    """The path in an argument or option. An empty one would be the current folder: refused."""
    if not str(text).strip():
        raise typer.BadParameter("must be a path, not empty")
    return Path(text)


Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, metavar="N", help="Number of processes (default: one per core)."
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Run on the workers of a Dask scheduler, such as tcp://host:8786."
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue the runs in the folder; refused if there are none."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Repeat all runs, including finished ones.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with [bold]incfed demo[/bold]. "
    "For your own experiment, run [bold]incfed init[/bold], edit the file, and run "
    "[bold]incfed run incfed.toml[/bold].",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"incfed {__version__}")
        raise typer.Exit


@app.callback()
def _incfed(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Simulate, plan and run federated bandits in which clients share when it pays."""


@contextmanager
def plainly() -> Iterator[Screen]:
    """Report input errors in one line, without a traceback."""
    from ..experiments.screen import Screen
    from ..support.inputs import InputError

    screen = Screen()
    try:
        yield screen
    except InputError as error:
        screen.error(str(error))
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        screen.error("stopped")
        raise typer.Exit(STOPPED) from None


def stopped(screen: Screen, finished: int, total: int, folder: Path, *more: str) -> NoReturn:
    """Say how to continue: with the same command and the options `more`."""
    from ..support.inputs import counted

    again = [arg for arg in sys.argv[1:] if arg not in ("--fresh", *more)] + list(more)
    screen.error(
        f"stopped: {finished} of {counted(total, 'run')} finished and kept in {folder}; "
        f"continue with: {shlex.join(['incfed', *again])}"
    )
    raise typer.Exit(STOPPED)


def ended(screen: Screen, outcome: Outcome, folder: Path, *more: str) -> None:
    """Leave with the exit code of runs that were stopped, or of which some failed."""
    if outcome.interrupted:
        stopped(screen, len(outcome.records), outcome.total, folder, *more)
    if outcome.failures:
        raise typer.Exit(FAILED)
