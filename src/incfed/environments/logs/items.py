"""The item table: an id and features in each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...support import inputs
from ...types import Floats, Ints, Mask
from .columns import column_names, flatten, floats, ids, lists, read
from .layout import Source
from .report import Report, Sieve

if TYPE_CHECKING:
    import polars as pl

NO_NUMBERS = "features missing or not finite"


@dataclass(frozen=True)
class Items:
    """The usable items, in the order of the file."""

    names: pl.Series
    features: Floats  # [M, d]
    report: Report

    def find(self, wanted: pl.Series) -> Ints:
        """The row of each; -1 if it is not in the table."""
        import polars as pl

        names = self.names
        if wanted.dtype != names.dtype:
            wanted, names = wanted.cast(pl.String), names.cast(pl.String)
        rows = pl.Series(np.arange(len(names)))
        found = wanted.replace_strict(names, rows, default=-1, return_dtype=pl.Int64)
        places: Ints = found.to_numpy()
        return places


def read_items(table: Source, item: str, features: tuple[str, ...] | None) -> Items:
    """`features`: the columns to use, or one with lists; None: all but the id column."""
    if features is None:
        there = column_names(table)
        features = tuple(name for name in there if name != item)
        if not features:
            allowed = f"with columns of features beside {item!r}; it has {', '.join(there)}"
            raise inputs.refuse(table.name, table.place, allowed)
    wanted = {"item": item, **{f"features {n}": name for n, name in enumerate(features)}}
    frame = read(table, wanted)
    names = ids("item", frame["item"])
    matrix = stacked(frame, features)
    for column, name in zip(matrix.T, features, strict=False):  # a list column has one name
        if len(column) and np.isnan(column).all():
            allowed = "columns of numbers; name those to use in features=[...]"
            raise inputs.refuse(f"features of {table.title}", name, allowed)
    sieve = Sieve(table.title, frame["row"].to_numpy())
    sieve.mark_ragged(frame)
    sieve.mark("item missing", names.is_null().to_numpy())
    sieve.mark(NO_NUMBERS, ~finite(matrix))
    sieve.mark("the same item again", ~names.is_first_distinct().to_numpy())
    good = sieve.good
    return Items(names.filter(good), matrix[good], sieve.report())


def stacked(frame: pl.DataFrame, called: tuple[str, ...]) -> Floats:
    """Features as [rows, d], from one column per feature or one column of lists; NaN if missing.
    The columns of the frame are numbered; `called` has their names in the file."""
    import polars as pl

    columns = [frame[f"features {n}"] for n in range(len(called))]
    if isinstance(columns[0].dtype, pl.List | pl.Array) and len(columns) == 1:
        return unpacked(columns[0])
    matrix = np.empty((len(frame), len(columns)))
    for n, name in enumerate(called):
        matrix[:, n] = floats(f"features, column {name!r}", columns[n])
    return matrix


def unpacked(column: pl.Series) -> Floats:
    """Features from lists. d is the most frequent length; lists of other lengths become NaN."""
    flat, sizes, empty = flatten(lists("features", column, ","))
    values = floats("features", flat)
    usual = int(np.bincount(sizes[~empty], minlength=2).argmax())
    fits = ~empty & (sizes == max(usual, 1))
    matrix = np.full((len(column), max(usual, 1)), np.nan)
    matrix[fits] = values[np.repeat(fits, sizes)].reshape(-1, matrix.shape[1])
    return matrix


def finite(matrix: Floats) -> Mask:
    """Which rows are finite."""
    return np.asarray(np.isfinite(matrix).all(axis=1))
