"""Errors in what a user gives. Each names the place, what stands there, and what is allowed."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

SHOWN = 120  # characters of a value in a message


class InputError(ValueError):
    """An invalid input; the message names the field, the value, and what is allowed. In a class of
    your own: `raise incfed.InputError("got 2, must be odd", "field")`.

    >>> incfed.Synthetic(clients=0)
    Traceback (most recent call last):
        ...
    incfed.errors.InputError: clients: got 0, must be a whole number from 1 to 10,000,000
    """

    def __init__(self, said: str, place: str = "") -> None:
        super().__init__(f"{place}: {said}" if place else said)
        self.said = said
        self.place = place  # the field or the place in a config, if it is about one

    def within(self, place: str, keys: Collection[str] = ()) -> InputError:
        """The same error, said of `place`: of `place.key` if it is about one of its `keys`.

        >>> try:
        ...     incfed.Limits(per_round=-1)
        ... except incfed.InputError as error:
        ...     print(error.within("federation.limits", {"per_round"}))
        federation.limits.per_round: got -1, must be a number from 0 to 1e+100
        """
        head = self.place.partition(".")[0].partition("[")[0]
        if head and head in keys:
            return InputError(self.said, f"{place}.{self.place}")
        return InputError(str(self), place)


def refuse(place: str, value: object, allowed: str) -> InputError:
    """The error to raise: `raise refuse("beta", 2, "a number from 0 to 1")`."""
    shown = repr(value)
    cut = "..." * (len(shown) > SHOWN)
    return InputError(f"got {shown[:SHOWN]}{cut}, must be {allowed}", place)


def missing(place: str, allowed: str) -> InputError:
    """The error for something that must be given."""
    return InputError(f"is missing, must be {allowed}", place)


def unknown(place: str, value: object, known: Collection[str]) -> InputError:
    """The error for a key that means nothing."""
    shown = "a table" if isinstance(value, Mapping) else f"{value!r:.60}"
    key = place.rpartition(".")[2]
    return InputError(
        f"got {shown}, but there is no such setting{hint(key, known)}; allowed are {listed(known)}",
        place,
    )


def known(place: str, given: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Refuse the first key that means nothing here."""
    for key, value in given.items():
        if key not in allowed:
            raise unknown(f"{place}.{key}" if place else key, value, allowed)


def table(place: str, value: object, example: str) -> dict[str, Any]:
    """`value` if it is a table; `example` shows how to write one."""
    if not isinstance(value, Mapping):
        raise refuse(place, value, f"a table, such as {example}")
    return dict(value)


def hint(word: str, known: Collection[str]) -> str:
    """(did you mean 'beta'?) if one of the `known` words is close, else nothing."""
    by_lower = {one.lower(): one for one in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


def listed(words: Collection[str]) -> str:
    return ", ".join(words) if words else "none"


def in_range(noun: str, low: float, high: float, above: bool = False, below: bool = False) -> str:
    """ "a number from 0 to 1": what is allowed in words; `above`, `below`: the end is excluded."""
    if math.isinf(low) and math.isinf(high):
        return noun
    if math.isinf(high):
        return f"{noun} {'above' if above else 'of at least'} {low:,.10g}"
    if math.isinf(low):
        return f"{noun} {'below' if below else 'of at most'} {high:,.10g}"
    ends = {(False, False): "", (True, True): " (ends excluded)"}.get((above, below))
    if ends is None:
        ends = f" ({low if above else high:,.10g} excluded)"
    return f"{noun} from {low:,.10g} to {high:,.10g}{ends}"


@contextmanager
def at(place: str, keys: Collection[str] = ()) -> Iterator[None]:
    """What is refused inside is said of `place`; an error about one of `keys`, of `place.key`."""
    try:
        yield
    except InputError as error:
        raise error.within(place, keys) from None
