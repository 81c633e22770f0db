"""Files of other versions of incfed: refused in one sentence that names the version that reads
them, and left as they are."""

from __future__ import annotations

import re
from pathlib import Path

from .._version import __version__
from ..errors import InputError

LAST = "0.2.0"  # the last version whose files do not all say what wrote them


class FormatError(InputError):
    """A file in the format of another version of incfed."""


def check_format(file: str | Path, found: object, current: int, writer: object = None) -> None:
    """Refuse `file` if the number of its format is not the current one; `writer`: the version of
    incfed that the file says has written it."""
    number = found if isinstance(found, int) and not isinstance(found, bool) else 0
    if number == current:
        return
    if not isinstance(writer, str) or not re.fullmatch(r"[0-9][\w.+]{0,30}", writer, re.ASCII):
        version = "a newer incfed" if number > current else f"incfed {LAST}"
    elif writer == __version__:
        version = f"another build of incfed {writer}"
    else:
        version = f"incfed {writer}"
    raise FormatError(f"{file}: has the format of {version}, which reads it; this version does not")
