"""Checks of arrays and paths; and words that count."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import in_range, refuse


def path(name: str, value: object, allowed: str = "the name of a folder") -> Path:
    """`value` as a path; an empty one, which means the current folder, is refused."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise refuse(name, value, allowed)
    try:
        return Path(value)
    except TypeError:  # of bytes
        raise refuse(name, value, f"{allowed}, as text") from None


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
        spot = f"{name}[{', '.join(map(str, where))}]"
        raise refuse(spot, raw[where].item(), in_range("a number", low, most))
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
