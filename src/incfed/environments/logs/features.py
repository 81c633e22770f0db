"""Features of items and candidates: columns of numbers or lists, and categories as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from ... import errors
from ...support import inputs
from ...types import Floats, Mask
from .columns import flatten, floats, has_words, ids, lists
from .layout import NO_LISTS, ONE_HOT, Categories

if TYPE_CHECKING:
    import polars as pl

MOST_VALUES = 300  # of a one-hot column


@dataclass(frozen=True)
class Features:
    """The features of rows or candidates; NaN where one is missing."""

    matrix: Floats  # [rows, d]
    names: list[str]  # [d]

    def at(self, rows: Mask) -> Features:
        """The features of these rows; not copied if it is all of them."""
        return self if rows.all() else Features(self.matrix[rows], self.names)


@dataclass(frozen=True)
class ColumnFeatures:
    """The features that come from one column."""

    values: Floats  # [rows, k], or [rows, 1] if encoded: which feature is 1; NaN where missing
    names: list[str]  # [k]
    encoded: bool = False

    def fill(self, matrix: Floats) -> None:
        """Write the features into columns of a matrix of zeros."""
        if not self.encoded:
            matrix[:] = self.values
            return
        there = finite(self.values)
        matrix[there, self.values[there, 0].astype(np.int64)] = 1.0
        matrix[~there] = np.nan


def by_column(
    frame: pl.DataFrame, called: Sequence[str], categories: Categories, title: str
) -> list[ColumnFeatures]:
    """The features of each column: one, several of lists, or as many as it is encoded by. The
    columns of the frame are numbered; `called` has their names in the file."""
    import polars as pl

    columns = [frame[f"features {n}"] for n in range(len(called))]
    if isinstance(columns[0].dtype, pl.List | pl.Array) and len(columns) == 1:
        if categories is not None:
            raise errors.refuse("categories", categories, NO_LISTS)
        lists_of = unpacked(columns[0], called[0])
        return [ColumnFeatures(lists_of.matrix, lists_of.names)]
    named, common = (categories, None) if isinstance(categories, Mapping) else ({}, categories)
    for name in named:
        if name not in called:
            raise errors.refuse("categories", name, f"a column of features: {', '.join(called)}")
    found = []
    for name, column in zip(called, columns, strict=True):
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        words = has_words(column)
        how = named.get(name, common if words else None)
        if how is not None:
            found.append(_encoded(name, column, how))
        elif words:
            raise errors.refuse(f"features of {title}", name, _advice(column))
        else:
            where = f"features, column {name!r}"
            found.append(ColumnFeatures(floats(where, column, yes_no=True)[:, None], [name]))
    return found


def joined(parts: Sequence[ColumnFeatures]) -> Features:
    """All of them, side by side."""
    names = [name for part in parts for name in part.names]
    matrix = np.zeros((len(parts[0].values), len(names)))
    start = 0
    for part in parts:
        part.fill(matrix[:, start : start + len(part.names)])
        start += len(part.names)
    return Features(matrix, names)


def finite(matrix: Floats) -> Mask:
    """Which rows are finite."""
    return np.asarray(np.isfinite(matrix).all(axis=1))


def unpacked(column: pl.Series, called: str) -> Features:
    """Features from lists. d is the most frequent length; lists of other lengths become NaN."""
    flat, sizes, empty = flatten(lists("features", column, ","))
    values = floats("features", flat)
    dim = max(int(np.bincount(sizes[~empty], minlength=2).argmax()), 1)
    fits = ~empty & (sizes == dim)
    matrix = np.full((len(column), dim), np.nan)
    matrix[fits] = values[np.repeat(fits, sizes)].reshape(-1, dim)
    return Features(matrix, [f"{called}[{n}]" for n in range(dim)])


def _encoded(name: str, column: pl.Series, how: str | int) -> ColumnFeatures:
    """1 in the feature of its value, 0 in the others: each value has its own, in sorted order, or
    the one of `how` that its hash says. A missing value is NaN."""
    import polars as pl

    texts = ids(name, column).cast(pl.String)
    values = texts.drop_nulls().unique().sort()
    if isinstance(how, int):
        names = [f"{name}#{n}" for n in range(how)]
        places = [bucket(value, how) for value in values]
    elif len(values) <= MOST_VALUES:
        names = [f"{name}={value}" for value in values]
        places = list(range(len(values)))
    else:
        allowed = f"at most {MOST_VALUES} for one-hot: hash them, with categories = 32"
        raise errors.refuse(
            f"features, column {name!r}", inputs.counted(len(values), "value"), allowed
        )
    found = texts.replace_strict(values, places, default=None, return_dtype=pl.Float64)
    return ColumnFeatures(found.fill_null(float("nan")).to_numpy()[:, None], names, encoded=True)


def bucket(value: str, buckets: int) -> int:
    """Where a value is hashed to, the same on every machine: its BLAKE2b hash of 8 bytes, as a
    number (first byte first), modulo `buckets`."""
    return int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "big") % buckets


def _advice(column: pl.Series) -> str:
    values = column.str.strip_chars().replace({"": None}).drop_nulls()
    several = ", ".join(map(repr, values.unique(maintain_order=True).head(3)))
    return (
        f'a column of numbers; it has words ({several}). Write categories = "{ONE_HOT}" for a '
        "feature for each word, categories = 32 to hash them into 32 features, or name the columns "
        "to use in features"
    )
