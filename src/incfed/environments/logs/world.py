"""A recommendation log as a world: clients, candidates, choices and rewards."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...support import inputs
from ..base import MOST, Events, Stream, World
from .forms import read_log
from .layout import laid_out
from .report import BadRows

UNSEEN = {"replay": float("nan"), "zero": 0.0}  # reward of an arm that the log did not choose


class ReplayLog(World):
    """Events in the order of the file, or of the column `time`.

    mode: what happens if an algorithm picks a different arm than the log did. "replay": the event
    is skipped (`Result.matched` counts the others), which gives unbiased estimates if the log's
    picks were random, each candidate equally likely. "zero": the reward is 0.

    A log has one of three formats:
    - `items` given: a table with an id (`item`) and features in each row. The log has one row per
      event, with ids in `candidates` (a list, or text such as "12|7|99") and in `chosen`;
    - `event` given, the column that says which rows belong together: one row per candidate, with
      `chosen` 1 in one row of each event, and `features`, a list of columns (or `item`, an id, and
      `items` given);
    - neither: one row per event, with a list of numbers for each candidate in `features` (or text
      such as "0.1,0.2|0.7,0.5"), and in `chosen` the index of one of them, from 0.

    file: the log, Parquet or CSV.
    items: a table of items, Parquet or CSV.
    client, candidates, chosen, reward: the names of these columns.
    time: a column to sort by; None: events are in the order of the file.
    event: the column that says which rows belong together, if there is one row per candidate.
    item: the column of an item's id.
    features: the column, or the columns, of features.
    format: "parquet" or "csv"; None: as the name of the file says.
    separator: between the candidates of an event, in text.
    delimiter: between the columns of a CSV file; None: it is found out.

    Candidates are shuffled, so that the position in the log does not matter. Rows that cannot be
    used are left out, counted in `report`, and reported by a warning.

    >>> from pathlib import Path
    >>> text = "client;features;chosen;reward\\nann;1,0|0,1;0;1\\nbob;1,0|0,1;1;0\\n"
    >>> size = Path("log.csv").write_text(text)
    >>> log = incfed.ReplayLog("log.csv", mode="replay", delimiter=";")
    >>> log.client_names, log.length, log.dim
    (['ann', 'bob'], 2, 2)
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        mode: str,
        items: str | os.PathLike[str] | None = None,
        client: str = "client",
        candidates: str = "candidates",
        chosen: str = "chosen",
        reward: str = "reward",
        time: str | None = None,
        event: str | None = None,
        item: str = "item",
        features: str | Sequence[str] | None = None,
        format: str | None = None,
        separator: str = "|",
        delimiter: str | None = None,
    ) -> None:
        self.mode = inputs.choice("mode", mode, tuple(UNSEEN))
        named = {
            "client": client, "candidates": candidates, "chosen": chosen, "reward": reward,
            "time": time, "event": event, "item": item,
        }  # fmt: skip
        layout = laid_out(file, format, items, named, features, separator, delimiter)
        self.file = layout.log.path
        self._log = read_log(layout)
        self.report, self.item_report = self._log.report, self._log.item_report
        if 2 * self.report.kept < self.report.rows:
            allowed = f"a log of which at least half can be used ({self.report})"
            raise inputs.refuse("file", str(file), allowed)
        if len(self.client_names) > MOST:
            raise inputs.refuse(
                "client", inputs.counted(len(self.client_names), "client"), f"at most {MOST:,}"
            )
        if self.notes:
            warnings.warn("\n".join(self.notes), BadRows, stacklevel=2)

    @classmethod
    def from_parquet(cls, file: str | os.PathLike[str], *, mode: str, **options: Any) -> ReplayLog:
        """Read a Parquet file, whatever its name; options as for ReplayLog."""
        return cls(file, mode=mode, format="parquet", **options)

    @classmethod
    def from_csv(cls, file: str | os.PathLike[str], *, mode: str, **options: Any) -> ReplayLog:
        """Read a CSV file, whatever its name; options as for ReplayLog."""
        return cls(file, mode=mode, format="csv", **options)

    @property
    def client_names(self) -> list[Any]:
        """The names of clients 0, 1, 2, ... in the log, sorted."""
        return self._log.names

    @property
    def count(self) -> int:
        return len(self._log.names)

    @property
    def dim(self) -> int:
        return int(self._log.items.shape[1])

    @property
    def arms_per_step(self) -> int:
        """The largest number of candidates of an event."""
        return int(self._log.size.max())

    @property
    def length(self) -> int:
        return len(self._log.clients)

    @property
    def chance(self) -> bool:
        return False

    @property
    def notes(self) -> Sequence[str]:
        reports = (self.report, self.item_report)
        return [str(one) for one in reports if one is not None and one.dropped]

    def open(self, seed: np.random.SeedSequence) -> LogStream:
        return LogStream(self, np.random.default_rng(seed))

    def settings(self) -> dict[str, Any]:
        return {
            "kind": "ReplayLog",
            "mode": self.mode,
            "file": self.file.name,
            "clients": self.count,
            "dim": self.dim,
            "arms": self.arms_per_step,
            "length": self.length,
            "items": len(self._log.items),
            "log": self.report.settings(),
            **({} if self.item_report is None else {"item_table": self.item_report.settings()}),
        }


class LogStream(Stream):
    """The log's events; candidates shuffled by `chance`, or as in the file if it is None.

    In many logs the chosen candidate comes first; ties go to the first and would reveal it.
    """

    def __init__(self, world: ReplayLog, chance: np.random.Generator | None) -> None:
        log = world._log
        self.items = log.items
        self.recurring = log.shown.size > len(log.items)
        self._log = log
        self._arms = np.arange(world.arms_per_step)
        self._unseen = UNSEEN[world.mode]
        self._next = 0
        self._chance = chance

    def skip(self, n: int) -> None:
        self._next += n

    def take(self, n: int) -> Events:
        log, part = self._log, slice(self._next, self._next + n)
        self._next += n
        start, size = log.start[part, None], log.size[part, None]
        # Shorter events repeat their last candidate. Ties go to the lowest index, so that a copy is
        # never picked; if it were, it would have the same reward.
        place = np.minimum(self._arms, size - 1)
        if self._chance is not None:
            there = self._arms < size
            keys = np.full(there.shape, 2.0)
            keys[there] = self._chance.random(np.count_nonzero(there))  # one per candidate
            place = np.take_along_axis(keys.argsort(axis=1), place, axis=1)
        arms = log.shown[start + place]
        chosen = arms == log.chosen[part, None]
        rewards = np.where(chosen, log.rewards[part, None], self._unseen)
        return Events(log.clients[part], arms, rewards, np.full_like(rewards, np.nan))
