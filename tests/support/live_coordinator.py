"""A coordinator's own process over a database, to be killed and started again; and its ledger."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
from sqlalchemy import select

import incfed
from incfed.ledger import money, tables
from incfed.ledger.audit import audit
from incfed.ledger.clients import enrol
from incfed.ledger.database import Database
from incfed.ledger.federation import create
from incfed.ledger.records import read_epoch
from incfed.protocol.money import from_units
from incfed.service.coordinator.config import read_config
from incfed.service.coordinator.serve import serve
from reference.mechanisms import FloatArray
from support import processes
from support.failpoints import coordinator_failpoints

# long enough for a process to be started again in between
SETTINGS = """
dim = 3
mechanism = "PayEveryone"
threshold = 0.5
reward_bound = 100.0
upload_time = 30.0
answer_time = 30.0
"""


def _serve(folder: Path, port: int, dies: str, files: int | None) -> None:
    """`incfed serve`, in a process of its own."""
    if files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    os.dup2(os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    config = read_config(folder / "federation.toml")
    with coordinator_failpoints(dying_at(dies)):
        serve(replace(config, server=replace(config.server, port=port, operator_port=0)))


def dying_at(which: str) -> Callable[[str], None]:
    """The point "paying:2" kills this process the second time that it comes to `paying`."""
    name, _, times = which.partition(":")
    left = int(times or 1)

    def failpoint(point: str) -> None:
        nonlocal left
        if point == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return failpoint


# No limits, so that a round of one client and one step counts.
OFF = """{ price_rise = "none", price_spread = "none", largest_share = "none",\
 steps_spread = "none", steps_per_upload = "none", least_sharers = 1, least_steps = 1,\
 refuse_resale = false, per_round = "none", per_payment = "none", per_client = "none" }"""


class Books(NamedTuple):
    """What the ledger says."""

    epoch: int
    V: FloatArray
    b: FloatArray
    payments: list[tuple[int, int, float]]  # round, client, amount
    findings: list[str]

    def paid(self, client: int) -> float:
        return sum(amount for _, who, amount in self.payments if who == client)


class Live:
    """A federation of `count` clients; `settings` and `server` as TOML."""

    def __init__(
        self,
        folder: Path,
        count: int,
        settings: str,
        database: str = "sqlite:///books.db",
        server: str = "",
    ) -> None:
        self.folder = folder
        if "budget" not in settings:
            settings += '\nbudget = "none"'
        if "limits" not in settings:
            settings += f"\nlimits = {OFF}"
        text = f'[federation]\n{settings}\n[server]\ndatabase = "{database}"\n{server}'
        (folder / "federation.toml").write_text(text)
        config = read_config(folder / "federation.toml")
        self.dim = config.settings.dim
        self.store = Database(config.server.database)
        with self.store.write() as connection:
            create(connection, config.settings, time.time())
            self.tokens = [enrol(connection, f"shop {i}", time.time())[1] for i in range(count)]
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: ForkServerProcess | None = None

    def start(self, dies: str = "", files: int | None = None) -> None:
        """`dies`: the point at which it will; `files`: how many it may open."""
        self.process = processes.start(_serve, self.folder, self.port, dies, files)
        while True:
            try:
                httpx.get(f"{self.url}/healthz", timeout=30.0).raise_for_status()
                return
            except httpx.TransportError:
                log = self.folder / "log"
                assert self.process.is_alive(), log.read_text()[-2000:]
                time.sleep(0.02)

    def ended(self) -> int:
        """How it died."""
        assert self.process is not None
        code = processes.ended(self.process)
        self.process.close()
        self.process = None
        return code

    def stop(self) -> None:
        if self.process is not None:
            processes.kill(self.process)
            self.process = None

    def beside(self, folder: Path) -> Live:
        """Another coordinator over the same database, with its own process and log; stop it."""
        folder.mkdir()
        shutil.copy(self.folder / "federation.toml", folder)
        other = copy(self)
        other.folder, other.port, other.process = folder, free_port(), None
        other.url = f"http://127.0.0.1:{other.port}"
        return other

    @property
    def operators_url(self) -> str:
        """Where operators ask."""
        return str(self.logged("listening")[-1]["for_operators"])

    def books(self) -> Books:
        with self.store.read() as connection:
            federation = connection.execute(select(tables.federation)).one()
            V, b = read_epoch(connection, federation.epoch, self.dim)
            rows = connection.execute(select(tables.payments)).all()
            digits = money.digits_in_force(connection)
            paid = [(row.round, row.client, from_units(row.amount_units, digits)) for row in rows]
            return Books(federation.epoch, V, b, paid, audit(connection).findings)

    def logged(self, message: str) -> list[dict[str, Any]]:
        """The lines of its log with this message."""
        lines = (self.folder / "log").read_text().splitlines()
        found = [json.loads(line) for line in lines if line.startswith("{")]
        return [line for line in found if line["message"] == message]

    def entries(self, kind: str) -> list[dict[str, Any]]:
        """Of one kind, in order."""
        order = select(tables.entries.c.body).order_by(tables.entries.c.number)
        with self.store.read() as connection:
            found = [json.loads(body) for body in connection.scalars(order)]
        return [entry for entry in found if entry["kind"] == kind]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def live(*arguments: Any, **options: Any) -> Iterator[Live]:
    made = Live(*arguments, **options)
    try:
        yield made
    finally:
        made.stop()
        made.store.close()


def settle(site: Live, clients: Sequence[incfed.Client]) -> Books:
    """Until nobody calls for a round any more and everybody has what is shared."""
    books = None
    while books is None or books.epoch != site.books().epoch:
        books = site.books()
        for client in clients:
            client.sync(60.0)
    return books


def observation(k: int, dim: int = 3) -> tuple[FloatArray, float]:
    """The k-th that a client makes, the same in every life."""
    x = np.random.default_rng(k).standard_normal(dim)
    return np.asarray(x / np.linalg.norm(x)), 0.1 * k


def learned(steps: int, dim: int = 3) -> tuple[FloatArray, FloatArray]:
    """V and b of the first so many."""
    V, b = np.zeros((dim, dim)), np.zeros(dim)
    for x, y in (observation(k, dim) for k in range(steps)):
        V, b = V + np.outer(x, x), b + y * x
    return V, b
