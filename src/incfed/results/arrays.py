"""Columns that nobody can change by accident, and records that are made of them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..support.inputs import InputError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def _column(name: str, value: ArrayLike, kinds: str, allowed: str) -> NDArray[Any]:
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputError(f"{name}: has shape {array.shape}; allowed is one dimension")
    if array.size and array.dtype.kind not in kinds:
        raise InputError(f"{name}: has type {array.dtype}; allowed are {allowed}")
    return array


def floats(name: str, value: ArrayLike) -> FloatArray:
    """A read-only float64 copy; a copy, because the caller's own array stays the caller's."""
    array = np.array(_column(name, value, "iuf", "numbers"), dtype=np.float64)
    array.setflags(write=False)
    return array


def integers(name: str, value: ArrayLike) -> IntArray:
    """A read-only int64 copy; floats are refused rather than cut off."""
    array = np.array(_column(name, value, "iu", "integers"), dtype=np.int64)
    array.setflags(write=False)
    return array


class ArrayRecord:
    """Equality and pickling for frozen dataclasses with array fields.

    Numpy would answer `==` with an array, and would unpickle arrays as writeable: both are wrong
    for a record. NaN equals NaN here, so a saved and loaded record equals the original.
    """

    __hash__ = None  # type: ignore[assignment]

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or not isinstance(other, ArrayRecord):
            return NotImplemented
        return all(map(_same, self._values(), other._values()))

    def __reduce__(self) -> tuple[type[Any], tuple[Any, ...]]:
        return type(self), self._values()


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray | float):
        return np.array_equal(one, two, equal_nan=True)
    return bool(one == two)
