"""Data sets to run on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import app, path, plainly

data = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
app.add_typer(data, name="data", help="Fetch data sets to run on.")


@data.callback()
def _data() -> None:
    """Fetch data sets to run on."""


@data.command(
    epilog="[bold]incfed data movielens ml-latest-small[/bold]   1 MB, to try it out\n\n"
    "[bold]incfed data movielens ml-20m --folder data[/bold]   the paper's, 190 MB\n\n"
    "Licence: for research, not for commercial use; acknowledge GroupLens, and see the README "
    "in the folder before you pass any of it on."
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
        typer.Option("--folder", "-f", parser=path, help="Where the release's own folder is made."),
    ] = Path("."),
    address: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="A mirror, instead of GroupLens."),
    ] = None,
) -> None:
    """Download a release of MovieLens from GroupLens, check it, and unpack it.

    It is there whole or not at all. An archive that lies in the folder already is used instead
    of the network. In a config: kind = "MovieLens", folder = "ml-20m".
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
