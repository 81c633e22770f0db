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

from ..support.files import replacing
from ..support.inputs import InputError
from .cells import Record

NAME = "cells.jsonl"
HEAD: Mapping[str, Any] = {"format": "incfed.cells", "version": 1}


class Book:
    """Opened to go on; `fresh` begins a new one, which takes the place of the old in one go."""

    def __init__(self, path: Path, *, fresh: bool = False) -> None:
        self.path = path
        self.records: dict[str, Record] = {}  # by fingerprint
        known = path.exists() and path.stat().st_size > 0
        self._whole = 0  # bytes of whole lines, all of them in `records`
        if known:
            self.records, self._whole = _read(path)  # also if fresh: never replace another's file
        if fresh or not known:
            self.records = {}
            with replacing(path) as new:
                new.write_text(json.dumps(HEAD) + "\n", encoding="utf-8")
            self._whole = path.stat().st_size
        try:
            self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            self._cut()
        except OSError as error:
            raise _unwritable(path, error) from None

    def add(self, record: Record) -> None:
        """Write a record down, for good. After a Ctrl-C in here, call `recover`."""
        line = record.to_json().encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:  # the disk is full
            raise _unwritable(self.path, error) from None
        self.records[record.fingerprint] = record
        self._whole = os.lseek(self._file, 0, os.SEEK_CUR)

    def recover(self) -> None:
        """Make `records` what the file holds, wherever `add` was interrupted: a line that is whole
        counts, one that was cut off is dropped."""
        os.lseek(self._file, self._whole, os.SEEK_SET)
        rest = b"".join(iter(lambda: os.read(self._file, 2**20), b""))
        records, whole = _parse(rest.splitlines(keepends=True))
        self.records.update(records)
        self._whole += whole
        self._cut()

    def _cut(self) -> None:
        """Drop what follows the last whole line, and go on writing there."""
        if os.lseek(self._file, 0, os.SEEK_END) > self._whole:
            os.ftruncate(self._file, self._whole)
            os.lseek(self._file, self._whole, os.SEEK_SET)

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
    try:
        head = json.loads(lines[0]) if lines and lines[0].endswith(b"\n") else None
    except ValueError:
        head = None
    if head != HEAD:
        raise InputError(
            f"{path}: is not a book of cells that this version of incfed made; move it away, or "
            "choose another folder"
        )
    records, whole = _parse(lines[1:])
    return records, len(lines[0]) + whole


def _parse(lines: list[bytes]) -> tuple[dict[str, Record], int]:
    """Their records, and how many bytes of them are whole lines."""
    if lines and not lines[-1].endswith(b"\n"):
        lines = lines[:-1]
    records: dict[str, Record] = {}
    for line in lines:
        try:
            record = Record.from_json(line)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        records[record.fingerprint] = record
    return records, sum(map(len, lines))


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}")
