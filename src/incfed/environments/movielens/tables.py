"""One file of a MovieLens release: read it lazily, and find the line of an error."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError
from ...support.inputs import counted

if TYPE_CHECKING:
    import polars as pl

KINDS = {"userId": int, "movieId": int, "rating": float, "timestamp": int}  # other columns are text
NOUNS = {int: "a whole number", float: "a number", str: "text"}


@dataclass(frozen=True)
class ReleaseFile:
    """A file with one row per line: its required columns and their separator.

    With a header the columns may be in any order, and there may be others. Files without a header
    have exactly these columns, are in Latin-1 and have no quotes.
    """

    path: Path
    columns: tuple[str, ...]
    separator: str = ","
    header: bool = True

    def scan(self) -> pl.LazyFrame:
        """A lazy scan of all columns, and `row`, the row number."""
        import polars as pl

        types = {int: pl.Int64, float: pl.Float64, str: pl.String}
        schema: dict[str, type[pl.DataType]] = {}
        for n, name in enumerate(self.names()):
            if n and self.separator == "::":  # polars supports separators of one character only
                schema[f"gap {n}"] = pl.String
            schema[name] = types[KINDS.get(name, str)]
        return pl.scan_csv(
            self.path,
            schema=schema,
            separator=self.separator[0],
            has_header=self.header,
            quote_char='"' if self.header else None,
            row_index_name="row",
        )

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The number and the fields of each line that is not empty (slow)."""
        encoding = "utf-8-sig" if self.header else "latin-1"
        with self.path.open(encoding=encoding, newline="" if self.header else "\n") as file:
            if self.header:
                reader = csv.reader(file, strict=True)
                next(reader, None)
                yield from ((reader.line_num, row) for row in reader if row)
            else:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield number, line.rstrip("\r\n").split(self.separator)

    def names(self) -> list[str]:
        """The columns of the file; an error if a required one is missing."""
        if not self.header:
            return list(self.columns)
        try:
            with self.path.open("rb") as file:
                names = next(csv.reader([file.readline(10_000).decode("utf-8-sig")]), [])
        except OSError as error:
            raise self._unreadable(error) from None
        except UnicodeDecodeError:
            raise self.at(1, "must be text in UTF-8") from None
        except csv.Error:
            raise self.at(1, "must be a line of its own") from None
        for name in self.columns:
            if names.count(name) != 1:
                said = "appears more than once" if name in names else "is missing"
                got = ", ".join(names)[:80] or "nothing"
                raise self.at(1, f"the column {name} {said}: got {got}, must have {self._wanted}")
        return names

    def fault(self, reason: object) -> InputError:
        """The error to raise for a bad file, with its first bad line."""
        words = " ".join(str(reason).split())[:200]
        unknown = InputError(f"{self.path}: cannot be read as {self._wanted} ({words})")
        return self.search() or unknown

    def search(self) -> InputError | None:
        """Search line by line for the first bad line."""
        names, number = self.names(), 1
        try:
            for number, row in self.rows():
                if said := self.wrong(names, row):
                    return self.at(number, said)
        except UnicodeDecodeError:
            return self.at(_not_text(self.path), "must be text in UTF-8")
        except csv.Error as error:
            return self.at(number + 1, f"(or soon after) must be CSV: {error}")
        except OSError as error:
            return self._unreadable(error)
        return None

    def wrong(self, names: list[str], row: list[str]) -> str:
        """What is wrong with a row; empty if nothing."""
        if len(row) != len(names):
            return f"got {counted(len(row), 'field')}, must be {len(names)}: {', '.join(names)}"
        for name, field in zip(names, row, strict=True):
            kind = KINDS.get(name, str)
            if not _is(kind, field):
                return f"{name}: got {field!r:.80}, must be {NOUNS[kind]}"
            if name == "rating" and not 0 <= float(field) <= 5:
                return f"{name}: got {field}, must be from 0 to 5"
        return ""

    def at(self, line: int, said: str) -> InputError:
        return InputError(f"{self.path}, line {line}: {said}")

    def _unreadable(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: cannot be read ({error.strerror or error})")

    @property
    def _wanted(self) -> str:
        return ", ".join(self.columns)


def _is(kind: type, field: str) -> bool:
    try:
        return kind is str or ("_" not in field and math.isfinite(kind(field)))
    except (ValueError, OverflowError):
        return False


def _not_text(path: Path) -> int:
    """The number of the first line that is not in UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return number
    return 0
