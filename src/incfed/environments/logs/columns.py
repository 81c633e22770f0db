"""Read columns of a file or a data frame with polars and convert them to one form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import errors
from ...support import inputs
from ...types import Floats, Ints, Mask
from .layout import Source, is_frame
from .ragged import RAGGED, find_ragged

if TYPE_CHECKING:
    import polars as pl

QUOTES = " \t\"'"
TRUTH = {"true": "1", "false": "0"}
YES_NO = TRUTH | {"yes": "1", "y": "1", "t": "1", "on": "1"}
YES_NO |= {"no": "0", "n": "0", "f": "0", "off": "0"}


@contextmanager
def readable(table: Source) -> Iterator[None]:
    """Report errors of polars as input errors that name the file."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        what = "data frame" if table.path is None else f"{table.format} file"
        raise errors.refuse(table.name, table.place, f"a readable {what} ({said})") from None


def scan(table: Source, text: bytes | None = None) -> pl.LazyFrame:
    """CSV columns are read as text, so that a bad cell makes a bad row and not a bad file.
    `text`: read this instead of the file."""
    import polars as pl

    if table.path is None:
        frame: pl.DataFrame = table.frame
        return frame.lazy()
    if table.format == "parquet":
        return pl.scan_parquet(table.path, glob=False)
    source = table.path if text is None else text
    return pl.scan_csv(source, separator=table.delimiter, infer_schema=False, glob=False)


def column_names(table: Source) -> list[str]:
    if table.path is None:
        return [str(name) for name in table.frame.columns]
    with readable(table):
        return scan(table).collect_schema().names()


def read(table: Source, wanted: Mapping[str, str], optional: Sequence[str] = ()) -> pl.DataFrame:
    """The wanted columns, renamed, and `row`, the row number from 1; `optional` ones may be
    missing. If some rows of a CSV file are too long, the column RAGGED says so."""
    there = column_names(table)
    wanted = {
        name: column for name, column in wanted.items() if column in there or name not in optional
    }
    for name, column in wanted.items():
        if column not in there:
            allowed = f"a column of {table.title}, which has {', '.join(there) or 'none'}"
            if name == "features":  # inline, because there is no table of items
                allowed += "; if the features of arms are in a table of their own, give it as items"
            raise errors.refuse(name.split()[0], column, allowed)  # "features 3": features
    if is_frame(table.frame, "pandas"):
        frame = _from_pandas(table.frame, wanted)
    else:
        with readable(table):
            frame = _from_polars(table, wanted, there)
    if not len(frame):
        what = "data frame" if table.path is None else "file"
        raise errors.refuse(table.name, table.place, f"a {what} with at least one row")
    ragged = [RAGGED] if RAGGED in frame.columns else []
    return frame.with_row_index("row", offset=1).select("row", *wanted, *ragged)


def _from_polars(table: Source, wanted: Mapping[str, str], there: list[str]) -> pl.DataFrame:
    """The wanted columns of a file or a polars frame."""
    import polars as pl

    picked = [pl.col(column).alias(name) for name, column in wanted.items()]
    if table.format != "csv":
        return scan(table).select(*picked).collect()
    # polars only detects a CSV row with too many fields if it reads all columns.
    rest = [pl.col(column).is_null() for column in there if column not in wanted.values()]
    if rest:
        picked.append(pl.any_horizontal(rest).alias("rest"))
    try:
        return scan(table).select(*picked).collect()
    except pl.exceptions.ComputeError:
        assert table.path is not None
        ragged = find_ragged(table.path, table.delimiter, len(there))
        if not len(ragged.rows):
            raise
    frame = scan(table, ragged.text).select(*picked).collect()
    long = pl.DataFrame({"row": ragged.rows, "fields": ragged.fields})
    said = long.select(
        pl.format(f"row {{}} has {{}} fields, the header has {len(there)}", "row", "fields")
    ).to_series()
    if 2 * len(said) > len(frame):
        such = inputs.counted(len(said), "such row")
        allowed = f"a file of which at least half can be used ({said[0]}; {such})"
        raise errors.refuse(table.name, table.place, allowed)
    faults = pl.repeat(None, len(frame), dtype=pl.String, eager=True)
    faults = faults.scatter(long["row"] - 1, said)
    # The surplus field may be any of them: only the event, which then is bad, is still read.
    others = [name for name in wanted if name != "event"]
    blank = [pl.when(faults.is_null()).then(name).alias(name) for name in others]
    return frame.with_columns(*blank, faults.alias(RAGGED))


def _from_pandas(frame: Any, wanted: Mapping[str, str]) -> pl.DataFrame:
    """The wanted columns of a pandas frame; what pandas calls missing is null. (polars' own way
    needs pyarrow.)"""
    import polars as pl

    columns = []
    for name, column in wanted.items():
        values = frame[column]
        if values.ndim > 1:
            raise errors.refuse(name.split()[0], column, "the name of one column, not of several")
        if values.dtype.kind in "biufM" and isinstance(values.dtype, np.dtype):
            columns.append(pl.Series(name, values.to_numpy(), nan_to_null=True))
            continue
        given = [
            None if missing else _plain(value)
            for value, missing in zip(values.tolist(), values.isna().tolist(), strict=True)
        ]
        try:
            columns.append(pl.Series(name, given))
        except (TypeError, ValueError, pl.exceptions.PolarsError):  # mixed: read as text, like CSV
            columns.append(
                pl.Series(name, [None if value is None else str(value) for value in given])
            )
    return pl.DataFrame(columns)


def _plain(value: Any) -> Any:
    """Arrays in cells, also nested, as lists."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def numbers(name: str, column: pl.Series, *, yes_no: bool = False) -> pl.Series:
    """As floats; null if missing or not a number. Text may also be true or false and, with
    `yes_no`, where none of it is a number, another of the words for them."""
    import polars as pl

    if column.dtype == pl.String:
        text = column.str.strip_chars()
        found = text.cast(pl.Float64, strict=False)
        if found.null_count() > column.null_count():
            words = YES_NO if yes_no and not found.is_finite().any() else TRUTH
            found = text.str.to_lowercase().replace(words).cast(pl.Float64, strict=False)
        return found
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise errors.refuse(name, f"a column of {column.dtype}", "numbers")
    return column.cast(pl.Float64)


def floats(name: str, column: pl.Series, *, yes_no: bool = False) -> Floats:
    """As `numbers`, with NaN instead of null."""
    found: Floats = numbers(name, column, yes_no=yes_no).fill_null(float("nan")).to_numpy()
    return found


def has_words(column: pl.Series) -> bool:
    """Whether it is text of which nothing is a number, and not all means yes or no."""
    import polars as pl

    if column.dtype != pl.String:
        return False
    text = column.str.strip_chars().str.to_lowercase().replace({"": None})
    found = text.cast(pl.Float64, strict=False)
    words = text.filter(found.is_null()).drop_nulls()
    return not (found.is_finite().any() or words.is_in(list(YES_NO)).all())


def ids(name: str, column: pl.Series) -> pl.Series:
    """Ids as whole numbers if they are stored so (7.0, as pandas writes it, is 7), else as text;
    null if missing."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype == pl.Binary:
        raise errors.refuse(name, f"a column of {column.dtype}", "whole numbers or text")
    if column.dtype.is_float():
        whole = column.fill_nan(None).cast(pl.Int64, strict=False)
        if (whole.cast(column.dtype) == column.fill_nan(None)).all():
            column = whole
    if column.dtype.is_integer() and column.dtype != pl.UInt64:
        return column.cast(pl.Int64)
    text = column.cast(pl.String, strict=False).str.strip_chars(QUOTES)
    return text.replace({"": None})


def lists(name: str, column: pl.Series, separator: str) -> pl.Series:
    """Lists; text such as "12|7|99" or "[12|7|99]" is split."""
    import polars as pl

    if column.dtype == pl.String:
        inside = column.str.strip_chars("[]() \t").replace({"": None})
        return inside.str.split(separator)
    if isinstance(column.dtype, pl.Array):
        return column.arr.to_list()
    if not isinstance(column.dtype, pl.List):
        allowed = f"lists, or text such as 12{separator}7{separator}99"
        raise errors.refuse(name, f"a column of {column.dtype}", allowed)
    return column


def flatten(column: pl.Series) -> tuple[pl.Series, Ints, Mask]:
    """The concatenated lists, the length of each, and which were empty. An empty list becomes a
    single null."""
    import polars as pl

    sizes = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    empty: Mask = sizes == 0
    if empty.any():  # versions of polars differ in how they explode empty lists
        column = pl.select(pl.when(pl.Series(~empty)).then(column)).to_series()
    flat = column.explode()
    sizes[empty] = 1
    assert len(flat) == sizes.sum()
    return flat, sizes, empty


def code(column: pl.Series) -> tuple[Ints, list[Any]]:
    """Ids as 0, 1, 2, ... in sorted order (as numbers, if all are), and their names; -1 if
    missing."""
    import polars as pl

    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count() and (whole.cast(column.dtype) == column).all():
        column = whole  # not if one is written 007, which may differ from 7
    names = column.drop_nulls().unique().sort()
    codes: Ints = (column.rank("dense").cast(pl.Int64).fill_null(0) - 1).to_numpy()
    return codes, names.to_list()
