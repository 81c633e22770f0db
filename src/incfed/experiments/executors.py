"""Executors run tasks: on processes of this machine, here; on a Dask cluster, in `dask_executor`.

Which one it was cannot be seen in the records.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from ..algorithms.base import Algorithm
from ..values import Whole
from .cell_runner import CellRunner
from .cells import Failure, Record, Task
from .warm_up import warm_up

Answer = tuple[int, Record | Failure]  # the number of the task, and its record or failure
Answers = Generator[Answer, None, None]
Watch = Callable[[int], None]  # told the steps made in tasks that are under way
Slow = Callable[[], None] | None  # called if kernels have to be compiled first

# Spawned, not forked: numba, polars and BLAS keep threads that do not survive a fork.
CONTEXT = multiprocessing.get_context("spawn")
ONE_THREAD = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS",
)  # fmt: skip
READY = -1
RETRIES = 2  # a task whose process died is given to another one, so many times
GRACE = 3.0  # seconds for a worker to stop by itself
LOOK = 0.1  # seconds between looks at the progress


class Executor(ABC):
    """Runs tasks in any order, each answered once; the generator is closed to stop early."""

    def connect(self) -> None:  # noqa: B027
        """Get ready, or refuse: nothing has been written or run by then."""

    def close(self) -> None:  # noqa: B027
        """Undo `connect`."""

    @abstractmethod
    def describe(self, tasks: int) -> str:
        """Where so many tasks run, in a few words; nothing if it is this process."""

    @abstractmethod
    def run(
        self, tasks: Sequence[Task], algorithms: Sequence[Algorithm], watch: Watch, slow: Slow
    ) -> Answers:
        """Run the tasks; `algorithms` has one of each kind in them, to compile their kernels."""


class Local(Executor):
    """Processes on this machine, as many as it has cores if `jobs` is not given; they stay for
    the next batch of tasks until `close`.

    With one, the tasks run in this process. With more, a script must call this under
    `if __name__ == "__main__":`.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = cores() if jobs is None else Whole(1).of("jobs", jobs)
        self._pool: WorkerPool | None = None
        self._runner = CellRunner()
        self._warm: set[type[Algorithm]] = set()

    def describe(self, tasks: int) -> str:
        processes = min(self.jobs, tasks)
        return f"{processes} processes" if processes > 1 else ""

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop()

    def run(
        self, tasks: Sequence[Task], algorithms: Sequence[Algorithm], watch: Watch, slow: Slow
    ) -> Answers:
        processes = min(self.jobs, len(tasks))
        if processes == 1 and self._pool is None:
            self._warm_up(algorithms, slow)
            for number, task in enumerate(tasks):
                yield number, self._runner.run(task, watch)
            return
        if self._pool is None or len(self._pool.workers) < processes:
            self.close()
            self._pool = WorkerPool(processes)
        try:
            self._warm_up(algorithms, slow)  # while they start; they find the kernels in the cache
            yield from self._pool.run(tasks, watch)
        except BaseException:  # stopped early: what is under way must not answer the next batch
            self.close()
            raise

    def _warm_up(self, algorithms: Sequence[Algorithm], slow: Slow) -> None:
        """Once for each kind."""
        if not {type(one) for one in algorithms} <= self._warm:
            warm_up(algorithms, slow)
            self._warm.update(type(one) for one in algorithms)


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Stopped(BaseException):
    """The parent asked for it. Not an Exception, so that no `except` of a user swallows it."""


@dataclass
class Worker:
    process: SpawnProcess
    link: Connection
    place: int  # in the list of steps
    ready: bool = False
    task: int | None = None  # the number of the one that it has


class WorkerPool:
    """`count` processes that take task after task until `stop`. They ignore Ctrl-C, and stop soon
    after their parent asks them to, or is gone.

    A `ProcessPoolExecutor` loses all tasks under way when one process dies, does not say which task
    that was, and leaves its processes behind if it is killed itself.
    """

    def __init__(self, count: int) -> None:
        self.workers: list[Worker] = []
        self._steps = CONTEXT.RawArray("q", count)  # steps done of the present task, by worker
        self._stop = CONTEXT.RawValue("b", 0)  # no lock that a dying process might hold
        try:
            self._start(*range(count))
        except BaseException:  # Ctrl-C that was held back, or no more processes allowed
            self.stop()
            raise

    def stop(self) -> None:
        self._stop.value = 1
        deadline = time.monotonic() + GRACE
        try:
            for worker in self.workers:
                worker.link.close()
            for worker in self.workers:
                worker.process.join(max(0.0, deadline - time.monotonic()))
        finally:  # also when Ctrl-C is pressed again
            for worker in self.workers:
                if worker.process.is_alive():
                    worker.process.kill()
                    worker.process.join()

    def run(self, tasks: Sequence[Task], watch: Watch) -> Answers:
        waiting, losses = deque(range(len(tasks))), [0] * len(tasks)
        while waiting or any(worker.task is not None for worker in self.workers):
            heard = connection.wait([worker.link for worker in self.workers], LOOK)
            for worker in [one for one in self.workers if one.link in heard]:
                try:
                    number, answer = worker.link.recv()
                except (EOFError, OSError):
                    self._replace(worker)
                    number = worker.task
                    if number is None:
                        continue
                    losses[number] += 1
                    if losses[number] <= RETRIES:
                        waiting.append(number)
                        continue
                    code = worker.process.exitcode
                    answer = Failure(
                        f"its process ended with code {code} ({losses[number]} processes in a "
                        "row); is there enough memory?"
                    )
                worker.ready, worker.task = True, None
                if number != READY:
                    yield number, answer
            for worker in self.workers:
                if worker.ready and worker.task is None and waiting:
                    with suppress(OSError):  # it has just died: the next look replaces it
                        self._steps[worker.place] = 0
                        worker.link.send((waiting[0], tasks[waiting[0]]))
                        worker.task = waiting.popleft()
            watch(sum(self._steps[one.place] for one in self.workers if one.task is not None))

    def _replace(self, worker: Worker) -> None:
        """A worker died: start another in its place."""
        worker.process.join()
        worker.link.close()
        self.workers.remove(worker)
        if not worker.ready:  # the next one would not start either
            raise RuntimeError(
                "a worker process could not start; in a script of your own, call this under "
                'if __name__ == "__main__":, or with jobs=1'
            )
        self._start(worker.place)

    def _start(self, *places: int) -> None:
        with _ctrl_c_held_back(), _one_thread():
            for place in places:
                ours, theirs = CONTEXT.Pipe()
                arguments = (theirs, self._steps, place, self._stop)
                process = CONTEXT.Process(target=_work, args=arguments, daemon=True)
                process.start()
                theirs.close()  # so that a dead worker is an end of file
                self.workers.append(Worker(process, ours, place))


def _work(link: Connection, steps: Any, place: int, stop: Any) -> None:
    """What a worker process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    runner = CellRunner()

    def watch(done: int) -> None:
        steps[place] = done
        if stop.value or (parent is not None and not parent.is_alive()):
            raise Stopped

    try:
        link.send((READY, None))
        while True:
            number, task = link.recv()
            link.send((number, runner.run(task, watch)))
    except (EOFError, OSError, Stopped):
        return  # the parent has no more tasks, or is gone


@contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """Hold Ctrl-C back while processes start: they inherit that, and never see it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # before: in starting, it lifts the block (Python < 3.12)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread a process; libraries read this as they load, so it must be set before."""
    before = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)
