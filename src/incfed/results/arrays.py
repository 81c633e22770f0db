"""Read-only columns, and records made of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..support.extras import needs
from ..types import Floats, Ints

if TYPE_CHECKING:
    import pandas
    import polars


def _column(
    name: str, value: ArrayLike, kinds: str, allowed: str, dtype: type[np.generic]
) -> NDArray[Any]:
    given = np.asarray(value)
    if given.ndim != 1:
        raise InputError(f"{name}: has shape {given.shape}; allowed is one dimension")
    if given.size and given.dtype.kind not in kinds:
        raise InputError(f"{name}: has type {given.dtype}; allowed are {allowed}")
    array = np.array(given, dtype=dtype)
    array.setflags(write=False)
    return array


def floats(name: str, value: ArrayLike) -> Floats:
    """A read-only float64 copy."""
    return _column(name, value, "iuf", "numbers", np.float64)


def integers(name: str, value: ArrayLike) -> Ints:
    """A read-only int64 copy; floats are refused, not truncated."""
    return _column(name, value, "iu", "integers", np.int64)


class ArrayRecord:
    """Equality and pickling for frozen dataclasses with array fields.

    By default, `==` of arrays is an array, and unpickled arrays are writeable. Here NaN equals NaN,
    so that a saved and loaded record equals the original.
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


class FrameRecord(ArrayRecord):
    """A record of equally long columns."""

    @abstractmethod
    def _columns(self) -> dict[str, NDArray[Any]]: ...

    def _repr_html_(self) -> str:
        from .notebook import columns_html

        return columns_html(repr(self).strip("<>"), self._columns(), "row")

    def to_polars(self) -> polars.DataFrame:
        """The columns as a data frame of polars.

        >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
        >>> alone = incfed.simulate(world, incfed.Independent(), steps=50)
        >>> alone.to_polars().columns
        ['step', 'regret', 'reward', 'communication', 'payment', 'packed']
        >>> alone.clients.to_polars().shape
        (5, 6)
        """
        with needs("polars", "to_polars()"):
            import polars
        return polars.DataFrame(self._columns())

    def to_pandas(self) -> pandas.DataFrame:
        """The columns of `to_polars` as a data frame of pandas.

        >>> alone.to_pandas().shape
        (50, 6)
        """
        with needs("pandas", "to_pandas()", "pandas"):
            import pandas
        return pandas.DataFrame(self._columns())


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray | float):
        return np.array_equal(one, two, equal_nan=True)
    return bool(one == two)
