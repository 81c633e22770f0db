"""Columns of a file, read with polars and brought into one form, however they were kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.factor import Floats, Ints
from ...support import inputs
from .layout import Table
from .report import Flags

if TYPE_CHECKING:
    import polars as pl

QUOTES = " \t\"'"


@contextmanager
def readable(table: Table) -> Iterator[None]:
    """Whatever polars does not like about a file is said of the file."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        allowed = f"a readable {table.format} file ({said})"
        raise inputs.refuse(table.name, str(table.path), allowed) from None


def scan(table: Table) -> pl.LazyFrame:
    """A CSV file is all text at first, so that one odd cell is one bad row and not a bad file."""
    import polars as pl

    if table.format == "parquet":
        return pl.scan_parquet(table.path, glob=False)
    return pl.scan_csv(table.path, separator=table.delimiter, infer_schema=False, glob=False)


def read(table: Table, wanted: Mapping[str, str]) -> pl.DataFrame:
    """These columns of a file and no others, under our names; `row` counts from 1."""
    import polars as pl

    with readable(table):
        lazy = scan(table)
        there = lazy.collect_schema().names()
        for name, column in wanted.items():
            if column not in there:
                allowed = f"a column of {table.path.name}, which has {', '.join(there) or 'none'}"
                raise inputs.refuse(name.split()[0], column, allowed)  # "features 3": features
        picked = [pl.col(column).alias(name) for name, column in wanted.items()]
        # Only when it looks at all columns does polars notice a CSV row with too many fields.
        rest = [pl.col(one).is_null() for one in there if one not in wanted.values()]
        look = [pl.any_horizontal(rest).alias("rest")] if rest and table.format == "csv" else []
        frame = lazy.select(*picked, *look).with_row_index("row", offset=1).collect()
    if not len(frame):
        raise inputs.refuse(table.name, str(table.path), "a file with at least one row")
    return frame.select("row", *wanted)


def numbers(name: str, column: pl.Series) -> pl.Series:
    """As floats; null where there is none. Text may also say true and false."""
    import polars as pl

    if column.dtype == pl.String:
        text = column.str.strip_chars()
        found = text.cast(pl.Float64, strict=False)
        if found.null_count() > column.null_count():
            words = text.str.to_lowercase().replace({"true": "1", "false": "0"})
            found = words.cast(pl.Float64, strict=False)
        return found
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise inputs.refuse(name, f"a column of {column.dtype}", "numbers")
    return column.cast(pl.Float64)


def floats(name: str, column: pl.Series) -> Floats:
    """As `numbers`; NaN where there is none."""
    found: Floats = numbers(name, column).fill_null(float("nan")).to_numpy()
    return found


def ids(name: str, column: pl.Series) -> pl.Series:
    """Ids as whole numbers if they are kept so (7.0, as pandas has it, is 7), else as text; null
    where there is none."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype == pl.Binary:
        raise inputs.refuse(name, f"a column of {column.dtype}", "whole numbers or text")
    if column.dtype.is_float():
        whole = column.fill_nan(None).cast(pl.Int64, strict=False)
        if (whole.cast(column.dtype) == column.fill_nan(None)).all():
            column = whole
    if column.dtype.is_integer() and column.dtype != pl.UInt64:
        return column.cast(pl.Int64)
    text = column.cast(pl.String, strict=False).str.strip_chars(QUOTES)
    return text.replace({"": None})


def lists(name: str, column: pl.Series, separator: str) -> pl.Series:
    """Lists, or text such as "12|7|99" or "[12|7|99]" cut into them."""
    import polars as pl

    if column.dtype == pl.String:
        inside = column.str.strip_chars("[]() \t").replace({"": None})
        return inside.str.split(separator)
    if isinstance(column.dtype, pl.Array):
        return column.arr.to_list()
    if not isinstance(column.dtype, pl.List):
        allowed = f"lists, or text such as 12{separator}7{separator}99"
        raise inputs.refuse(name, f"a column of {column.dtype}", allowed)
    return column


def flatten(column: pl.Series) -> tuple[pl.Series, Ints, Flags]:
    """Lists end to end, how long each is, and which had nothing in it: a single null stands for
    those, so that all have a place."""
    import polars as pl

    sizes = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    empty: Flags = sizes == 0
    if empty.any():  # whether an empty list leaves a null behind depends on the version of polars
        column = pl.select(pl.when(pl.Series(~empty)).then(column)).to_series()
    flat = column.explode()
    sizes[empty] = 1
    assert len(flat) == sizes.sum()
    return flat, sizes, empty


def moments(column: pl.Series) -> pl.Series:
    """Something to sort by: numbers if most of it are, else text as it is (ISO dates sort well)."""
    import polars as pl

    if column.dtype.is_nested():
        raise inputs.refuse("time", f"a column of {column.dtype}", "numbers, dates or text")
    if column.dtype == pl.String:
        given = len(column) - column.null_count()
        for kind in (pl.Int64, pl.Float64):
            parsed = column.str.strip_chars().cast(kind, strict=False)
            left = len(column) - parsed.null_count()
            if left == given or (kind == pl.Float64 and 2 * left >= given):
                column = parsed
                break
    return column.fill_nan(None) if column.dtype.is_float() else column


def order(times: pl.Series) -> Ints:
    """What comes first, second, ...; at the same time, in the order of the file."""
    places = times.alias("time").to_frame().with_row_index("place")
    found: Ints = places.sort("time", maintain_order=True)["place"].to_numpy().astype(np.int64)
    return found


def code(column: pl.Series) -> tuple[Ints, list[Any]]:
    """Ids as 0, 1, 2, ... in sorted order (as numbers, if all are), and the names they stand for;
    -1 where there is none."""
    import polars as pl

    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count() and (whole.cast(column.dtype) == column).all():
        column = whole  # not if one is written 007: it might not be the same as 7
    names = column.drop_nulls().unique().sort()
    codes: Ints = (column.rank("dense").cast(pl.Int64).fill_null(0) - 1).to_numpy()
    return codes, names.to_list()
