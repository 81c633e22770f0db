"""Validation of inputs. Every error names the field, the value, and what is allowed."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class InputError(ValueError):
    """An invalid input; the message names the field, the value, and what is allowed.

    >>> incfed.Synthetic(clients=0)
    Traceback (most recent call last):
        ...
    incfed.support.inputs.InputError: clients: got 0, must be a whole number from 1 to 10,000,000
    """


def refuse(name: str, value: object, allowed: str) -> InputError:
    """The error to raise: `raise refuse("beta", 2, "a number from 0 to 1")`."""
    shown = repr(value)
    return InputError(f"{name}: got {shown[:120]}{'...' * (len(shown) > 120)}, must be {allowed}")


def number(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    finite: bool = True,
    booleans: bool = False,
) -> float:
    """`value` as a float between `low` and `high` (an open end excludes the limit itself).
    `booleans`: true and false count as 1 and 0; else they are refused."""
    allowed = _range("a number" if finite else "a number (or inf)", low, high, open_low, open_high)
    boolean = isinstance(value, bool | np.bool_)
    if (boolean and not booleans) or not isinstance(value, int | float | np.number | np.bool_):
        raise refuse(name, value, allowed)
    if isinstance(value, np.complexfloating):
        raise refuse(name, value, allowed)
    try:
        result = float(value)
    except OverflowError:
        raise refuse(name, value, allowed) from None
    too_low = result < low or (open_low and result == low)
    too_high = result > high or (open_high and result == high)
    if math.isnan(result) or (finite and math.isinf(result)) or too_low or too_high:
        raise refuse(name, value, allowed)
    return result


def plain(value: Any) -> Any:
    """A numpy number as a Python number of the same value; anything else as it is."""
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.floating):
        return float(value)
    return int(value) if isinstance(value, np.integer) else value


def integer(name: str, value: object, *, low: int | None = None, high: int | None = None) -> int:
    """`value` as an int between `low` and `high`, both included."""
    lowest = -math.inf if low is None else low
    highest = math.inf if high is None else high
    allowed = _range("a whole number", lowest, highest, False, False)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise refuse(name, value, allowed)
    if not lowest <= int(value) <= highest:
        raise refuse(name, value, allowed)
    return int(value)


def choice(name: str, value: object, allowed: Collection[str]) -> str:
    """`value` if it is one of the `allowed` words."""
    if not isinstance(value, str) or value not in allowed:
        raise refuse(name, value, "one of " + ", ".join(repr(word) for word in allowed))
    return value


def path(name: str, value: object, allowed: str = "the name of a folder") -> Path:
    """`value` as a path; an empty one, which means the current folder, is refused."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise refuse(name, value, allowed)
    try:
        return Path(value)
    except TypeError:  # of bytes
        raise refuse(name, value, f"{allowed}, as text") from None


def flag(name: str, value: object) -> bool:
    """`value` if it is a boolean; 0 and 1 are refused."""
    if not isinstance(value, bool | np.bool_):
        raise refuse(name, value, "true or false")
    return bool(value)


def array(
    name: str,
    value: object,
    *,
    ndim: int,
    dtype: DTypeLike = np.float64,
    allowed: str | None = None,
    low: float = -math.inf,
    most: float = math.inf,
    booleans: bool = False,
) -> NDArray[Any]:
    """`value` as a new C-ordered array of `ndim` dimensions, with finite entries from -`most` (or
    `low`, if that is more) to `most`. `booleans`: true and false count as 1 and 0; else they are
    refused."""
    whole = np.issubdtype(np.dtype(dtype), np.integer)
    if allowed is None:
        numbers = "whole numbers" if whole else "finite numbers"
        allowed = f"{numbers} in {counted(ndim, 'dimension')}"
    try:
        raw = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise refuse(name, type(value).__name__, allowed) from None
    if raw.ndim == 0:
        raise refuse(name, value, allowed)
    if np.ma.is_masked(value):
        raise refuse(name, "an array with masked entries", allowed)
    if raw.ndim != ndim:
        raise refuse(name, f"an array of shape {raw.shape}", allowed)
    if raw.dtype.kind not in ("biuf" if booleans else "iuf") or (whole and raw.dtype.kind == "f"):
        raise refuse(name, f"an array of {raw.dtype}", allowed)
    with np.errstate(over="ignore"):
        result = np.array(raw, dtype=dtype, order="C")
    wrong = result < 0 if whole and raw.dtype.kind == "u" else ~np.isfinite(result)
    if wrong.any():  # (a whole number that became negative was too large)
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        allowed = "a whole number below 2^63" if whole else "a finite number"
        raise refuse(f"{name}[{', '.join(map(str, where))}]", raw[where].item(), allowed)
    low = max(low, -most)
    if result.size and (result.min() < low or result.max() > most):
        wrong = (result < low) | (result > most)
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        number(f"{name}[{', '.join(map(str, where))}]", raw[where].item(), low=low, high=most)
    return result


def counted(count: int, singular: str, plural: str | None = None) -> str:
    """A number and what it counts: "1 seed", "2,000 seeds"."""
    return f"{count:,} {noun(count, singular, plural)}"


def joined(names: Sequence[str]) -> str:
    """ "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def noun(count: int, singular: str, plural: str | None = None) -> str:
    """ "seed" of 1, "seeds" of any other number."""
    return singular if count == 1 else plural or f"{singular}s"


def _range(noun: str, low: float, high: float, open_low: bool, open_high: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return noun
    if math.isinf(high):
        return f"{noun} {'above' if open_low else 'of at least'} {low:,.10g}"
    if math.isinf(low):
        return f"{noun} {'below' if open_high else 'of at most'} {high:,.10g}"
    ends = {(False, False): "", (True, True): " (ends excluded)"}.get((open_low, open_high))
    if ends is None:
        ends = f" ({low if open_low else high:,.10g} excluded)"
    return f"{noun} from {low:,.10g} to {high:,.10g}{ends}"
