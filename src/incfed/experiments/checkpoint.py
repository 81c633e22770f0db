"""Checkpoints: records of finished cells, kept so that an interrupted sweep can continue.

`Checkpoint` keeps them in memory, `CellsFile` in a file with one JSON line a cell, `RunFolders` (in
`run_folders`) keeps whole results in folders. What is counted as kept is on disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._version import __version__
from ..errors import InputError
from ..support.files import alone_in, claim, write_text
from ..support.formats import FormatError, check_format
from .cells import Cell, Record

NAME = "cells.jsonl"
FORMAT, VERSION = "incfed.cells", 2
HEAD: Mapping[str, Any] = {"format": FORMAT, "version": VERSION, "incfed": __version__}
OURS = (  # what commands write beside a checkpoint
    "runs", "plots", "report.html", "summary.md", "summary.json", "cells.parquet", "curves.parquet",
    "earlier",
)  # fmt: skip


class Checkpoint:
    """In memory."""

    full = False  # are whole results kept?

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}  # by fingerprint

    def check(self) -> None:
        """Refuse an output folder of another version of incfed, also for a fresh start."""
        try:
            self._check_format()
        except FormatError as error:
            raise FormatError(f"output: {error}; choose another folder") from None

    def _check_format(self) -> None:
        """FormatError if another version wrote what is there."""

    @contextmanager
    def open(self, *, fresh: bool = False) -> Iterator[None]:
        """While it is open, nobody else writes to it; `fresh` forgets what it has."""
        yield

    def expect(self, cells: Sequence[Cell], fingerprints: Sequence[str]) -> None:
        """These cells are about to be run."""

    def add(self, record: Record) -> None:
        """Keep a record for good. After a Ctrl-C in here, call `recover`."""
        self.records[record.fingerprint] = record

    def recover(self) -> None:
        """Make `records` what is on disk, wherever `add` was interrupted."""


class CellsFile(Checkpoint):
    """A file in a folder of its own.

    A line is on disk before the next cell is counted as done, so that a killed sweep loses only
    what was under way. A last line that was cut off is dropped by the next start; a line that
    cannot be read is ignored, and its cell is run again.
    """

    def __init__(self, path: Path, *, ours: Sequence[str] = OURS) -> None:
        """`ours`: what will be written beside it, and must not be somebody else's."""
        super().__init__()
        self.path = path
        self._ours = ours

    def _check_format(self) -> None:
        with suppress(OSError), self.path.open("rb") as file:
            if first := file.readline():
                _check_head(self.path, first)

    @contextmanager
    def open(self, *, fresh: bool = False) -> Iterator[None]:
        self.check()
        claim(self.path.parent, mark=self.path.name, ours=self._ours)
        with alone_in(self.path.parent):
            known = self.path.exists() and self.path.stat().st_size > 0
            if known:
                _read(self.path)  # also if fresh: somebody else's file is not replaced
            if fresh or not known:
                write_text(self.path, json.dumps(HEAD) + "\n")
            try:
                self._file = os.open(self.path, os.O_WRONLY | getattr(os, "O_BINARY", 0))
            except OSError as error:
                raise _unwritable(self.path, error) from None
            try:
                self.recover()
                yield
            finally:
                os.close(self._file)

    def add(self, record: Record) -> None:
        line = record.to_json().encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:  # the disk is full
            raise _unwritable(self.path, error) from None
        super().add(record)

    def recover(self) -> None:
        """Make `records` what is on disk: all whole lines. One that was cut off is dropped."""
        records, whole = _read(self.path)
        self.records.clear()
        self.records.update(records)
        if os.lseek(self._file, 0, os.SEEK_END) > whole:
            os.ftruncate(self._file, whole)
            os.lseek(self._file, whole, os.SEEK_SET)


def read_cells(path: Path) -> list[Record]:
    """All records of a file, in the order in which they were made."""
    return list(_read(path)[0].values())


def _read(path: Path) -> tuple[dict[str, Record], int]:
    """The records, and up to which byte the file consists of whole lines."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if lines and not lines[-1].endswith(b"\n"):
        lines.pop()
    _check_head(path, lines[0] if lines else b"")
    records: dict[str, Record] = {}
    for line in lines[1:]:
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            record = Record.from_json(line)
            records[record.fingerprint] = record
    return records, sum(map(len, lines))


def _check_head(path: Path, line: bytes) -> None:
    """Refuse a file whose first line is not that of a file of cells in the current format."""
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise InputError(
            f"{path}: is not a file of finished runs; move it away, or choose another folder"
        )
    check_format(path, head.get("version"), VERSION, head.get("incfed"))


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}")
