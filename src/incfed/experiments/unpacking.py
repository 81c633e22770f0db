"""Unpacking an archive from elsewhere: what could write outside of its folder, or fill the disk, is
refused before the first file is made."""

from __future__ import annotations

import shutil
import stat
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from ..inputs import InputError, counted

MOST_BYTES = 8 << 30  # unpacked; the largest release of MovieLens has less than 3 GiB
MOST_FILES = 10_000


def unpack(archive: Path, into: Path, *, most_bytes: int = MOST_BYTES) -> None:
    """All files of a zip archive, under `into`. What is there after an error is not complete."""
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
                # Reads no more than the size that was checked, and compares the sums.
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
            raise _hostile(archive, f"{name!r} is there twice")
        seen.add(key)
    total = sum(member.file_size for member in members)
    if total > most_bytes or len(members) > MOST_FILES:
        size = f"{counted(len(members), 'file')} of {counted(total, 'byte')} in all"
        raise _hostile(archive, f"it has {size}")


def _hostile(archive: Path, why: str) -> InputError:
    return InputError(f"{archive} is not unpacked: {why}, which no release of MovieLens does")
