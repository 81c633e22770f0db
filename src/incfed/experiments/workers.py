"""Processes that run jobs: each builds the experiment from its recipe once, then takes job after
job. They leave Ctrl-C to their parent, and stop within moments when it says so or is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from ..inputs import InputError
from .experiment import Experiment, Job, Recipe

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


@dataclass
class Worker:
    process: SpawnProcess
    link: Connection
    ready: bool = False
    job: int | None = None


class Workers:
    """`count` processes for the jobs of one experiment; leaving the `with` ends them."""

    def __init__(self, count: int, recipe: Recipe, jobs: int) -> None:
        self._recipe = recipe
        self._steps = CONTEXT.RawArray("q", jobs)  # steps done, by job
        self._stop = CONTEXT.RawValue("b", 0)  # no lock that a dying process might hold
        self._count = count
        self._workers: list[Worker] = []

    def __enter__(self) -> Workers:
        try:
            with _calm(), _one_thread():
                for _ in range(self._count):
                    self._start()
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
    def steps(self) -> int:
        """Steps done in all jobs together."""
        return sum(self._steps)

    def steps_of(self, job: int) -> int:
        return int(self._steps[job])

    def run(self, jobs: Sequence[int]) -> Iterator[tuple[int, str | None] | None]:
        """Do the jobs; yield (job, what went wrong or None) for each, and None now and then."""
        waiting = deque(jobs)
        while waiting or any(worker.job is not None for worker in self._workers):
            links = [worker.link for worker in self._workers]
            heard = connection.wait(links, LOOK)
            for worker in [one for one in self._workers if one.link in heard]:
                done = self._hear(worker)
                if done is not None:
                    yield done
            for worker in self._workers:
                if worker.ready and worker.job is None and waiting:
                    with suppress(OSError):  # it has just died: the next look buries it
                        worker.link.send(waiting[0])
                        worker.job = waiting.popleft()
            yield None

    def _hear(self, worker: Worker) -> tuple[int, str | None] | None:
        try:
            job, fault = worker.link.recv()
        except (EOFError, OSError):
            return self._bury(worker)
        worker.ready, worker.job = True, None
        return None if job == READY else (job, fault)

    def _bury(self, worker: Worker) -> tuple[int, str | None] | None:
        """A worker died: its job has failed; another takes its place."""
        worker.process.join()
        worker.link.close()
        self._workers.remove(worker)
        if not worker.ready:  # the next one would not start either
            raise RuntimeError(
                "a worker process could not start; in a script of your own, call this under "
                'if __name__ == "__main__":, or with jobs=1'
            )
        with _calm(), _one_thread():
            self._start()
        if worker.job is None:
            return None
        code = worker.process.exitcode
        return worker.job, f"its process ended with code {code}; is there enough memory?"

    def _start(self) -> None:
        ours, theirs = CONTEXT.Pipe()
        process = CONTEXT.Process(
            target=_work, args=(theirs, self._recipe, self._steps, self._stop), daemon=True
        )
        process.start()
        theirs.close()  # so that a dead worker is an end of file
        self._workers.append(Worker(process, ours))


def _work(link: Connection, recipe: Recipe, steps: Any, stop: Any) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from .config import build
    from .performing import perform

    parent = multiprocessing.parent_process()
    made: tuple[Experiment, list[Job]] | None = None

    def watch(job: int, done: int) -> None:
        steps[job] = done
        if stop.value or (parent is not None and not parent.is_alive()):
            raise Stopped

    try:
        link.send((READY, None))
        while True:
            index = link.recv()
            try:
                if made is None:
                    experiment = build(recipe)
                    made = experiment, experiment.jobs()
                fault = perform(made[0], made[1][index], partial(watch, index))
            except (InputError, OSError) as error:  # a file was there a moment ago
                fault = str(error)
            link.send((index, fault))
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
