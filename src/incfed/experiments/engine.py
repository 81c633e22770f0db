"""The engine under every run, sweep, reproduction and plan: cells in, records out.

Cells are checked before any work; those that the checkpoint has are not run again; each finished
one is in the checkpoint before the next is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field, replace

from .. import errors
from ..algorithms.base import Algorithm
from ..errors import InputError
from ..results.records import Result
from ..support.inputs import counted
from .cell_runner import CellRunner
from .cells import Cell, Failure, Record, Task
from .checkpoint import Checkpoint
from .dask_executor import Dask
from .executors import Executor, Local

__all__ = ["Dask", "Executor", "Local", "Outcome", "Session", "executor_for", "run_cells"]

Progress = Callable[[int, int], None]  # steps done, steps in all


@dataclass
class Outcome:
    """What became of some cells."""

    total: int
    kept: int = 0  # of them, found in the checkpoint
    records: list[Record] = field(default_factory=list)  # in the order of the cells, no gaps
    failures: list[tuple[Cell, str]] = field(default_factory=list)  # and why
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        return len(self.records) == self.total

    @property
    def failed(self) -> str:
        """For messages: "2 of 40 runs"."""
        return f"{len(self.failures):,} of {counted(self.total, 'run')}"

    @property
    def runs(self) -> dict[str, list[Result]]:
        """The whole results by label, if they were asked for."""
        runs: dict[str, list[Result]] = {}
        for one in self.records:
            if one.result is not None:
                runs.setdefault(str(one.point["algorithm"]), []).append(one.result)
        return runs


def executor_for(jobs: int | None, dask: str | None) -> Executor:
    """Local processes, or the cluster that is named."""
    if dask is None:
        return Local(jobs)
    if jobs is not None:
        raise InputError("--jobs: is for processes on this machine, must not be given with --dask")
    return Dask(dask)


def run_cells(
    cells: Sequence[Cell],
    *,
    checkpoint: Checkpoint | None = None,
    executor: Executor | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    slow: Callable[[], None] | None = None,
    begin: Callable[[int, int], None] | None = None,
    source: str | None = None,
    runner: CellRunner | None = None,
) -> Outcome:
    """Run the cells, on all cores if no `executor` is given, and return their records.

    What is in the `checkpoint` is kept and not run again, unless `fresh`. Cells that are the same
    run are run once. `begin` is told how many cells there are and how many of them are kept, after
    all are checked; `progress` the steps done and to do; `slow` is called if kernels have to be
    compiled. An invalid cell is refused in the name of `source`, the config that it comes from.
    `runner` may have its world in memory already. Ctrl-C returns what is finished.
    """
    session = Session(
        checkpoint or Checkpoint(), executor or Local(), fresh, source, runner or CellRunner()
    )
    batch = session.check(cells)  # before anything is written or started
    with session:
        return session.run(batch, progress=progress, slow=slow, begin=begin)


@dataclass(frozen=True)
class Batch:
    """Cells that are valid: their fingerprints in order, a task for each different one, and an
    algorithm of each kind that they need."""

    cells: Sequence[Cell]
    order: list[str]
    tasks: dict[str, Task]
    algorithms: list[Algorithm]


@dataclass
class Session:
    """Batch after batch of cells with one checkpoint, the same processes and worlds kept in memory;
    leaving the `with` ends them. `run_cells` is a session of one batch, and explains the arguments.
    """

    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    executor: Executor = field(default_factory=Local)
    fresh: bool = False
    source: str | None = None
    runner: CellRunner = field(default_factory=CellRunner)
    _stack: ExitStack = field(default_factory=ExitStack, init=False)

    def __enter__(self) -> Session:
        with ExitStack() as stack:
            stack.callback(self.executor.close)
            self.executor.connect()
            stack.enter_context(self.checkpoint.open(fresh=self.fresh))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *unused: object) -> None:
        self._stack.close()

    def check(self, cells: Sequence[Cell]) -> Batch:
        """Build every cell, or refuse it."""
        order: list[str] = []
        tasks: dict[str, Task] = {}
        kinds: dict[type, Algorithm] = {}
        full = self.checkpoint.full
        with errors.at(self.source) if self.source else nullcontext():
            for cell in cells:
                built = self.runner.build(cell)
                key = built.fingerprint
                order.append(key)
                if key not in tasks or cell.by_client:  # of equal runs, one that keeps more
                    tasks[key] = Task(cell, built.steps, built.world_id, key, full)
                kinds.setdefault(type(built.algorithm), built.algorithm)
        return Batch(cells, order, tasks, list(kinds.values()))

    def run(
        self,
        batch: Batch,
        *,
        progress: Progress | None = None,
        slow: Callable[[], None] | None = None,
        begin: Callable[[int, int], None] | None = None,
    ) -> Outcome:
        """Run what the checkpoint does not have."""
        checkpoint = self.checkpoint
        checkpoint.expect(batch.cells, batch.order)
        known = checkpoint.records

        def kept(key: str) -> bool:
            return key in known and known[key].answers(batch.tasks[key].cell)

        outcome = Outcome(len(batch.cells), kept=sum(map(kept, batch.order)))
        if begin is not None:
            begin(outcome.total, outcome.kept)
        todo = _in_order([task for key, task in batch.tasks.items() if not kept(key)])
        failures: dict[str, str] = {}
        total, done, told = sum(task.steps for task in todo), 0, 0

        def tell(under_way: int) -> None:
            """Never less than before, though a lost worker's steps are made again."""
            nonlocal told
            told = max(told, done + under_way)
            if progress is not None:
                progress(told, total)

        try:
            if todo:
                answers = self.executor.run(todo, batch.algorithms, tell, slow)
                with closing(answers):
                    for number, answer in answers:
                        if isinstance(answer, Failure):
                            failures[todo[number].fingerprint] = answer.text
                        else:
                            checkpoint.add(answer)
                        done += todo[number].steps
                        tell(0)
        except KeyboardInterrupt:
            outcome.interrupted = True
            checkpoint.recover()  # it may have struck while a record was being written
        for cell, key in zip(batch.cells, batch.order, strict=True):
            if kept(key):
                outcome.records.append(replace(known[key], point=dict(cell.point)))
            elif key in failures:
                outcome.failures.append((cell, failures[key]))
        return outcome


def _in_order(tasks: list[Task]) -> list[Task]:
    """Seed by seed, so that an interrupted sweep can compare what it has; within a seed world by
    world, so that each is loaded once."""
    seeds = {seed: n for n, seed in enumerate(dict.fromkeys(one.cell.seed for one in tasks))}
    worlds = {world: n for n, world in enumerate(dict.fromkeys(one.world_id for one in tasks))}
    return sorted(tasks, key=lambda one: (seeds[one.cell.seed], worlds[one.world_id]))
