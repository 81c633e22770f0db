"""The item table: an id and features in each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import errors
from ...types import Ints
from .columns import column_names, ids, read
from .features import Features, by_column, finite, joined
from .layout import Categories, Source
from .report import Report, Sieve

if TYPE_CHECKING:
    import polars as pl

NO_NUMBERS = "features missing or not finite"


@dataclass(frozen=True)
class Items:
    """The usable items, in the order of the file."""

    names: pl.Series
    features: Features
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


def read_items(
    table: Source, item: str, features: tuple[str, ...] | None, categories: Categories
) -> Items:
    """`features`: the columns to use, or one with lists; None: all but the id column."""
    if features is None:
        there = column_names(table)
        features = tuple(name for name in there if name != item)
        if not features:
            allowed = f"with columns of features beside {item!r}; it has {', '.join(there)}"
            raise errors.refuse(table.name, table.place, allowed)
    wanted = {"item": item, **{f"features {n}": name for n, name in enumerate(features)}}
    frame = read(table, wanted)
    names = ids("item", frame["item"])
    parts = by_column(frame, features, categories, table.title)
    for part, name in zip(parts, features, strict=True):
        if np.isnan(part.values).all():
            allowed = "columns of numbers; name those to use in features=[...]"
            raise errors.refuse(f"features of {table.title}", name, allowed)
    found = joined(parts)
    sieve = Sieve(table.title, frame["row"].to_numpy())
    sieve.mark_ragged(frame)
    sieve.mark("item missing", names.is_null().to_numpy())
    sieve.mark(NO_NUMBERS, ~finite(found.matrix))
    sieve.mark("the same item again", ~names.is_first_distinct().to_numpy())
    good = sieve.good
    return Items(names.filter(good), found.at(good), sieve.report())
