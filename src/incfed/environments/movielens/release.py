"""The releases of MovieLens: their files and formats."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import InputError, refuse
from ...support.files import digest
from .tables import ReleaseFile

# By format: the file that identifies it, then the others.
FORMATS = {
    "csv": ("ratings.csv", "movies.csv", "tags.csv"),  # ml-20m and later, ml-latest(-small)
    "ml-1m": ("ratings.dat", "movies.dat"),
    "ml-100k": ("u.data", "u.item", "u.genre"),
}
WANTED = "a folder with an unpacked MovieLens release"


@dataclass(frozen=True)
class Release:
    """A complete folder of a known format."""

    folder: Path
    format: str

    @property
    def ratings(self) -> ReleaseFile:
        path, rows = self.folder / FORMATS[self.format][0], ("userId", "movieId", "rating")
        if self.format == "csv":
            return ReleaseFile(path, rows)
        separator = "::" if self.format == "ml-1m" else "\t"
        return ReleaseFile(path, (*rows, "timestamp"), separator, header=False)

    @cached_property
    def digests(self) -> tuple[str, str]:
        """Hashes of the ratings, and of the other files."""
        try:
            first, *others = (digest(self.folder / name) for name in FORMATS[self.format])
        except OSError as error:
            raise InputError(f"{error.filename}: cannot be read ({error.strerror})") from None
        return first, " ".join([self.format, *others])


def recognise(folder: str | os.PathLike[str]) -> Release:
    """The release in `folder`, recognised by its files."""
    if not isinstance(folder, str | os.PathLike):
        raise refuse("folder", folder, "the path of a folder")
    path = Path(folder)
    if not path.is_dir():
        why = " (this is a file; unpack it)" if path.exists() else " (folder not found)"
        raise refuse("folder", str(folder), WANTED + why)
    format = _format(path)
    if format is None:
        marks = ", ".join(mark for mark, *_ in FORMATS.values())
        inside = [one for one in sorted(path.iterdir()) if one.is_dir() and _format(one)]
        hint = f"; did you mean {str(inside[0])!r}?" if inside else ""
        raise refuse("folder", str(folder), f"{WANTED} (one of {marks} is in it){hint}")
    missing = [name for name in FORMATS[format] if not (path / name).is_file()]
    if missing:
        said = f"{WANTED}, complete: {', '.join(missing)} missing"
        raise refuse("folder", str(folder), said)
    if format == "ml-1m" and (path / "tags.dat").exists():
        raise refuse(
            "folder", str(folder), f"{WANTED}; this seems to be ml-10m, which is not supported"
        )
    return Release(path, format)


def _format(path: Path) -> str | None:
    return next((name for name, (mark, *_) in FORMATS.items() if (path / mark).is_file()), None)
