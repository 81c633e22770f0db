"""Cells on a Dask cluster: one task a cell, its record (or whole result) sent back as data.

Before any work, every worker must have incfed and the libraries under it in the versions that are
here, so that the numbers are the same. Dask gives the tasks of a lost worker to others; a task that
loses worker after worker is a failure.
"""

from __future__ import annotations

import logging
import pkgutil
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from ..algorithms.base import Algorithm
from ..errors import InputError, refuse
from ..support.extras import install
from .cell_runner import CellRunner
from .cells import Failure, Record, Task
from .executors import Answers, Executor, Slow, Watch

SAME = ("incfed", "numba", "numpy")  # what the numbers come from
PATIENCE = 15.0  # seconds for a scheduler to answer, and for a first worker to be there


class Dask(Executor):
    """The workers of the scheduler at `address`, such as "tcp://host:8786"."""

    def __init__(self, address: str, *, patience: float = PATIENCE) -> None:
        if not isinstance(address, str) or not address.strip():
            raise refuse("--dask", address, "the address of a scheduler, such as tcp://host:8786")
        self.address = address.strip()
        self._patience = patience
        self._client: Any = None
        self._log = logging.getLogger("distributed.client")
        self._level = self._log.level

    def connect(self) -> None:
        try:
            from distributed import Client
            from distributed.comm import resolve_address
        except ModuleNotFoundError as error:
            raise InputError(
                f"--dask: needs distributed ({error}); install it with: {install('dask')}"
            ) from None
        self._level = self._log.level
        self._log.setLevel(logging.CRITICAL)  # a scheduler that goes away is said by us, in a line
        try:
            resolve_address(self.address)  # a client that cannot even begin does not end well
            self._client = Client(self.address, timeout=self._patience, set_as_default=False)
        except (OSError, ValueError, TypeError, ImportError) as error:  # timeouts are OSErrors
            said = " ".join(str(error).split()) or type(error).__name__
            allowed = f"the address of a running scheduler, such as tcp://host:8786 ({said})"
            raise refuse("--dask", self.address, allowed) from None
        self._check()

    def describe(self, tasks: int) -> str:
        return f"on the cluster at {self.address}"

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()
        self._log.setLevel(self._level)

    def _check(self) -> None:
        """Refuse a cluster without workers, or with workers that would compute something else."""
        try:
            self._client.wait_for_workers(1, timeout=self._patience)
        except TimeoutError:
            raise InputError(
                f"--dask: the scheduler at {self.address} has no workers; start some with: "
                f"dask worker {self.address}"
            ) from None
        for library in SAME:
            ours = pkgutil.resolve_name(f"{library}:__version__")
            # A function of Python's own, because nothing of ours may be there.
            theirs = self._client.run(
                pkgutil.resolve_name, f"{library}:__version__", on_error="return"
            )
            for worker, found in theirs.items():
                if found != ours:
                    state = f"has {library} {found}"
                    if isinstance(found, Exception):
                        state = f"cannot use {library} ({found})"
                    raise InputError(
                        f"--dask: the worker {worker} {state}; for the same numbers as here, "
                        f"install {library} {ours} there"
                    )

    def run(
        self, tasks: Sequence[Task], algorithms: Sequence[Algorithm], watch: Watch, slow: Slow
    ) -> Answers:
        from distributed import as_completed

        # Keys are unique to this call: Dask would take tasks of another sweep for the same.
        call = uuid.uuid4().hex[:8]
        keys = [f"incfed-{call}-{one.fingerprint[:16]}-{n}" for n, one in enumerate(tasks)]
        index = {key: n for n, key in enumerate(keys)}
        futures = self._client.map(_run, tasks, key=keys, pure=False)
        try:
            finished = as_completed(
                futures, loop=self._client.loop, with_results=True, raise_errors=False
            )
            for future, result in finished:
                yield index[future.key], self._answer(future.status, result)
                future.release()  # the worker need not keep it
        finally:
            self._client.cancel(futures)

    def _answer(self, status: str, result: Any) -> Record | Failure:
        if status == "finished" and isinstance(result, Record | Failure):
            return result
        if status != "error":
            return Failure(f"the scheduler at {self.address} went away, or dropped it")
        error = result[1]
        if type(error).__name__ == "KilledWorker":
            return Failure("worker after worker died over it; is there enough memory?")
        said = " ".join(str(error).split())
        return Failure(f"{type(error).__name__} on a worker: {said}")


@cache
def _runner() -> CellRunner:
    """One for all tasks of a worker: they share its worlds."""
    return CellRunner()


def _run(task: Task) -> Record | Failure:
    """What a worker of the cluster does."""
    from distributed import get_worker

    answer = _runner().run(task, lambda done: None)
    if isinstance(answer, Failure):
        return replace(answer, text=f"{answer.text} (worker {get_worker().address})")
    return answer
