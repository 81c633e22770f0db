"""Commands for data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import group, option, path, report_errors

data = group("data", "Download data sets.")


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
        Path, option("PATH", "Parent of the release's folder.", "--folder", "-f", parser=path)
    ] = Path("."),
    address: Annotated[
        str | None, option("URL", "Download from a mirror instead of GroupLens.", "--from")
    ] = None,
) -> None:
    """Download a release of MovieLens from GroupLens, check it, and unpack it.

    The folder appears only when it is complete. An archive that is already in the folder is used
    instead of downloading. In a config: kind = "MovieLens", folder = "ml-20m".
    """
    with report_errors() as terminal:
        from ..environments.movielens.download import GROUPLENS, LICENCE, obtain

        with terminal.loading(release) as bar:
            url = GROUPLENS if address is None else address
            where = obtain(release, folder, address=url, progress=bar, say=terminal.note)
        terminal.note(LICENCE)
        terminal.say(f"{where} is ready: incfed.MovieLens({str(where)!r})")
