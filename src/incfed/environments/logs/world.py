"""A recommendation log as a world: clients, candidates, choices and rewards."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ... import errors
from ...support import inputs
from ...types import Ints
from ...values import Number, Word
from ..base import MOST, Events, Stream, World
from ..known_rewards import KnownRewards, inverse_weights
from .forms import read_log
from .layout import PROPENSITY, Categories, is_frame, laid_out
from .report import BadRows

if TYPE_CHECKING:
    import polars

Table: TypeAlias = Any  # the path of a file, or a pandas or polars data frame
UNSEEN = {"replay": float("nan"), "zero": 0.0}  # reward of an arm that the log did not choose


class ReplayLog(World):
    """Events in the order of the file or data frame, or of the column `time`.

    mode: what happens if an algorithm picks a different arm than the log did. "replay": the event
    is skipped (`Result.matched` counts the others), which gives unbiased estimates if the log's
    picks were random, each candidate equally likely. "zero": the reward is 0.

    If picks were not equally likely, a column of propensities makes "replay" unbiased again: an
    event is kept with a probability of c / propensity, where c is the smallest one.

    A log has one of three formats:
    - `items` given: a table with an id (`item`) and features in each row. The log has one row per
      event, with ids in `candidates` (a list, or text such as "12|7|99") and in `chosen`;
    - `event` given, the column that says which rows belong together: one row per candidate, with
      `chosen` 1 in one row of each event, and `features`, a list of columns (or `item`, an id, and
      `items` given);
    - neither: one row per event, with a list of numbers for each candidate in `features` (or text
      such as "0.1,0.2|0.7,0.5"), and in `chosen` the index of one of them, from 0.

    file: the log, Parquet or CSV; in Python also a pandas or polars data frame.
    items: a table of items, as for the log.
    client, candidates, chosen, reward: the names of these columns.
    time: a column to sort by; None: events are in the order of the file.
    event: the column that says which rows belong together, if there is one row per candidate.
    item: the column of an item's id.
    features: the column, or the columns, of features.
    propensity: the column that says how likely each pick was; None: one of this name, if any.
    clip: propensities below this count as this, for more events and some bias.
    format: "parquet" or "csv"; None: as the name of the file says.
    separator: between the candidates of an event, in text.
    delimiter: between the columns of a CSV file; None: it is found out.
    day_first: whether 01/03/2024 is 1 March; None: as other times of the log show.
    categories: how columns of words become features: "one-hot" (a feature for each word), a number
        (they are hashed into so many), or one of these for each column named; None: refused.

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
        file: Table,
        *,
        mode: str,
        items: Table | None = None,
        client: str = "client",
        candidates: str = "candidates",
        chosen: str = "chosen",
        reward: str = "reward",
        time: str | None = None,
        event: str | None = None,
        item: str = "item",
        features: str | Sequence[str] | None = None,
        propensity: str | None = None,
        clip: float = 0.0,
        format: str | None = None,
        separator: str = "|",
        delimiter: str | None = None,
        day_first: bool | None = None,
        categories: Categories = None,
    ) -> None:
        self.mode = Word(UNSEEN).of("mode", mode)
        named = {
            "client": client, "candidates": candidates, "chosen": chosen, "reward": reward,
            "time": time, "event": event, "item": item, PROPENSITY: propensity,
        }  # fmt: skip
        layout = laid_out(
            file, format, items, named, features, separator, delimiter, day_first, categories
        )
        self._categories = layout.categories
        self.file = layout.log.path  # None: a data frame
        self._source = layout.log.title
        self._log = read_log(layout)
        self._least = self._rejection(propensity, clip)
        self.report, self.item_report = self._log.report, self._log.item_report
        if 2 * self.report.kept < self.report.rows:
            allowed = f"a log of which at least half can be used ({self.report})"
            raise errors.refuse("file", layout.log.place, allowed)
        if len(self.client_names) > MOST:
            raise errors.refuse(
                "client", inputs.counted(len(self.client_names), "client"), f"at most {MOST:,}"
            )
        if self._bad_rows:
            warnings.warn("\n".join(self._bad_rows), BadRows, stacklevel=2)

    @classmethod
    def from_parquet(cls, file: str | os.PathLike[str], *, mode: str, **options: Any) -> ReplayLog:
        """Read a Parquet file, whatever its name; options as for ReplayLog.

        >>> import polars
        >>> frame = polars.DataFrame({
        ...     "client": ["ann", "bob"], "chosen": [0, 1], "reward": [1.0, 0.0],
        ...     "features": [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
        ... })
        >>> frame.write_parquet("log-of-may")
        >>> incfed.ReplayLog.from_parquet("log-of-may", mode="replay")
        <ReplayLog: 2 clients, 2 features, 2 arms a step, 2 steps>
        """
        return cls(file, mode=mode, format="parquet", **options)

    @classmethod
    def from_csv(cls, file: str | os.PathLike[str], *, mode: str, **options: Any) -> ReplayLog:
        """Read a CSV file, whatever its name; options as for ReplayLog.

        >>> incfed.ReplayLog.from_csv("log.csv", mode="zero", delimiter=";")
        <ReplayLog: 2 clients, 2 features, 2 arms a step, 2 steps>
        """
        return cls(file, mode=mode, format="csv", **options)

    @classmethod
    def from_pandas(cls, frame: Any, *, mode: str, **options: Any) -> ReplayLog:
        """Read a pandas data frame; options as for ReplayLog.

        >>> import pandas
        >>> same = pandas.DataFrame(frame.to_dict(as_series=False))
        >>> incfed.ReplayLog.from_pandas(same, mode="replay")
        <ReplayLog: 2 clients, 2 features, 2 arms a step, 2 steps>
        """
        return cls(_frame(frame, "pandas"), mode=mode, **options)

    @classmethod
    def from_polars(cls, frame: polars.DataFrame, *, mode: str, **options: Any) -> ReplayLog:
        """Read a polars data frame; options as for ReplayLog.

        >>> incfed.ReplayLog.from_polars(frame, mode="replay")
        <ReplayLog: 2 clients, 2 features, 2 arms a step, 2 steps>
        """
        return cls(_frame(frame, "polars"), mode=mode, **options)

    def _rejection(self, propensity: str | None, clip: float) -> float | None:
        """c, by which an event is kept with probability c / propensity; None: all are."""
        clip = float(Number(0.0, 1.0).of("clip", clip))
        given = self._log.propensities
        if self.mode != "replay" and propensity is not None:
            raise errors.refuse(PROPENSITY, propensity, 'left out, or mode = "replay"')
        if clip and given is None:
            raise errors.refuse("clip", clip, "left out: the log has no column of propensities")
        if self.mode != "replay" or given is None:
            return None
        return max(float(given.min()), clip)

    @property
    def client_names(self) -> list[Any]:
        """The names of clients 0, 1, 2, ... in the log, sorted.

        >>> log.client_names
        ['ann', 'bob']
        """
        return self._log.names

    @property
    def feature_names(self) -> list[str]:
        """The names of the features: of columns, and of the words or numbers that are encoded.

        >>> import polars
        >>> table = polars.DataFrame({"item": [1, 2], "price": [3, 5], "colour": ["red", "blue"]})
        >>> events = polars.DataFrame(
        ...     {"client": ["ann"], "candidates": [[1, 2]], "chosen": [1], "reward": [1]}
        ... )
        >>> shop = incfed.ReplayLog(events, mode="replay", items=table, categories="one-hot")
        >>> shop.feature_names
        ['price', 'colour=blue', 'colour=red']
        >>> hashed = incfed.ReplayLog(events, mode="replay", items=table, categories={"colour": 2})
        >>> hashed.feature_names
        ['price', 'colour#0', 'colour#1']
        """
        return self._log.feature_names

    @property
    def count(self) -> int:
        return len(self._log.names)

    @property
    def dim(self) -> int:
        return int(self._log.items.shape[1])

    @property
    def arms_per_step(self) -> int:
        """The largest number of candidates of an event.

        >>> log.arms_per_step
        2
        """
        return int(self._log.size.max())

    @property
    def length(self) -> int:
        return len(self._log.clients)

    @property
    def chance(self) -> bool:
        return False

    @property
    def match_rate(self) -> float:
        """The share of events that match: one in K with K equally likely candidates, the smallest
        propensity where the log has propensities, whatever the algorithm picks.

        >>> log.match_rate
        0.5
        """
        if self.mode != "replay":
            return 1.0
        if self._least is not None:
            return self._least
        return float((1.0 / self._log.size).mean())

    @property
    def effective(self) -> float:
        """The effective sample size: how many live steps a replay is worth, on average.

        >>> log.effective
        1.0
        """
        return self.match_rate * self.length

    @property
    def notes(self) -> Sequence[str]:
        if self._least is None or self._log.propensities is None:
            return self._bad_rows
        low, high = self._log.propensities.min(), self._log.propensities.max()
        worth = inputs.counted(round(self.effective), "live step")
        clipped = f", clipped to {self._least:.3g}" if self._least > low else ""
        return [
            *self._bad_rows,
            f"{self._source}: propensities from {low:.3g} to {high:.3g}{clipped}; after rejection "
            f"sampling the {inputs.counted(self.length, 'event')} are worth about {worth}",
        ]

    @property
    def _bad_rows(self) -> list[str]:
        reports = (self.report, self.item_report)
        return [str(report) for report in reports if report is not None and report.dropped]

    def open(self, seed: np.random.SeedSequence) -> LogStream:
        # Drawn apart: the order of candidates is the same with and without propensities.
        other = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1))
        return LogStream(self, np.random.default_rng(seed), np.random.default_rng(other))

    def known_rewards(self) -> KnownRewards:
        """The rewards that the log knows: of the chosen candidates, weighted if it has
        propensities; with mode "zero" of all candidates.

        >>> log.known_rewards().rewards
        array([1., 0.])
        """
        log = self._log
        events, items, rewards = np.arange(self.length), log.chosen, log.rewards
        if self.mode == "zero":
            events = np.repeat(events, log.size)
            first = np.repeat(log.start - (np.cumsum(log.size) - log.size), log.size)
            items = log.shown[first + np.arange(len(events))]
            rewards = np.where(items == log.chosen[events], log.rewards[events], 0.0)
        weights = np.ones(len(events))
        if log.propensities is not None and self.mode == "replay":
            weights = inverse_weights(log.propensities)
        return KnownRewards(log.clients[events], events, log.items[items], rewards, weights)

    def settings(self) -> dict[str, Any]:
        return {
            "kind": "ReplayLog",
            "mode": self.mode,
            "file": self._source,
            "clients": self.count,
            "dim": self.dim,
            "arms": self.arms_per_step,
            "length": self.length,
            "items": len(self._log.items),
            "log": self.report.settings(),
            **({} if self._categories is None else {"categories": self._categories}),
            **({} if self._least is None else {"least_propensity": self._least}),
            **({} if self.item_report is None else {"item_table": self.item_report.settings()}),
        }


def _frame(frame: Any, library: str) -> Any:
    if not is_frame(frame, library):
        raise errors.refuse("frame", frame, f"a {library} data frame")
    return frame


class LogStream(Stream):
    """The log's events; candidates shuffled by `chance`, or as in the file if it is None. `accept`
    draws which events rejection sampling keeps.

    In many logs the chosen candidate comes first; ties go to the first and would reveal it.
    """

    def __init__(
        self,
        world: ReplayLog,
        chance: np.random.Generator | None,
        accept: np.random.Generator | None = None,
    ) -> None:
        log = world._log
        self.items = log.items
        self.recurring = log.shown.size > len(log.items)
        self._log = log
        self._arms = np.arange(world.arms_per_step)
        self._unseen = UNSEEN[world.mode]
        self._next = 0
        self._chance = chance
        self._accept = accept
        self._least = world._least

    def skip(self, n: int) -> None:
        self._next += n

    def take(self, n: int) -> Events:
        self._next += n
        return self.gather(slice(self._next - n, self._next))

    def gather(self, steps: slice | Ints) -> Events:
        log = self._log
        start, size = log.start[steps, None], log.size[steps, None]
        # Shorter events repeat their last candidate. Ties go to the lowest index, so that a copy is
        # never picked; if it were, it would have the same reward.
        place = np.minimum(self._arms, size - 1)
        if self._chance is not None:
            there = self._arms < size
            keys = np.full(there.shape, 2.0)
            keys[there] = self._chance.random(np.count_nonzero(there))  # one per candidate
            place = np.take_along_axis(keys.argsort(axis=1), place, axis=1)
        arms = log.shown[start + place]
        chosen = arms == log.chosen[steps, None]
        if self._accept is not None and self._least is not None and log.propensities is not None:
            # Kept with c / propensity: whatever is picked then matches with probability c.
            draws = self._accept.random(len(chosen))
            chosen &= (draws * log.propensities[steps] < self._least)[:, None]
        rewards = np.where(chosen, log.rewards[steps, None], self._unseen)
        return Events(log.clients[steps], arms, rewards, np.full_like(rewards, np.nan))
