"""Processes that run jobs: each learns a skill once, then takes job after job. They leave Ctrl-C to
their parent, and stop within moments when it says so or is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol

from ..support.inputs import InputError

# Spawned, not forked: numba, polars and BLAS keep threads that do not survive a fork.
CONTEXT = multiprocessing.get_context("spawn")
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)
READY = -1
GRACE = 3.0  # seconds for a worker to stop by itself
LOOK = 0.1  # seconds between looks at the progress


class Stopped(BaseException):
    """The parent wants no more; not an Exception, so that nobody's `except` swallows it."""


class Skill(Protocol):
    """What workers can do. It travels to them as they start, and must be small."""

    def do(self, job: Any, watch: Callable[[int], None]) -> Any:
        """Do a job and answer; `watch` is told the steps done so far, and may end it."""


@dataclass(frozen=True)
class Fault:
    """The answer to a job that came to nothing: why, in a line."""

    text: str


@dataclass
class Worker:
    process: SpawnProcess
    link: Connection
    place: int  # in the list of steps
    ready: bool = False
    job: int | None = None


class Workers:
    """`count` processes with one skill; leaving the `with` ends them.

    The job of a process that died is a Fault, unless it may be tried again: `retries` times.
    """

    def __init__(self, count: int, skill: Skill, *, retries: int = 0) -> None:
        self._skill = skill
        self._retries = retries
        self._steps = CONTEXT.RawArray("q", count)  # steps done of the present job, by worker
        self._stop = CONTEXT.RawValue("b", 0)  # no lock that a dying process might hold
        self._workers: list[Worker] = []

    def __enter__(self) -> Workers:
        try:
            with _calm(), _one_thread():
                for place in range(len(self._steps)):
                    self._start(place)
        except BaseException:  # Ctrl-C that was held back, or no more processes allowed
            self.__exit__()
            raise
        return self

    def __exit__(self, *unused: object) -> None:
        self._stop.value = 1
        deadline = time.monotonic() + GRACE
        try:
            for worker in self._workers:
                worker.link.close()
            for worker in self._workers:
                worker.process.join(max(0.0, deadline - time.monotonic()))
        finally:  # also when Ctrl-C is pressed again
            for worker in self._workers:
                if worker.process.is_alive():
                    worker.process.kill()
                    worker.process.join()

    @property
    def count(self) -> int:
        return len(self._steps)

    @property
    def steps(self) -> int:
        """Steps done in jobs that are under way."""
        return sum(self._steps[one.place] for one in self._workers if one.job is not None)

    def run(self, jobs: Sequence[Any]) -> Iterator[tuple[int, Any] | None]:
        """Do the jobs; yield (number of the job, answer or Fault) for each, and None now and then.

        A Fault of this class's own making is only ever about a process that died.
        """
        waiting, losses = deque(range(len(jobs))), [0] * len(jobs)
        while waiting or any(worker.job is not None for worker in self._workers):
            links = [worker.link for worker in self._workers]
            heard = connection.wait(links, LOOK)
            for worker in [one for one in self._workers if one.link in heard]:
                try:
                    job, answer = worker.link.recv()
                except (EOFError, OSError):
                    lost = self._bury(worker)
                    if lost is None:
                        continue
                    losses[lost] += 1
                    if losses[lost] <= self._retries:
                        waiting.append(lost)
                        continue
                    job, answer = lost, _died(worker, losses[lost])
                worker.ready, worker.job = True, None
                if job != READY:
                    yield job, answer
            for worker in self._workers:
                if worker.ready and worker.job is None and waiting:
                    with suppress(OSError):  # it has just died: the next look buries it
                        self._steps[worker.place] = 0
                        worker.link.send((waiting[0], jobs[waiting[0]]))
                        worker.job = waiting.popleft()
            yield None

    def _bury(self, worker: Worker) -> int | None:
        """A worker died: another takes its place. The job that it had, if any."""
        worker.process.join()
        worker.link.close()
        self._workers.remove(worker)
        if not worker.ready:  # the next one would not start either
            raise RuntimeError(
                "a worker process could not start; in a script of your own, call this under "
                'if __name__ == "__main__":, or with jobs=1'
            )
        with _calm(), _one_thread():
            self._start(worker.place)
        return worker.job

    def _start(self, place: int) -> None:
        ours, theirs = CONTEXT.Pipe()
        process = CONTEXT.Process(
            target=_work, args=(theirs, self._skill, self._steps, place, self._stop), daemon=True
        )
        process.start()
        theirs.close()  # so that a dead worker is an end of file
        self._workers.append(Worker(process, ours, place))


def _died(worker: Worker, times: int) -> Fault:
    often = f" ({times} processes in a row)" if times > 1 else ""
    code = worker.process.exitcode
    return Fault(f"its process ended with code {code}{often}; is there enough memory?")


def _work(link: Connection, skill: Skill, steps: Any, place: int, stop: Any) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch(done: int) -> None:
        steps[place] = done
        if stop.value or (parent is not None and not parent.is_alive()):
            raise Stopped

    try:
        link.send((READY, None))
        while True:
            number, job = link.recv()
            try:
                answer = skill.do(job, watch)
            except (InputError, OSError) as error:  # a file was there a moment ago
                answer = Fault(str(error))
            link.send((number, answer))
    except (EOFError, OSError, Stopped):
        return  # the parent has no more work, or is gone


@contextmanager
def _calm() -> Iterator[None]:
    """Hold Ctrl-C back while processes start: they inherit that, and stay deaf to it for good."""
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
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
