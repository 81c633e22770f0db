"""A release of MovieLens from GroupLens: downloaded, checked, unpacked; all of it or nothing."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..environments.movielens_files import recognise
from ..inputs import InputError, choice
from .downloading import Progress, Unreachable, download, read_text
from .unpacking import unpack

RELEASES = ("ml-20m", "ml-25m", "ml-32m", "ml-latest", "ml-latest-small", "ml-1m", "ml-100k")
GROUPLENS = "https://files.grouplens.org/datasets/movielens"
LICENCE = (
    "Licence: for research, not for commercial use; acknowledge GroupLens (Harper & Konstan 2015), "
    "and see the README in the folder before you pass any of it on."
)


def obtain(
    release: str,
    folder: Path,
    *,
    address: str = GROUPLENS,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """The folder of `release` within `folder`; fetched from `address` if it is not there yet.

    An archive that lies in `folder` already is used instead of downloading it.
    """
    choice("release", release, RELEASES)
    target = folder / release
    if target.exists():
        recognise(target)  # refused, if it is something else
        say(f"{target} is already there")
        return target
    with _scratch(folder, release) as scratch:
        archive = folder / f"{release}.zip"
        source = f"{address.rstrip('/')}/{release}.zip"
        if archive.is_file():
            say(f"using {archive}, which is already there")
            wanted = _sum_beside(archive)
        else:
            archive = scratch / archive.name
            try:
                wanted = _sum_in(f"{source}.md5", read_text(f"{source}.md5"))
                download(source, archive, progress)
            except Unreachable as error:
                raise _by_hand(error, source, release, folder) from None
        if wanted is None:
            say(f"{archive.name}.md5 is not beside it, so its checksum is not checked")
        elif (found := _md5(archive)) != wanted:
            raise InputError(
                f"{archive.name} is damaged: its MD5 is {found}, must be {wanted}; "
                "fetch it again (nothing was kept of a download)"
            )
        unpack(archive, scratch / "unpacked")
        whole = scratch / "unpacked" / release
        try:
            recognise(whole)
        except InputError:
            raise InputError(f"{archive.name} does not hold a whole {release}") from None
        os.replace(whole, target)
    return target


@contextmanager
def _scratch(folder: Path, release: str) -> Iterator[Path]:
    """A folder for half-finished things; it goes, and so does what was made to hold it."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{release}-") as scratch:
            yield Path(scratch)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # not empty: the release is in it
            for one in made:
                one.rmdir()


def _md5(path: Path) -> str:
    with path.open("rb") as file:  # against damage, which is what GroupLens publishes it for
        digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False))
    return digest.hexdigest()


def _sum_beside(archive: Path) -> str | None:
    beside = archive.with_name(f"{archive.name}.md5")
    return _sum_in(str(beside), beside.read_text("ascii", "replace")) if beside.is_file() else None


def _sum_in(where: str, text: str) -> str:
    found = re.search(r"\b[0-9a-fA-F]{32}\b", text)
    if not found:
        raise InputError(f"{where} holds no MD5 checksum, but {text[:60]!r}")
    return found[0].lower()


def _by_hand(error: Unreachable, source: str, release: str, folder: Path) -> InputError:
    again = ["incfed", "data", "movielens", release, "--folder", str(folder)]
    return InputError(
        f"{error}\n"
        "Where there is no network, fetch it with another machine or a browser:\n"
        f"  1. download  {source}\n"
        f"         and   {source}.md5\n"
        f"  2. put both into  {folder.absolute()}\n"
        f"  3. then  {shlex.join(again)}"
    )
