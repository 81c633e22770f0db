"""A Dask cluster for tests: a scheduler and workers as processes on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LIMIT = 90.0  # seconds to come up, on the busiest of machines


class Cluster:
    """Started by `cluster()`; all processes end with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        # Port 0: any that is free, also for the page that nobody looks at.
        ports = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0")
        self.scheduler = self._start("scheduler", *ports, "--scheduler-file", str(file))
        limit = time.monotonic() + LIMIT
        while not file.exists() or not file.read_text().endswith("}"):
            assert self.scheduler.poll() is None, self.said()
            assert time.monotonic() < limit, self.said()
            time.sleep(0.05)
        self.address: str = json.loads(file.read_text())["address"]

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """One more; it may take a moment to report to the scheduler."""
        place = ("--host", "127.0.0.1", "--no-dashboard", "--local-directory", str(self.folder))
        size = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0")
        return self._start("worker", self.address, *place, *size, environment=environment)

    def wait_for(self, workers: int) -> None:
        """Exactly so many workers are there."""
        with self.client() as client:
            limit = time.monotonic() + LIMIT
            while len(client.scheduler_info(n_workers=-1)["workers"]) != workers:
                assert time.monotonic() < limit, self.said()
                time.sleep(0.05)

    def client(self) -> Any:
        from distributed import Client

        return Client(self.address, set_as_default=False)

    def said(self) -> str:
        return "\n".join(log.read_text()[-2000:] for log in self.folder.glob("*.log"))

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.kill()
            process.wait()

    def _start(
        self, kind: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with (self.folder / f"{kind}{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", kind, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})},
            )
        self._processes.append(process)
        return process


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    made = None
    try:
        made = Cluster(folder)
        for _ in range(workers):
            made.worker()
        made.wait_for(workers)
        yield made
    finally:
        if made is not None:
            made.stop()
