"""Commands for data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import app, path, plainly

data = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(data, name="data", help="Download data sets.")


@data.callback()
def _data() -> None:
    """Download data sets."""


@data.command(
    epilog="[bold]incfed data movielens ml-latest-small[/bold]   1 MB, for a first try\n\n"
    "[bold]incfed data movielens ml-20m --folder data[/bold]   used by the paper, 190 MB\n\n"
    "Licence: for research, not for commercial use. Acknowledge GroupLens, and read the README "
    "in the folder before you redistribute the data."
)
def movielens(
    release: Annotated[
        str,
        typer.Argument(
            help="ml-20m, ml-25m, ml-32m, ml-latest, ml-latest-small, ml-1m or ml-100k."
        ),
    ],
    folder: Annotated[
        Path,
        typer.Option("--folder", "-f", parser=path, help="Parent of the release's folder."),
    ] = Path("."),
    address: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="Download from a mirror instead of GroupLens."),
    ] = None,
) -> None:
    """Download a release of MovieLens from GroupLens, check it, and unpack it.

    The folder appears only when it is complete. An archive that is already in the folder is used
    instead of downloading. In a config: kind = "MovieLens", folder = "ml-20m".
    """
    with plainly() as screen:
        from ..environments.movielens.download import GROUPLENS, LICENCE, obtain

        with screen.loading(release) as bar:
            where = obtain(
                release,
                folder,
                address=GROUPLENS if address is None else address,
                progress=bar,
                say=screen.note,
            )
        screen.note(LICENCE)
        screen.say(f"{where} is ready: incfed.MovieLens({str(where)!r})")
