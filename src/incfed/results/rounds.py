"""Communication rounds: who triggered them, who shared, and who was paid what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..support.extras import needs
from ..support.inputs import InputError, counted
from .arrays import ArrayRecord, FloatArray, IntArray, floats, integers
from .numbers import human

if TYPE_CHECKING:
    import pandas
    import polars

COLUMNS = ("step", "trigger", "pending", "idle", "communication", "ratio")


@dataclass(frozen=True, eq=False, repr=False)
class RoundRecord(ArrayRecord):
    """One communication round. `participants[k]` was paid `payments[k]`."""

    step: int
    trigger: int
    pending: int
    idle: int
    communication: float
    ratio: float
    participants: IntArray
    payments: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "participants", integers("participants", self.participants))
        object.__setattr__(self, "payments", floats("payments", self.payments))
        if self.participants.shape != self.payments.shape:
            raise InputError(
                f"payments: {counted(self.payments.size, 'value')} for "
                f"{counted(self.participants.size, 'participant')}"
            )

    @property
    def payment(self) -> float:
        """Money paid in this round."""
        return float(self.payments.sum())

    @property
    def paid(self) -> int:
        """How many clients were paid (the others shared for the data alone)."""
        return int(np.count_nonzero(self.payments > 0))

    def __repr__(self) -> str:
        return (
            f"<round at step {self.step}: client {self.trigger} triggered, "
            f"{self.participants.size} of {self.pending} with pending data shared, "
            f"{self.paid} paid {human(self.payment)}, ratio {self.ratio:.3g}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Rounds(ArrayRecord):
    """All rounds of a run, as columns; `rounds[-1]` and iteration give records.

    Round r's participants are `participants[offsets[r]:offsets[r + 1]]`, their payments likewise.
    """

    step: IntArray
    trigger: IntArray
    pending: IntArray
    idle: IntArray
    communication: FloatArray
    ratio: FloatArray
    offsets: IntArray
    participants: IntArray
    payments: FloatArray

    def __post_init__(self) -> None:
        for name in ("step", "trigger", "pending", "idle", "offsets", "participants"):
            object.__setattr__(self, name, integers(f"rounds.{name}", getattr(self, name)))
        for name in ("communication", "ratio", "payments"):
            object.__setattr__(self, name, floats(f"rounds.{name}", getattr(self, name)))
        for name in COLUMNS:
            if getattr(self, name).size != len(self):
                raise InputError(
                    f"rounds.{name}: {counted(getattr(self, name).size, 'value')}; allowed is one "
                    f"for each of the {counted(len(self), 'round')}"
                )
        flat, bounds = self.participants.size, self.offsets
        if bounds.size != len(self) + 1 or bounds[0] != 0 or bounds[-1] != flat:
            raise InputError(
                f"rounds.offsets: must hold {counted(len(self) + 1, 'value')} from 0 to {flat}, "
                f"has {bounds.size}"
            )
        if np.any(np.diff(bounds) < 0) or np.any(np.diff(self.step) < 0):
            raise InputError("rounds.offsets and rounds.step: must not decrease")
        if self.payments.size != flat:
            raise InputError(
                f"rounds.payments: {counted(self.payments.size, 'value')} for "
                f"{counted(flat, 'participant')}"
            )
        if np.any(self.shared > self.pending):
            raise InputError("rounds.pending: fewer clients than shared")

    @classmethod
    def collect(cls, records: Iterable[RoundRecord]) -> Rounds:
        """The columns of these records."""
        rows = list(records)
        columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
        return cls(
            **columns,
            offsets=np.cumsum([0, *(row.participants.size for row in rows)]),
            participants=np.concatenate([np.empty(0, np.int64), *(r.participants for r in rows)]),
            payments=np.concatenate([np.empty(0), *(row.payments for row in rows)]),
        )

    def __len__(self) -> int:
        return self.step.size

    def __getitem__(self, index: int) -> RoundRecord:
        row = range(len(self))[index]  # IndexError and negative numbers as in a list
        part = slice(self.offsets[row], self.offsets[row + 1])
        columns = {name: column[row].item() for name, column in self._columns().items()}
        return RoundRecord(
            **columns, participants=self.participants[part], payments=self.payments[part]
        )

    def __iter__(self) -> Iterator[RoundRecord]:
        return (self[row] for row in range(len(self)))

    @property
    def shared(self) -> IntArray:
        """[R] how many clients with pending data shared it."""
        return np.diff(self.offsets)

    @property
    def participation(self) -> FloatArray:
        """[R] share of the clients with pending data that shared it; NaN where nobody had any."""
        with np.errstate(invalid="ignore"):
            return self.shared / self.pending

    @property
    def payment(self) -> FloatArray:
        """[R] money paid in each round."""
        row = np.repeat(np.arange(len(self)), self.shared)
        total = np.bincount(row, weights=self.payments, minlength=len(self))
        return total.astype(np.float64)  # bincount of nothing is an array of integers

    def to_polars(self) -> polars.DataFrame:
        """One row a round; participants and payments are list columns."""
        with needs("polars", "to_polars()"):
            import polars
        # The types are named, so that no rounds at all still give list columns.
        kinds = {"participants": polars.List(polars.Int64), "payments": polars.List(polars.Float64)}
        lists = {
            name: polars.Series(self._lists(name), dtype=kind).cast(kind)
            for name, kind in kinds.items()
        }
        return polars.DataFrame({**self._columns(), **lists})

    def to_pandas(self) -> pandas.DataFrame:
        """One row a round; participants and payments are columns of lists."""
        with needs("pandas", "to_pandas()", "pandas"):
            import pandas
        lists = {
            name: pandas.Series([part.tolist() for part in self._lists(name)], dtype=object)
            for name in ("participants", "payments")
        }
        return pandas.DataFrame({**self._columns(), **lists})

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in COLUMNS}

    def _lists(self, name: str) -> list[NDArray[Any]]:
        """A flat column, cut into one array for each round."""
        flat = getattr(self, name)
        return [flat[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def __repr__(self) -> str:
        paid = int(np.count_nonzero(self.payments > 0))
        return f"<Rounds: {counted(len(self), 'round')}, {counted(paid, 'payment')}>"
