"""What a run was started with, reduced to values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError

_NUMBERS = ("inf", "-inf", "nan")  # that JSON does not have
_PLAIN = {type(None), bool, int, str}  # most values, known at a look


def plain(value: Any, name: str = "settings") -> Any:
    """A private copy of `value` made of dict, list, str, int, float, bool and None only.

    Numpy scalars and arrays become numbers and lists, tuples become lists. JSON has no infinity
    and no NaN, so these become the strings "inf", "-inf" and "nan", which `float()` reads back.
    """
    if type(value) in _PLAIN or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist(), name)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{name}: the key {key!r} must be a string")
        return {key: plain(item, f"{name}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{name}[{index}]") for index, item in enumerate(value)]
    raise InputError(
        f"{name}: {value!r} is a {type(value).__name__}; allowed are numbers, strings, booleans, "
        "None, and lists and dicts of these"
    )


def unplain(value: Any) -> Any:
    """What `plain` made of settings, with its infinities and NaN as numbers again."""
    if isinstance(value, Mapping):
        return {key: unplain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unplain(item) for item in value]
    return float(value) if value in _NUMBERS else value
