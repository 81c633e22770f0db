"""Communication rounds: who triggered them, who shared, and who was paid what."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..support.extras import needs
from ..support.inputs import counted
from ..types import Floats, Ints
from .arrays import ArrayRecord, floats, integers
from .numbers import human

if TYPE_CHECKING:
    import pandas
    import polars

    from ..protocol.run import LoggedRound

COLUMNS = ("step", "trigger", "pending", "idle", "communication", "ratio")
MONEY = ("payments", "costs", "asked")  # of each participant
FLAT = ("participants", *MONEY)


@dataclass(frozen=True, eq=False, repr=False)
class RoundRecord(ArrayRecord):
    """One communication round. `participants[k]` was paid `payments[k]`; sharing cost it
    `costs[k]`, and it had reported `asked[k]`. `gap`: see `Decision`.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=10.0)
    >>> last = incfed.simulate(world, paid, steps=200).rounds[-1]
    >>> last.participants, last.payments.round(2)
    (array([0, 1, 2, 3, 4]), array([9.53, 9.52, 9.47, 9.5 , 9.57]))
    """

    step: int
    trigger: int
    pending: int
    idle: int
    communication: float
    ratio: float
    participants: Ints
    payments: Floats
    costs: Floats
    asked: Floats
    gap: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "participants", integers("participants", self.participants))
        for name in MONEY:
            _check_column(self, name, name)

    @property
    def payment(self) -> float:
        """Money paid in this round.

        >>> round(last.payment, 2)
        47.59
        """
        return float(self.payments.sum())

    @property
    def paid(self) -> int:
        """How many clients were paid (the others shared for the data alone).

        >>> last.paid
        5
        """
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

    Round r's participants are `participants[offsets[r]:offsets[r + 1]]`, their payments likewise,
    their true `costs`, and what they `asked`; these two are NaN for asynchronous algorithms
    (AsyncLinUCB, FedLinUCB).

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=10.0)
    >>> rounds = incfed.simulate(world, paid, steps=200).rounds
    >>> rounds
    <Rounds: 19 rounds, 66 payments>
    >>> rounds[-1]
    <round at step 192: client 0 triggered, 5 of 5 with pending data shared, 5 paid 47.6, ratio 1>
    """

    step: Ints
    trigger: Ints
    pending: Ints
    idle: Ints
    communication: Floats
    ratio: Floats
    offsets: Ints
    participants: Ints
    payments: Floats
    costs: Floats
    asked: Floats
    gap: Floats = None  # type: ignore[assignment]  # None: 0

    def __post_init__(self) -> None:
        for name in ("step", "trigger", "pending", "idle", "offsets", "participants"):
            object.__setattr__(self, name, integers(f"rounds.{name}", getattr(self, name)))
        for name in ("communication", "ratio"):
            object.__setattr__(self, name, floats(f"rounds.{name}", getattr(self, name)))
        for name in COLUMNS:
            if getattr(self, name).size != len(self):
                raise InputError(
                    f"rounds.{name}: {counted(getattr(self, name).size, 'value')}; allowed is one "
                    f"for each of the {counted(len(self), 'round')}"
                )
        if self.gap is None:
            object.__setattr__(self, "gap", np.zeros(len(self)))
        object.__setattr__(self, "gap", floats("rounds.gap", self.gap))
        flat, bounds = self.participants.size, self.offsets
        if bounds.size != len(self) + 1 or bounds[0] != 0 or bounds[-1] != flat:
            raise InputError(
                f"rounds.offsets: must hold {counted(len(self) + 1, 'value')} from 0 to {flat}, "
                f"has {bounds.size}"
            )
        if np.any(np.diff(bounds) < 0) or np.any(np.diff(self.step) < 0):
            raise InputError("rounds.offsets and rounds.step: must not decrease")
        for name in MONEY:
            _check_column(self, name, f"rounds.{name}")
        if np.any(self.shared > self.pending):
            raise InputError("rounds.pending: fewer clients than shared")

    @classmethod
    def collect(cls, records: Iterable[RoundRecord]) -> Rounds:
        """The columns of these records.

        >>> incfed.results.Rounds.collect(record for record in rounds if record.payment > 0)
        <Rounds: 19 rounds, 66 payments>
        """
        rows = list(records)
        columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
        return cls(
            **columns,
            offsets=np.cumsum([0, *(row.participants.size for row in rows)]),
            participants=np.concatenate([np.empty(0, np.int64), *(r.participants for r in rows)]),
            **{
                name: np.concatenate([np.empty(0), *(getattr(row, name) for row in rows)])
                for name in MONEY
            },
            gap=[row.gap for row in rows],  # type: ignore[arg-type]
        )

    def __len__(self) -> int:
        return self.step.size

    def __getitem__(self, index: int) -> RoundRecord:
        row = range(len(self))[index]  # IndexError and negative numbers as in a list
        part = slice(self.offsets[row], self.offsets[row + 1])
        columns = {name: column[row].item() for name, column in self._columns().items()}
        flat = {name: getattr(self, name)[part] for name in FLAT}
        return RoundRecord(**{**columns, "gap": float(self.gap[row])}, **flat)

    def __iter__(self) -> Iterator[RoundRecord]:
        return (self[row] for row in range(len(self)))

    @property
    def shared(self) -> Ints:
        """[R] how many clients with pending data shared it.

        >>> rounds.shared[:5]
        array([1, 1, 1, 1, 3])
        """
        return np.diff(self.offsets)

    @property
    def participation(self) -> Floats:
        """[R] share of the clients with pending data that shared it; NaN where nobody had any.

        >>> float(rounds.participation.mean())
        1.0
        """
        with np.errstate(invalid="ignore"):
            return self.shared / self.pending

    @property
    def payment(self) -> Floats:
        """[R] money paid in each round.

        >>> rounds.payment[:3].round(1)
        array([10., 10., 10.])
        """
        row = np.repeat(np.arange(len(self)), self.shared)
        total = np.bincount(row, weights=self.payments, minlength=len(self))
        return total.astype(np.float64)  # bincount of nothing is an array of integers

    def to_polars(self) -> polars.DataFrame:
        """One row a round; participants, payments, costs and asked are list columns.

        >>> rounds.to_polars().columns[:3]
        ['step', 'trigger', 'pending']
        """
        with needs("polars", "to_polars()"):
            import polars
        # The types are named, so that no rounds at all still give list columns.
        kinds = {
            name: polars.List(polars.Int64 if name == "participants" else polars.Float64)
            for name in FLAT
        }
        lists = {
            name: polars.Series(self._lists(name), dtype=kind).cast(kind)
            for name, kind in kinds.items()
        }
        return polars.DataFrame({**self._columns(), **lists})

    def to_pandas(self) -> pandas.DataFrame:
        """One row a round; participants, payments, costs and asked are columns of lists.

        >>> rounds.to_pandas().shape
        (19, 10)
        """
        with needs("pandas", "to_pandas()", "pandas"):
            import pandas
        lists = {
            name: pandas.Series([part.tolist() for part in self._lists(name)], dtype=object)
            for name in FLAT
        }
        return pandas.DataFrame({**self._columns(), **lists})

    def _columns(self) -> dict[str, NDArray[Any]]:
        some = {"gap": self.gap} if self.gap.any() else {}
        return {**{name: getattr(self, name) for name in COLUMNS}, **some}

    def _lists(self, name: str) -> list[NDArray[Any]]:
        """A flat column, cut into one array for each round."""
        flat = getattr(self, name)
        return [flat[start:stop] for start, stop in pairwise(self.offsets.tolist())]

    def _repr_html_(self) -> str:
        from . import html
        from .notebook import rounds_document

        return html.render_fragment(rounds_document(self))

    def __repr__(self) -> str:
        paid = int(np.count_nonzero(self.payments > 0))
        return f"<Rounds: {counted(len(self), 'round')}, {counted(paid, 'payment')}>"


def logged(log: Sequence[LoggedRound]) -> Rounds:
    """The rounds that a run has logged."""
    if not log:
        return Rounds.collect(())
    step, trigger, closed, sent, _ = zip(*log, strict=True)
    who, paid, idle, communication, ratio, gap, costs, asked = zip(*closed, strict=True)
    said = _of_participants(who, asked)
    honest = all(map(operator.is_, costs, asked))
    return Rounds(
        step=np.array(step),
        trigger=np.array(trigger),
        pending=np.array(list(map(len, sent))),
        idle=np.array(idle),
        communication=np.array(communication),
        ratio=np.array(ratio),
        offsets=np.cumsum([0, *map(len, who)]),
        participants=np.concatenate(who),
        payments=np.concatenate(paid),
        costs=said if honest else _of_participants(who, costs),
        asked=said,
        gap=np.array(gap, np.float64),
    )


def _check_column(record: RoundRecord | Rounds, name: str, place: str) -> None:
    """Make a column an array; refused unless it has a value for each participant."""
    column, size = floats(place, getattr(record, name)), record.participants.size
    if column.size != size:
        raise InputError(
            f"{place}: {counted(column.size, 'value')} for {counted(size, 'participant')}"
        )
    object.__setattr__(record, name, column)


def _of_participants(who: Sequence[Ints], parts: Sequence[Floats | None]) -> Floats:
    """A value for each participant of each round, NaN where it is not known."""
    found = [
        np.full(len(clients), np.nan) if part is None else part
        for clients, part in zip(who, parts, strict=True)
    ]
    return np.concatenate(found)
