"""Find the rows of a CSV file that have more fields than its header, which polars only refuses."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...types import Ints

RAGGED = "ragged"  # a column that says of a row that is too long how many fields it has
GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Ragged:
    """The rows that are too long, and the text of the file without their surplus fields."""

    rows: Ints  # from 1, the first one below the header
    fields: Ints  # how many each of them has
    text: bytes


def find_ragged(path: Path, delimiter: str, header: int) -> Ragged:
    """The rows with more fields than the header, which has `header`. Quoted fields may contain
    delimiters and newlines; a quote in a field that does not begin with one is like any other
    character (as polars reads them)."""
    text = path.read_bytes()
    if text.startswith(GZIP):
        text = gzip.decompress(text)
    text = text.removeprefix(BYTE_ORDER_MARK).lstrip(b"\r\n")
    between = delimiter.encode()
    quoted = rb'"(?<![^\n%s]")[^"]*(?:""[^"]*)*"' % re.escape(between)
    plain = np.frombuffer(re.sub(quoted, lambda field: b"q" * len(field[0]), text), np.uint8)
    ends, marks = np.flatnonzero(plain == ord("\n")), np.flatnonzero(plain == ord(between))
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(text))
    so_far = np.searchsorted(marks, ends)
    fields = np.diff(so_far, prepend=0) + 1
    rows = 1 + np.flatnonzero(fields[1:] > header)
    surplus = marks[so_far[rows] - fields[rows] + header]  # the delimiter where it begins
    borders = np.zeros(len(text) + 1, bool)
    borders[surplus] = borders[ends[rows]] = True
    kept = ~np.logical_xor.accumulate(borders)[:-1]
    return Ragged(rows, fields[rows], np.frombuffer(text, np.uint8)[kept].tobytes())
