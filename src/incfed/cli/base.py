"""Shared by all commands: the app, common options, and how errors are reported."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._version import __version__
from . import REFUSED, STOPPED

if TYPE_CHECKING:
    from ..support.terminal import Terminal


def path(text: str | Path) -> Path:
    """The path in an argument or option. An empty one would be the current folder: refused."""
    if not str(text).strip():
        raise typer.BadParameter("must be a path, not empty")
    return Path(text)


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option with a value, which is called `metavar` in the help."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


Jobs = Annotated[
    int | None, option("N", "Number of processes (default: one per core).", "--jobs", "-j", min=1)
]
Dask = Annotated[
    str | None,
    option("ADDRESS", "Run on the workers of a Dask scheduler, such as tcp://host:8786."),
]
Seeds = Annotated[int, option("N", "Number of seeds.", min=1)]
Output = Annotated[Path, option("PATH", "Output folder.", "--output", "-o", parser=path)]
Resume = Annotated[
    bool, flag("--resume", "Continue the runs in the folder; refused if there are none.")
]
Fresh = Annotated[bool, flag("--fresh", "Repeat all runs, including finished ones.")]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with [bold]incfed demo[/bold]. "
    "For your own experiment, run [bold]incfed init[/bold], edit the file, and run "
    "[bold]incfed run incfed.toml[/bold].",
)


OpenConsole = Annotated[bool, flag("--open", "Then look at it in a browser: see incfed console.")]


def show_in_console(terminal: Terminal, folder: Path) -> None:
    """Serve what was written to `folder` until Ctrl-C."""
    from ..errors import missing
    from ..support.extras import install

    try:
        from ..console.serve import serve
    except ImportError as error:
        raise missing(error.name or "plotly", f"installed: {install('console')}") from None
    serve(terminal, folder=folder, view="runs?id=.")


def group(name: str, help: str, panel: str | None = None) -> typer.Typer:
    """A command with commands of its own."""
    made = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help=help)
    made.callback(help=help)(lambda: None)  # or typer would drop the name of a single command
    app.add_typer(made, name=name, rich_help_panel=panel)
    return made


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
def report_errors(stopped: str = "stopped") -> Iterator[Terminal]:
    """Report input errors in one line, without a traceback; and Ctrl-C, with the text `stopped`."""
    from ..errors import InputError
    from ..support.terminal import Terminal

    terminal = Terminal()
    try:
        yield terminal
    except InputError as error:
        terminal.error(str(error))
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        terminal.error(stopped)
        raise typer.Exit(STOPPED) from None


def same_command(*more: str) -> str:
    """The command that was called, to continue: without --fresh, and with the options `more`."""
    kept = [arg for arg in sys.argv[1:] if arg not in ("--fresh", *more)]
    return shlex.join(["incfed", *kept, *more])
