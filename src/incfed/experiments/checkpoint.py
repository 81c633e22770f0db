"""Checkpoints: records of finished cells, kept so that an interrupted sweep can continue.

`Checkpoint` keeps them in memory, `CellsFile` in a file with one JSON line a cell, `RunFolders` (in
`run_folders`) keeps whole results in folders. What is counted as kept is on disk.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..support.files import alone_in, claim, replacing
from ..support.inputs import InputError
from .cells import Cell, Record

NAME = "cells.jsonl"
HEAD: Mapping[str, Any] = {"format": "incfed.cells", "version": 1}
OURS = (  # what commands write beside a checkpoint
    "runs",
    "plots",
    "report.html",
    "summary.md",
    "summary.json",
    "cells.parquet",
    "curves.parquet",
)


class Checkpoint:
    """In memory."""

    full = False  # are whole results kept?

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}  # by fingerprint

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
        self._whole = 0  # bytes of whole lines, all of them in `records`

    @contextmanager
    def open(self, *, fresh: bool = False) -> Iterator[None]:
        claim(self.path.parent, mark=self.path.name, ours=self._ours)
        with alone_in(self.path.parent):
            self._load(fresh)
            try:
                self._file = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
                self._cut()
            except OSError as error:
                raise _unwritable(self.path, error) from None
            try:
                yield
            finally:
                os.close(self._file)

    def _load(self, fresh: bool) -> None:
        """Read it; a new one takes the place of the old in one go."""
        known = self.path.exists() and self.path.stat().st_size > 0
        if known:
            self.records, self._whole = _read(self.path)  # also if fresh: never replace another's
        if fresh or not known:
            self.records = {}
            with replacing(self.path) as new:
                new.write_text(json.dumps(HEAD) + "\n", encoding="utf-8")
            self._whole = self.path.stat().st_size

    def add(self, record: Record) -> None:
        line = record.to_json().encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:  # the disk is full
            raise _unwritable(self.path, error) from None
        super().add(record)
        self._whole = os.lseek(self._file, 0, os.SEEK_CUR)

    def recover(self) -> None:
        """A line that is whole counts, one that was cut off is dropped."""
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


def read_cells(path: Path) -> list[Record]:
    """All records of a file, in the order in which they were made."""
    return list(_read(path)[0].values())


def check_resume(mark: Path, *, resume: bool, fresh: bool) -> None:
    """Refuse to continue where nothing was started; `mark` is a file that every start writes."""
    if resume and fresh:
        raise InputError("--resume and --fresh: got both, must be one of them")
    if resume and not mark.exists():
        raise InputError(
            f"--resume: {mark.parent} has no runs to continue ({mark.name} is missing); leave "
            "--resume out to start there, or name another folder with --output"
        )


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
            f"{path}: is not a file of finished runs that this version of incfed can read; move "
            "it away, or choose another folder"
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
