"""Download, check and unpack a release of MovieLens from GroupLens."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from ...errors import InputError
from ...support.downloads import DownloadError, Progress, download, read_text
from ...support.files import digest
from ...support.inputs import counted
from ...values import Word
from .release import recognise

RELEASES = ("ml-20m", "ml-25m", "ml-32m", "ml-latest", "ml-latest-small", "ml-1m", "ml-100k")
GROUPLENS = "https://files.grouplens.org/datasets/movielens"
MOST_BYTES = 8 << 30  # unpacked; the largest release of MovieLens has less than 3 GiB
MOST_FILES = 10_000
LICENCE = (
    "Licence: for research, not for commercial use. Acknowledge GroupLens (Harper & Konstan 2015), "
    "and read the README in the folder before you redistribute the data."
)


def obtain(
    release: str,
    folder: Path,
    *,
    address: str = GROUPLENS,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """The folder of `release` in `folder`; downloaded from `address` if it does not exist.

    An archive that is already in `folder` is used instead of downloading it.
    """
    Word(RELEASES).of("release", release)
    target = folder / release
    if target.exists():
        recognise(target)  # error if it is something else
        say(f"{target} already exists")
        return target
    with _scratch(folder, release) as scratch:
        archive = folder / f"{release}.zip"
        source = f"{address.rstrip('/')}/{release}.zip"
        if archive.is_file():
            say(f"using {archive}, which already exists")
            _check_sum(archive, say)
        else:
            archive = scratch / archive.name
            try:
                wanted = _sum_in(f"{source}.md5", read_text(f"{source}.md5"))
                download(source, archive, f"md5:{wanted}", progress)
            except DownloadError as error:
                raise _by_hand(error, source, release, folder) from None
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
    """A temporary folder in `folder`; removed at the end, with parents that were created for it."""
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{release}-") as scratch:
            yield Path(scratch)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # not empty: it has the release
            for one in made:
                one.rmdir()


def _check_sum(archive: Path, say: Callable[[str], None]) -> None:
    beside = archive.with_name(f"{archive.name}.md5")
    if not beside.is_file():
        say(f"{beside.name} not found beside it: its checksum is not verified")
        return
    wanted = _sum_in(str(beside), beside.read_text("ascii", "replace"))
    if (found := digest(archive, "md5")) != wanted:
        raise InputError(
            f"{archive.name} is damaged: its MD5 is {found}, must be {wanted}; download it again"
        )


def _sum_in(where: str, text: str) -> str:
    found = re.search(r"\b[0-9a-fA-F]{32}\b", text)
    if not found:
        raise InputError(f"{where} holds no MD5 checksum: got {text[:60]!r}")
    return found[0].lower()


def _by_hand(error: DownloadError, source: str, release: str, folder: Path) -> InputError:
    again = ["incfed", "data", "movielens", release, "--folder", str(folder)]
    return InputError(
        f"{error}\n"
        "Without a network, download it on another machine or with a browser:\n"
        f"  1. download  {source}\n"
        f"         and   {source}.md5\n"
        f"  2. put both into  {folder.absolute()}\n"
        f"  3. run  {shlex.join(again)}"
    )


def unpack(archive: Path, into: Path, *, most_bytes: int = MOST_BYTES) -> None:
    """Unpack a zip archive to `into`. An archive that could write elsewhere or fill the disk is
    refused before the first file is written. After an error, `into` is not complete."""
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            _check(archive, members, most_bytes)
            for member in members:
                target = into / member.filename
                if member.is_dir():
                    target.mkdir(parents=True, exist_ok=True)
                    continue
                target.parent.mkdir(parents=True, exist_ok=True)
                # Reads no more than the size that was checked, and verifies the checksum.
                with opened.open(member) as source, target.open("xb") as file:
                    shutil.copyfileobj(source, file, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise InputError(f"{archive} is not a whole zip archive ({error})") from None
    except OSError as error:
        raise InputError(f"cannot unpack {archive} to {into.parent}: {error.strerror}") from None


def _check(archive: Path, members: list[zipfile.ZipInfo], most_bytes: int) -> None:
    seen = set()
    for member in members:
        name = member.filename
        path = PurePosixPath(name)
        if (
            not path.parts
            or path.is_absolute()
            or ".." in path.parts
            or any(mark in name for mark in '\\:"*?<>|\0')
        ):
            raise _hostile(archive, f"it holds the name {name!r}")
        mode = member.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _hostile(archive, f"{name!r} is neither a file nor a folder")
        if member.flag_bits & 1:
            raise _hostile(archive, f"{name!r} is encrypted")
        key = str(path).casefold()
        if key in seen:
            raise _hostile(archive, f"{name!r} appears twice")
        seen.add(key)
    total = sum(member.file_size for member in members)
    if total > most_bytes or len(members) > MOST_FILES:
        size = f"{counted(len(members), 'file')} of {counted(total, 'byte')} in all"
        raise _hostile(archive, f"it has {size}")


def _hostile(archive: Path, why: str) -> InputError:
    return InputError(f"{archive} is not unpacked: {why}, which no release of MovieLens does")
