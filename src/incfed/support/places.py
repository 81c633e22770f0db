"""Errors in a config: each names the place, what stands there, and what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .inputs import InputError, refuse


def table(place: str, value: object, example: str) -> dict[str, Any]:
    """`value` if it is a table; `example` shows how to write one."""
    if not isinstance(value, Mapping):
        raise refuse(place, value, f"a table, such as {example}")
    return dict(value)


def known(place: str, given: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Refuse the first key that means nothing here."""
    for key, value in given.items():
        if key not in allowed:
            spot = f"{place}.{key}" if place else key
            shown = "a table" if isinstance(value, Mapping) else f"{value!r:.60}"
            raise InputError(
                f"{spot}: got {shown}, but there is no such setting{hint(key, allowed)}; "
                f"allowed are {listed(allowed)}"
            )


def missing(spot: str, allowed: str) -> InputError:
    """The error for something that must be given."""
    return InputError(f"{spot}: is missing, must be {allowed}")


def hint(word: str, allowed: Collection[str]) -> str:
    """(did you mean 'beta'?) if one of the `allowed` is close, else nothing."""
    by_lower = {one.lower(): one for one in allowed}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


def listed(words: Collection[str]) -> str:
    return ", ".join(words) if words else "none"


@contextmanager
def at(place: str, keys: Collection[str] = ()) -> Iterator[None]:
    """What is refused inside is said of `place`; a message about one of `keys` of `place.key`."""
    try:
        yield
    except InputError as error:
        message = str(error)
        # "beta: got 2, ..." and "costs[3]: got -1, ..." are about a key
        about = re.match(r"(\w+)(\[[\d, ]*\])?: ", message)
        joint = "." if about and about[1] in keys else ": "
        raise InputError(f"{place}{joint}{message}") from None
