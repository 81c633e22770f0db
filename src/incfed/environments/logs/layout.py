"""The layout of a log: its files or data frames, and the names of its columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ... import errors
from ...ranges import MOST_DIM
from ...values import Flag, Whole, Word

ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
}
LIBRARIES = ("pandas", "polars")
FRAME = "the data frame"
PROPENSITY = "propensity"
INLINE = "features"  # default name of the column with inline features
ONE_HOT = "one-hot"
NO_LISTS = "left out: the features are lists of numbers"
# How columns of words are encoded: all alike, or each by its name; None: they are refused.
Categories: TypeAlias = str | int | Mapping[str, str | int] | None


@dataclass(frozen=True)
class Source:
    """A table: a file and how to read it, or a data frame."""

    name: str  # the argument's name, for messages
    path: Path | None
    format: str
    delimiter: str = ","
    frame: Any = None

    @property
    def title(self) -> str:
        """For messages and settings: the name of the file."""
        return FRAME if self.path is None else self.path.name

    @property
    def place(self) -> str:
        """For messages: the path of the file."""
        return FRAME if self.path is None else str(self.path)

    @classmethod
    def of(cls, name: str, table: Any, format: str | None, delimiter: str) -> Source:
        if is_frame(table):
            if format is not None:
                raise errors.refuse("format", format, "left out: a data frame has none")
            return cls(name, None, "frame", frame=table)
        if not isinstance(table, str | os.PathLike):
            raise errors.refuse(name, table, "the path of a file, or a pandas or polars data frame")
        path = Path(table)
        if not path.is_file():
            raise errors.refuse(name, str(path), "an existing file")
        if format is None:
            ending = [suffix for suffix in ENDINGS if path.name.lower().endswith(suffix)]
            if not ending:
                raise errors.refuse(name, str(path), f"a file that ends in {', '.join(ENDINGS)}")
            format = ENDINGS[ending[-1]]
        return cls(name, path, Word(("parquet", "csv")).of("format", format), delimiter)


def is_frame(table: Any, library: str | None = None) -> bool:
    """Whether it is a data frame (of this library); told by name, to import neither."""
    kind = type(table)
    found: str = kind.__module__.partition(".")[0]
    return kind.__name__ == "DataFrame" and found in ((library,) if library else LIBRARIES)


@dataclass(frozen=True)
class Layout:
    """The arguments of a ReplayLog, checked."""

    log: Source
    items: Source | None
    columns: dict[str, str] = field(default_factory=dict)  # of the log: role -> name in the file
    item: str = "item"
    features: tuple[str, ...] | None = None
    separator: str = "|"
    optional: tuple[str, ...] = ()  # roles whose column may be missing
    day_first: bool | None = None  # of dates such as 01/03/2024; None: as the column shows
    categories: Categories = None

    @property
    def long(self) -> bool:
        """Whether the log has one row per candidate instead of one per event."""
        return "event" in self.columns


def laid_out(
    file: Any,
    format: str | None,
    items: Any,
    named: dict[str, Any],
    features: Any,
    separator: Any,
    delimiter: Any,
    day_first: Any,
    categories: Any,
) -> Layout:
    """Check the arguments of a ReplayLog, and find out which format the log has."""
    for name, value in {**named, "separator": separator, "delimiter": delimiter}.items():
        if not isinstance(value, str | None) or value == "":
            raise errors.refuse(name, value, "a text that is not empty")
    if delimiter is not None and len(delimiter.encode()) != 1:
        raise errors.refuse("delimiter", delimiter, "one character")
    given = {name: value for name, value in named.items() if value is not None}
    if day_first is not None:
        day_first = Flag().of("day_first", day_first)
        if "time" not in given:
            raise errors.refuse("day_first", day_first, "left out: no column is named as time")
    categories = check_categories(categories)
    wide = _features(features)
    log = Source.of("file", file, format, delimiter or _delimiter(file))
    table = None
    item = given.pop("item")
    if items is not None:
        table = Source.of("items", items, _format(items, log), delimiter or _delimiter(items))
    columns = {name: given[name] for name in ("client", "chosen", "reward")}
    columns |= {name: given[name] for name in ("time", "event", PROPENSITY) if name in given}
    optional = () if PROPENSITY in given else (PROPENSITY,)
    columns |= {name: name for name in optional}
    if "event" not in given:
        if table is not None:
            columns["candidates"] = given["candidates"]
        elif wide is not None and len(wide) > 1:
            raise errors.refuse("features", list(wide), "one column, or items or event given")
        elif categories is not None:
            raise errors.refuse("categories", categories, NO_LISTS)
        else:
            columns["features"] = (wide or (INLINE,))[0]
    elif table is not None:
        columns["candidates"] = item
    elif wide is None:
        raise errors.refuse("features", None, "the columns with the features, or items given")
    else:
        columns |= {f"features {n}": name for n, name in enumerate(wide)}
    return Layout(
        log, table, columns, item, wide, separator or "|", optional, day_first, categories
    )


def check_categories(value: Any) -> Categories:
    """How columns of words are encoded: one-hot, or hashed into so many features."""
    if isinstance(value, Mapping):
        return {name: _encoding(f"categories.{name}", how) for name, how in value.items()}
    return None if value is None else _encoding("categories", value)


def _encoding(name: str, how: Any) -> str | int:
    if isinstance(how, str) and how != ONE_HOT:
        raise errors.refuse(name, how, f'"{ONE_HOT}" or a whole number from 1 to {MOST_DIM:,}')
    return how if isinstance(how, str) else Whole(1, MOST_DIM).of(name, how)


def _features(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else value
    good = isinstance(names, list | tuple) and all(isinstance(name, str) and name for name in names)
    if not good or not names or len(set(names)) < len(names):
        raise errors.refuse("features", value, "the name of a column, or a list of such names")
    return tuple(names)


def _format(items: Any, log: Source) -> str | None:
    """The format of the item table: by its ending, else that of the log."""
    told = is_frame(items) or str(items).lower().endswith(tuple(ENDINGS))
    return None if told or log.path is None else log.format


def _delimiter(file: Any) -> str:
    if is_frame(file):
        return ","
    return "\t" if ".tsv" in str(file).lower()[-7:] else ","
