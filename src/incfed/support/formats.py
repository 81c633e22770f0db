"""Files of other versions of incfed: refused in one sentence that names the version that reads
them, and left as they are."""

from __future__ import annotations

from pathlib import Path

from .inputs import InputError

LAST = "0.2.0"  # the last version whose files do not all say what wrote them


class FormatError(InputError):
    """A file in the format of another version of incfed."""


def check_format(file: str | Path, found: object, current: int, writer: object = None) -> None:
    """Refuse `file` if the number of its format is not the current one; `writer`: the version of
    incfed that the file says has written it."""
    if found == current:
        return
    newer = isinstance(found, int) and found > current
    version = f"incfed {writer or LAST}" if writer or not newer else "a newer incfed"
    raise FormatError(f"{file}: has the format of {version}, which reads it; this version does not")
