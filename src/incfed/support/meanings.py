"""What the fields of a class mean, as its source says: in comments beside them, or in the docstring
as "name: meaning"."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

_BESIDE = re.compile(r"    (\w+): .*?  # (.+)")
_NAMED = re.compile(r"((?:[a-z]\w*)(?:, [a-z]\w*)*): (.+)")


def meanings_of(kind: type) -> dict[str, str]:
    """By name of a field of a dataclass; a field of which nothing is said is left out."""
    names = {one.name for one in fields(kind)}
    found: dict[str, str] = {}
    said: list[str] = []  # the fields that the present line of the docstring is about
    for line in inspect.cleandoc(kind.__doc__ or "").splitlines():
        match = _NAMED.fullmatch(line)
        if match and names.issuperset(match[1].split(", ")):
            said = match[1].split(", ")
            found |= dict.fromkeys(said, match[2])
        elif not line.strip():
            said = []
        else:
            found |= {name: f"{found[name]} {line.strip()}" for name in said}
    for line in inspect.getsource(kind).splitlines():
        if (match := _BESIDE.fullmatch(line)) and match[1] in names:
            found[match[1]] = match[2]
    return found
