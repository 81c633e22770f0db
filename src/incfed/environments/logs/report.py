"""Report which rows of a log could not be used, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...support.inputs import counted
from ...types import Ints, Mask
from .ragged import RAGGED

if TYPE_CHECKING:
    import polars as pl

SHOWN = 3  # row numbers shown per reason


class BadRows(UserWarning):
    """Some rows of a log could not be used; the message says how many and why.

    >>> import warnings
    >>> from pathlib import Path
    >>> text = "client;features;chosen;reward\\nann;1,0|0,1;0;1\\nbob;1,0|0,1;7;0\\n"
    >>> size = Path("bad.csv").write_text(text)
    >>> with warnings.catch_warnings(action="ignore", category=incfed.BadRows):
    ...     log = incfed.ReplayLog("bad.csv", mode="replay", delimiter=";")
    >>> log.report.kept, log.report.rows
    (1, 2)
    """


@dataclass(frozen=True)
class Report:
    """How many rows of a file were kept and dropped (with one row per candidate: events).

    Row 1 is the first one below the header.
    """

    file: str
    rows: int
    kept: int
    dropped: Mapping[str, int]  # number of rows, by reason
    examples: Mapping[str, tuple[int, ...]]  # the first row numbers, by reason

    def __str__(self) -> str:
        if not self.dropped:
            return f"{self.file}: {counted(self.rows, 'row')}, none dropped"
        reasons = (
            f"{reason}: {count:,} ({_rows(self.examples[reason], count)})"
            for reason, count in self.dropped.items()
        )
        lost = self.rows - self.kept
        return f"{self.file}: {lost:,} of {counted(self.rows, 'row')} dropped; {'; '.join(reasons)}"

    def settings(self) -> dict[str, Any]:
        """The settings that a result records."""
        return {"rows": self.rows, "dropped": dict(self.dropped)}


class Sieve:
    """Collects bad rows, each with the first reason found."""

    def __init__(self, file: str, rows: Ints) -> None:
        self._file = file
        self._rows = rows  # row numbers in the file
        self._reasons: list[str] = []
        self._why = np.full(len(rows), -1)

    def mark(self, reason: str, bad: Mask) -> None:
        self._why[bad & (self._why < 0)] = len(self._reasons)
        self._reasons.append(reason)

    def mark_ragged(self, frame: pl.DataFrame) -> None:
        """Mark the rows that have too many fields, which `read` found."""
        if RAGGED in frame.columns:
            said = frame[RAGGED]
            self.mark(f"too many fields ({said.drop_nulls()[0]})", said.is_not_null().to_numpy())

    @property
    def good(self) -> Mask:
        found: Mask = self._why < 0
        return found

    def report(self) -> Report:
        hit = {reason: self._rows[self._why == n] for n, reason in enumerate(self._reasons)}
        hit = {reason: np.sort(rows) for reason, rows in hit.items() if len(rows)}
        return Report(
            file=self._file,
            rows=len(self._rows),
            kept=int(self.good.sum()),
            dropped={reason: len(rows) for reason, rows in hit.items()},
            examples={reason: tuple(rows[:SHOWN].tolist()) for reason, rows in hit.items()},
        )


def _rows(examples: Sequence[int], count: int) -> str:
    noun, more = "rows" if count > 1 else "row", ", ..." if count > len(examples) else ""
    return f"{noun} {', '.join(map(str, examples))}{more}"
