"""A recorded world, from arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from .. import errors, ranges
from ..support import inputs
from ..support.files import replacing
from ..types import Floats, Ints
from ..values import Whole
from .base import MOST, Events, Stream, World
from .known_rewards import KnownRewards


class Trace(World):
    """T recorded steps: the client that acted, the arms it saw, and the reward of each arm.

    clients: int [T], who acts: ids from 0.
    arms: float [T, K, d], features; or int [T, K], ids into `items`.
    rewards: float [T, K], what each arm would pay.
    expected: float [T, K], rewards without noise; without them regret is NaN.
    count: N, if larger than the largest id + 1.
    items: float [M, d], the features of the items that `arms` names.

    >>> trace = incfed.Trace(
    ...     clients=[0, 1, 0],  # three steps of two clients,
    ...     arms=[[0, 1], [1, 2], [0, 2]],  # each with two of
    ...     items=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]],  # three items
    ...     rewards=[[1, 0], [0, 1], [1, 1]],
    ... )
    >>> incfed.simulate(trace, incfed.Independent()).reward.tolist()
    [1.0, 1.0, 2.0]
    """

    def __init__(
        self,
        clients: ArrayLike,
        arms: ArrayLike,
        rewards: ArrayLike,
        expected: ArrayLike | None = None,
        count: int | None = None,
        items: ArrayLike | None = None,
    ) -> None:
        self.clients = inputs.array("clients", clients, ndim=1, dtype=np.int64)
        self.rewards = _rewards("rewards", rewards)
        self.arms, self.items = _arms(arms, items)
        self.recurring = self.arms.size > len(self.items)
        steps, choices = self.rewards.shape
        if steps == 0 or choices == 0:
            allowed = "T x K, at least one step and one arm"
            raise errors.refuse("rewards", f"an array of shape {self.rewards.shape}", allowed)
        _same_steps("clients", self.clients, (steps,), "rewards")
        _same_steps("arms", self.arms, (steps, choices), "rewards")
        self.expected = None
        if expected is not None:
            self.expected = _rewards("expected", expected)
            _same_steps("expected", self.expected, (steps, choices), "rewards")
        for wrong in (int(self.clients.min()), int(self.clients.max())):
            if not 0 <= wrong < MOST:
                raise errors.refuse("clients", wrong, f"ids from 0 to {MOST - 1:,}")
        seen = int(self.clients.max()) + 1
        if count is None:
            count = seen
        self._count = Whole(1, MOST).of("count", count)
        if self._count < seen:
            allowed = f"at least {seen}: clients holds the id {seen - 1}"
            raise errors.refuse("count", count, allowed)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        client: str = "client",
        features: str | Sequence[str] = "features",
        reward: str = "reward",
        expected: str | None = None,
        event: str | None = None,
        count: int | None = None,
        categories: str | int | Mapping[str, str | int] | None = None,
    ) -> Trace:
        """From a pandas or polars data frame, by the names of its columns.

        One row per step, in order: `features` has a list of numbers for each arm, `reward` (and
        `expected`) one number for each. Or, if `event` names the column that says which rows belong
        together, one row per arm, and `features` is a list of columns. All steps have the same
        number of arms. Clients that are whole numbers are ids; names are numbered in sorted order.
        `categories` says how columns of words become features, as for ReplayLog.

        >>> import pandas
        >>> frame = pandas.DataFrame({
        ...     "client": ["ann", "bob"],
        ...     "features": [[[1.0, 0.0], [0.0, 1.0]], [[0.6, 0.8], [1.0, 0.0]]],
        ...     "reward": [[1, 0], [0, 1]],
        ... })
        >>> incfed.Trace.from_frame(frame)
        <Trace: 2 clients, 2 features, 2 arms a step, 2 steps>
        """
        from .logs.traces import trace_arrays

        named = {"client": client, "reward": reward, "expected": expected, "event": event}
        return cls(**trace_arrays(frame, named, features, categories), count=count)

    @property
    def count(self) -> int:
        return self._count

    @property
    def dim(self) -> int:
        return int(self.items.shape[1])

    @property
    def arms_per_step(self) -> int:
        return int(self.arms.shape[1])

    @property
    def length(self) -> int:
        return len(self.clients)

    @property
    def chance(self) -> bool:
        return False

    def open(self, seed: np.random.SeedSequence) -> TraceStream:
        return TraceStream(self)

    def known_rewards(self) -> KnownRewards:
        """All rewards, arm by arm.

        >>> trace.known_rewards().rewards.shape
        (6,)
        """
        steps, arms = self.arms.shape
        return KnownRewards(
            clients=np.repeat(self.clients, arms),
            events=np.repeat(np.arange(steps), arms),
            x=self.items[self.arms.ravel()],
            rewards=self.rewards.ravel(),
            weights=np.ones(steps * arms),
        )

    def settings(self) -> dict[str, Any]:
        return {
            "kind": "Trace",
            "clients": self.count,
            "dim": self.dim,
            "arms": self.arms_per_step,
            "length": self.length,
            "items": len(self.items),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an .npz file, atomically.

        >>> trace = incfed.Trace(clients=[0], arms=[[[1.0, 0.0]]], rewards=[[1.0]])
        >>> trace.save("one.npz")
        >>> incfed.Trace.load("one.npz").length
        1
        """
        target = Path(path)
        if target.suffix != ".npz":
            raise errors.refuse("path", str(path), "a name that ends in .npz")
        arrays: dict[str, Any] = {
            "clients": self.clients,
            "arms": self.arms,
            "items": self.items,
            "rewards": self.rewards,
            "count": np.array(self.count),
        }
        if self.expected is not None:
            arrays["expected"] = self.expected
        with replacing(target) as fresh, fresh.open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Read an .npz file with arrays named as the arguments of Trace (`items` optional).

        >>> incfed.Trace.load("one.npz")
        <Trace: 1 client, 2 features, 1 arm a step, 1 step>
        """
        try:
            with Path(path).open("rb") as file:  # numpy may not close a damaged file
                found = np.load(file, allow_pickle=False)
                if isinstance(found, np.ndarray):
                    raise ValueError("it holds one array without a name")
                _all_listed(file, len(found.files))
                arrays = dict(found)
        except FileNotFoundError:
            raise errors.refuse("path", str(path), "an existing .npz file") from None
        except Exception as error:  # numpy, zipfile and zlib raise many types for damaged files
            raise errors.refuse("path", str(path), f"a readable .npz file ({error})") from None
        known = {"clients", "arms", "rewards", "expected", "count", "items"}
        unknown, missing = set(arrays) - known, {"clients", "arms", "rewards"} - set(arrays)
        if unknown or missing:
            allowed = f"a file of the arrays {sorted(known)} (expected, count, items optional)"
            raise errors.refuse(f"arrays in {path}", sorted(arrays), allowed)
        if "count" in arrays:
            arrays["count"] = arrays["count"].tolist()
        return cls(**arrays)


class TraceStream(Stream):
    def __init__(self, trace: Trace) -> None:
        self.items = trace.items
        self.recurring = trace.recurring
        self._trace = trace
        self._next = 0

    def skip(self, n: int) -> None:
        self._next += n

    def take(self, n: int) -> Events:
        self._next += n
        return self.gather(slice(self._next - n, self._next))

    def gather(self, steps: slice | Ints) -> Events:
        trace = self._trace
        rewards, known = trace.rewards[steps], trace.expected
        expected = np.full_like(rewards, np.nan) if known is None else known[steps]
        return Events(trace.clients[steps], trace.arms[steps], rewards, expected)


def _all_listed(file: BinaryIO, entries: int) -> None:
    """Detect a damaged table of contents, which zipfile does not report.

    The last record of a zip file has the number of entries.
    """
    file.seek(max(0, file.seek(0, os.SEEK_END) - 2**16))
    end = file.read().rpartition(b"PK\5\6")[2]
    stated = int.from_bytes(end[6:8], "little")
    if stated not in (entries, 0xFFFF):  # 0xFFFF: zip64, the number is elsewhere
        raise ValueError(f"it lists {entries} of its {inputs.counted(stated, 'array')}")


def _arms(arms: ArrayLike, items: ArrayLike | None) -> tuple[Ints, Floats]:
    """Arms as ids into a table of items; [T, K, d] features become a table with one row per arm."""
    if items is None:
        allowed = "numbers in 3 dimensions, or ids in 2 with `items` given"
        features = inputs.array("arms", arms, ndim=3, allowed=allowed, most=ranges.LARGEST)
        steps, choices, dim = features.shape
        if dim == 0:
            raise errors.refuse("arms", f"an array of shape {features.shape}", "d >= 1 deep")
        ids = np.arange(steps * choices).reshape(steps, choices)
        return ids, features.reshape(steps * choices, dim)
    table = inputs.array("items", items, ndim=2, most=ranges.LARGEST)
    if table.shape[1] == 0:
        raise errors.refuse("items", f"an array of shape {table.shape}", "d >= 1 wide")
    ids = inputs.array("arms", arms, ndim=2, dtype=np.int64)
    if ids.size and not (ids.min() >= 0 and ids.max() < len(table)):
        wrong = int(ids.min() if ids.min() < 0 else ids.max())
        raise errors.refuse("arms", wrong, f"rows of items, 0 to {len(table) - 1}")
    return ids, table


def _rewards(name: str, given: ArrayLike) -> Floats:
    return inputs.array(name, given, ndim=2, most=ranges.LARGEST, booleans=True)


def _same_steps(name: str, array: np.ndarray, shape: tuple[int, ...], other: str) -> None:
    if array.shape != shape:
        raise errors.refuse(name, f"an array of shape {array.shape}", f"{shape}, to match {other}")
