"""The engine under every sweep: cells in, records out, on this machine or on a cluster.

Cells are checked and recognised before any work; those that the book has are not run again; each
finished one is in the book before the next is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..algorithms.base import Algorithm
from ..support import places
from ..support.files import alone_in, claim
from .book import Book
from .cells import Cell, Record
from .cluster import Dask
from .executors import Executor, Local
from .experiment import OURS
from .workers import Fault
from .workshop import Work, Workshop

__all__ = ["Cells", "Dask", "Executor", "Local", "Session", "run_cells"]

Progress = Callable[[int, int], None]  # steps done, steps in all


@dataclass
class Cells:
    """What came of some cells."""

    total: int
    kept: int = 0  # of them, found in the book
    records: list[Record] = field(default_factory=list)  # in the order of the cells, no gaps
    failures: list[tuple[Cell, str]] = field(default_factory=list)  # and why
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        return len(self.records) == self.total


def run_cells(
    cells: Sequence[Cell],
    *,
    book: Path | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    slow: Callable[[], None] | None = None,
    begin: Callable[[int, int], None] | None = None,
    source: str | None = None,
) -> Cells:
    """Run the cells, all cores if no `executor` is given, and return their records.

    `book` is a file in a folder of its own: what is in it is kept and not run again, unless
    `fresh`. Cells that are the same run are run once. `begin` is told how many cells there are and
    how many of them are kept, after all are checked; `progress` the steps done and to do; `slow` is
    called if kernels have to be compiled. A cell that cannot be is refused in the name of `source`,
    the config that it comes from. Ctrl-C returns what is finished.
    """
    session = Session(book=book, executor=executor, fresh=fresh, source=source)
    checked = session.check(cells)  # before anything is written or started
    with session:
        return session.do(checked, progress=progress, slow=slow, begin=begin)


@dataclass(frozen=True)
class Checked:
    """Cells that can be: their fingerprints in order, the different ones among them as work, and
    an algorithm of each kind that they need."""

    cells: Sequence[Cell]
    order: list[str]
    work: dict[str, Work]
    algorithms: list[Algorithm]


class Session:
    """Lot after lot of cells with one book, the same processes and worlds kept in memory; leaving
    the `with` ends them. `run_cells` is a session of one lot, and says what the arguments mean."""

    def __init__(
        self,
        *,
        book: Path | None = None,
        executor: Executor | None = None,
        fresh: bool = False,
        source: str | None = None,
        ours: Sequence[str] = OURS,
    ) -> None:
        """`ours`: what will be written beside the book, and must not be somebody else's."""
        self._path = book
        self._ours = ours
        self._executor = executor or Local()
        self._fresh = fresh
        self._source = source
        self._workshop = Workshop()
        self._records: dict[str, Record] = {}  # by fingerprint; those of the book, if there is one
        self._notes: Book | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Session:
        with ExitStack() as stack:
            stack.callback(self._executor.close)
            self._executor.connect()
            if self._path is not None:
                claim(self._path.parent, mark=self._path.name, ours=self._ours)
                stack.enter_context(alone_in(self._path.parent))
                self._notes = stack.enter_context(Book(self._path, fresh=self._fresh))
                self._records = self._notes.records
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *unused: object) -> None:
        self._stack.close()

    def check(self, cells: Sequence[Cell]) -> Checked:
        """Build every cell, or refuse it."""
        order: list[str] = []
        work: dict[str, Work] = {}
        kinds: dict[type, Algorithm] = {}
        with places.at(self._source) if self._source else nullcontext():
            for cell in cells:
                made = self._workshop.make(cell)
                key = made.fingerprint
                order.append(key)
                work.setdefault(key, Work(cell, made.steps, made.scene, key))
                kinds.setdefault(type(made.algorithm), made.algorithm)
        return Checked(cells, order, work, list(kinds.values()))

    def do(
        self,
        lot: Checked,
        *,
        progress: Progress | None = None,
        slow: Callable[[], None] | None = None,
        begin: Callable[[int, int], None] | None = None,
    ) -> Cells:
        """Run what the book does not have."""
        known = self._records
        outcome = Cells(len(lot.cells), kept=sum(key in known for key in lot.order))
        if begin is not None:
            begin(outcome.total, outcome.kept)
        todo = _in_order([one for key, one in lot.work.items() if key not in known])
        faults: dict[str, str] = {}
        tally = _Tally(sum(one.steps for one in todo), progress)
        try:
            if todo:
                answers = self._executor.run(todo, lot.algorithms, tally.under_way, slow)
                with closing(answers):
                    for answer in answers:
                        one = todo[answer.index]
                        if isinstance(answer.value, Fault):
                            faults[one.fingerprint] = answer.value.text
                        else:
                            if self._notes is not None:
                                self._notes.add(answer.value)
                            known[one.fingerprint] = answer.value
                        tally.ended(one.steps)
        except KeyboardInterrupt:
            outcome.interrupted = True
            if self._notes is not None:
                self._notes.recover()  # it may have struck while a record was being written
        for cell, key in zip(lot.cells, lot.order, strict=True):
            if key in known:
                outcome.records.append(replace(known[key], point=dict(cell.point)))
            elif key in faults:
                outcome.failures.append((cell, faults[key]))
        return outcome


class _Tally:
    """Progress that never goes back, though a lost worker's steps are made again."""

    def __init__(self, total: int, say: Progress | None) -> None:
        self._total = total
        self._say = say or (lambda done, total: None)
        self._done = self._shown = 0

    def ended(self, steps: int) -> None:
        self._done += steps
        self.under_way(0)

    def under_way(self, steps: int) -> None:
        self._shown = max(self._shown, self._done + steps)
        self._say(self._shown, self._total)


def _in_order(work: list[Work]) -> list[Work]:
    """Seed by seed, so that an interrupted sweep can compare what it has; within a seed world by
    world, so that each is loaded once."""
    seeds = {seed: n for n, seed in enumerate(dict.fromkeys(one.cell.seed for one in work))}
    worlds = {scene: n for n, scene in enumerate(dict.fromkeys(one.scene for one in work))}
    return sorted(work, key=lambda one: (seeds[one.cell.seed], worlds[one.scene]))
