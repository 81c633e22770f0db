"""The book of a sweep: a file with one JSON line for each finished cell.

A line is on disk before the next cell is counted as done, so that a killed sweep loses only what
was under way. A last line that was cut off is dropped by the next start; a line that cannot be
read is as if it were not there, and its cell is run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ..inputs import InputError
from .cells import Record
from .files import replacing

NAME = "cells.jsonl"
HEAD: Mapping[str, Any] = {"format": "incfed.cells", "version": 1}


class Book:
    """Opened to go on; `fresh` begins a new one, which takes the place of the old in one go."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self.records: dict[str, Record] = {}  # by fingerprint
        known = path.exists() and path.stat().st_size > 0
        whole = 0
        if known:
            self.records, whole = _read(path)  # also if fresh: never replace what is not ours
        if fresh or not known:
            self.records = {}
            with replacing(path) as new:
                new.write_text(json.dumps(HEAD) + "\n", encoding="utf-8")
            whole = path.stat().st_size
        try:
            self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            if os.lseek(self._file, 0, os.SEEK_END) > whole:
                os.ftruncate(self._file, whole)
                os.lseek(self._file, whole, os.SEEK_SET)
        except OSError as error:
            raise _unwritable(path, error) from None

    def add(self, record: Record) -> None:
        """Write a record down, for good."""
        line = record.to_json().encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:  # the disk is full
            raise _unwritable(self.path, error) from None
        finally:
            if not line:  # also if Ctrl-C cuts the flush short: it will be found there
                self.records[record.fingerprint] = record

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)


def read_book(path: Path) -> list[Record]:
    """All records of a book, in the order in which they were made."""
    return list(_read(path)[0].values())


def _read(path: Path) -> tuple[dict[str, Record], int]:
    """The records, and up to which byte the file consists of whole lines."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if lines and not lines[-1].endswith(b"\n"):
        del lines[-1]
    try:
        head = json.loads(lines[0]) if lines else None
    except ValueError:
        head = None
    if head != HEAD:
        raise InputError(
            f"{path}: is not a book of cells that this version of incfed made; move it away, or "
            "choose another folder"
        )
    records: dict[str, Record] = {}
    for line in lines[1:]:
        try:
            record = Record.from_json(line)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        records[record.fingerprint] = record
    return records, sum(map(len, lines))


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}")
