"""Who runs cells: this machine's processes, here; a Dask cluster, in `cluster`.

An executor turns work into answers. Which one it was cannot be seen in them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from ..algorithms.base import Algorithm
from ..support.inputs import integer
from .cells import Record
from .runner import cores
from .warm_up import warm_up
from .workers import Fault, Workers
from .workshop import Work, Workshop

RETRIES = 2  # a cell whose process died is given to another one, so many times


@dataclass(frozen=True)
class Answer:
    """Number `index` of the work is done, or failed."""

    index: int
    value: Record | Fault


Answers = Generator[Answer, None, None]
Watch = Callable[[int], None]  # told the steps made in work that is under way
Slow = Callable[[], None] | None  # called if kernels have to be compiled first


class Executor(ABC):
    """Runs cells in any order, each answered once; the generator is closed to stop early."""

    def connect(self) -> None:  # noqa: B027
        """Get ready, or refuse: nothing has been written or run by then."""

    def close(self) -> None:  # noqa: B027
        """Undo `connect`."""

    @abstractmethod
    def run(
        self, work: Sequence[Work], algorithms: Sequence[Algorithm], watch: Watch, slow: Slow
    ) -> Answers:
        """Do the work; `algorithms` are the kinds in it, whose kernels are needed."""


class Local(Executor):
    """Processes on this machine, as many as it has cores if `jobs` is not given; they stay for
    the next lot of work until `close`.

    With one, the cells run in this process. With more, a script must call this under
    `if __name__ == "__main__":`.
    """

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = cores() if jobs is None else integer("jobs", jobs, low=1)
        self._workers: Workers | None = None
        self._workshop = Workshop()
        self._warm: set[type[Algorithm]] = set()

    def close(self) -> None:
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.__exit__()

    def run(
        self, work: Sequence[Work], algorithms: Sequence[Algorithm], watch: Watch, slow: Slow
    ) -> Answers:
        processes = min(self.jobs, len(work))
        if processes == 1 and self._workers is None:
            self._warm_up(algorithms, slow)
            for index, one in enumerate(work):
                yield Answer(index, self._workshop.do(one, watch))
            return
        if self._workers is None or self._workers.count < processes:
            self.close()
            self._workers = Workers(processes, Workshop(), retries=RETRIES).__enter__()
        workers, done = self._workers, False
        try:
            self._warm_up(algorithms, slow)  # while they start; they find the kernels in the cache
            for answer in workers.run(work):
                if answer is not None:
                    yield Answer(*answer)
                watch(workers.steps)
            done = True
        finally:
            if not done:  # stopped early: what is under way must not be taken for the next lot's
                self.close()

    def _warm_up(self, algorithms: Sequence[Algorithm], slow: Slow) -> None:
        """Once for each kind."""
        if not {type(one) for one in algorithms} <= self._warm:
            warm_up(algorithms, slow)
            self._warm.update(type(one) for one in algorithms)
