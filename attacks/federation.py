"""A federation to attack: a coordinator and honest clients, each in a process of its own."""

from __future__ import annotations

import json
import math
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
import numpy as np
from sqlalchemy import select

from incfed import Client
from incfed.ledger import tables
from incfed.ledger.audit import audit
from incfed.ledger.clients import enrol
from incfed.ledger.database import Database
from incfed.ledger.federation import create
from incfed.protocol.client import Observations
from incfed.service.coordinator.config import read_config

DIM, HONEST = 4, 3
BUDGET = 10_000.0
PATIENCE = 30.0  # seconds to wait for what must happen,
START = 180.0  # and for processes to start
ELSEWHERE = "127.0.0.2"  # an address that is no honest client's, and no proxy's
CONFIG = """
[federation]
dim = {dim}
threshold = 2.0
upload_time = 2.0
answer_time = 2.0
{settings}
[server]
database = "sqlite:///{database}"
port = {port}
operator_port = 0
log_level = "INFO"
{server}
"""


class Federation:
    """`settings` and `server`: lines of its config; `pause`: seconds between two steps of an honest
    client."""

    def __init__(
        self, folder: Path, settings: str, server: str, dim: int, honest: int, pause: float
    ) -> None:
        self.folder, self.dim, self.pause = folder, dim, pause
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        database = folder / "federation.db"
        config = CONFIG.format(
            dim=dim, settings=settings, database=database, port=self.port, server=server
        )
        (folder / "federation.toml").write_text(config, encoding="utf-8")
        read = read_config(folder / "federation.toml")
        self.store = Database(read.server.database)
        with self.store.write() as connection:
            create(connection, read.settings, time.time())
            names = [f"honest {i}" for i in range(honest)] + ["attacker"]
            tokens = [enrol(connection, name, time.time())[1] for name in names]
        self.honest, self.token = tokens[:-1], tokens[-1]
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.coordinator = self._start("-m", "incfed.cli", "serve", "--config", "federation.toml")
        if not self.wait(self.answers, START):
            raise RuntimeError(f"the coordinator does not answer: {self.log()[-2000:]}")
        for who, token in enumerate(self.honest):
            task = {
                "url": self.url,
                "token": token,
                "who": who,
                "dim": self.dim,
                "pause": self.pause,
            }
            self._start(str(Path(__file__).parent / "honest.py"), json.dumps(task))
        learned = 3 * len(self.honest)
        if not self.wait(lambda: len(self.events()) >= learned, START):
            raise RuntimeError(f"honest clients do not learn: {self.log()[-2000:]}")
        return self

    def accomplices(self, count: int) -> list[str]:
        """The tokens of more members that do what the attacker wants."""
        with self.store.write() as connection:
            names = [f"accomplice {n}" for n in range(count)]
            return [enrol(connection, name, time.time())[1] for name in names]

    def __exit__(self, *error: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            process.wait()
        self.store.close()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            started = subprocess.Popen(
                [sys.executable, *arguments],
                cwd=self.folder, stdout=log, stderr=log, preexec_fn=_few_files,
            )  # fmt: skip
        self._processes.append(started)
        return started

    def wait(self, happened: Callable[[], Any], patience: float = PATIENCE) -> bool:
        """Until it has happened; False: it has not, in this time."""
        end = time.monotonic() + patience
        while not happened():
            if self.coordinator.poll() is not None:
                raise RuntimeError(f"the coordinator ended: {self.log()[-2000:]}")
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def answers(self, timeout: float = 2.0) -> bool:
        """Does the coordinator answer a newcomer?"""
        try:
            return httpx.get(f"{self.url}/healthz", timeout=timeout).is_success
        except httpx.HTTPError:
            return False

    def ask(self, method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token or self.token}", "Incfed-Protocol": "1"}
        headers |= more.pop("headers", {})
        return httpx.request(method, self.url + path, headers=headers, timeout=PATIENCE, **more)

    def connect(self, address: str = ELSEWHERE, timeout: float = 10.0) -> socket.socket:
        """Another connection, from another address than those of honest clients."""
        source = (address, 0)
        return socket.create_connection(("127.0.0.1", self.port), timeout, source_address=source)

    def longest_wait(self) -> float:
        """Seconds that it took an honest client to be answered, the longest of some requests;
        infinite if one was not."""
        waits = []
        for _ in range(3):
            began = time.monotonic()
            try:
                self.ask("GET", "/v1/state", self.honest[0]).raise_for_status()
            except httpx.HTTPError:
                return math.inf
            waits.append(time.monotonic() - began)
        return max(waits)

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def memory(self) -> float:
        """Of the coordinator, in MiB."""
        pages = int(Path(f"/proc/{self.coordinator.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 2**20

    def events(self) -> list[tuple[np.ndarray, float]]:
        """What honest clients have learned: (x, reward)."""
        found = []
        for file in self.folder.glob("honest-*.jsonl"):
            for line in file.read_text(encoding="utf-8").splitlines():
                x, reward = json.loads(line)
                found.append((np.array(x), float(reward)))
        return found

    def rounds(self) -> list[Any]:
        with self.store.read() as connection:
            return list(connection.execute(select(tables.rounds)).all())

    def closed(self) -> int:
        """How many rounds have closed."""
        return sum(round.stage == "closed" for round in self.rounds())

    def payments(self) -> list[Any]:
        with self.store.read() as connection:
            return list(connection.execute(select(tables.payments)).all())

    def paid(self) -> int:
        """How often honest clients were paid money, in rounds to which the attacker uploaded."""
        with self.store.read() as connection:
            uploads = tables.uploads.c
            own = select(uploads.round).where(uploads.client == len(self.honest))
            beside = set(connection.scalars(own.where(uploads.steps > 0)))
        honest = (
            row for row in self.payments() if row.client < len(self.honest) and row.round in beside
        )
        return sum((row.amount_units or 0) > 0 for row in honest)

    def shares(self, *, honest: bool) -> int:
        """How often honest clients, or the attacker, took part in a round."""
        return sum((row.client < len(self.honest)) == honest for row in self.payments())

    def findings(self) -> list[str]:
        """What the audit finds wrong."""
        with self.store.read() as connection:
            return audit(connection).findings


def _few_files() -> None:
    """As many open files as a service usually may have."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))


class Attacker(Client):
    """A member that shares what it likes, at any price: the real client with another memory."""

    def __init__(
        self, federation: Federation, price: float = 0.0, name: str = "attacker", token: str = ""
    ) -> None:
        self.price = price
        token, folder = token or federation.token, federation.folder / name
        super().__init__(federation.url, token, folder, cost=lambda stake: self.price)

    def make_up(self, V: np.ndarray, b: np.ndarray, steps: int) -> None:
        """Take this for what it has learned and not shared yet."""
        learner = self._durable.learner
        with self._durable._lock:
            rows = []
            if steps < self.dim:  # then dV travels as rows
                values, vectors = np.linalg.eigh(V)
                rows = list((vectors * np.sqrt(np.maximum(values, 0.0))).T[-steps:])
            scores = np.zeros_like(learner.fresh.scores)
            learner.fresh = Observations(steps, V.copy(), b.copy(), rows, scores)
            learner.clock = max(1, steps)
            learner._refactor()
        self._background.wake()

    @property
    def model(self) -> tuple[np.ndarray, np.ndarray]:
        """V_g and b_g, as downloaded."""
        return self._durable.learner.V, self._durable.learner.b

    @property
    def held_back(self) -> int:
        return self._durable.learner.pending_steps


@contextmanager
def attacker(federation: Federation, price: float = 0.0) -> Iterator[Attacker]:
    one = Attacker(federation, price)
    try:
        yield one
    finally:
        one.close()
