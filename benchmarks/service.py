"""Rounds of a real coordinator process on loopback, over SQLite and over PostgreSQL; beside them
the same rounds without HTTP, and the protocol's decisions alone: `make bench-service`.

A round is measured from the moment its trigger is sent until every client has downloaded.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from rich.progress import track

from crowd import Simulated
from incfed.ledger import clients
from incfed.ledger.database import Database
from incfed.ledger.federation import create
from incfed.ledger.settings import Settings
from incfed.protocol import deciding
from incfed.protocol.client import Learner
from incfed.protocol.global_statistics import GlobalStatistics
from incfed.protocol.messages import Answer, Delivery, Upload
from incfed.protocol.open_round import OpenRound, Server, Uploads
from incfed.service.coordinator import handlers
from incfed.service.coordinator.config import read_config
from incfed.service.coordinator.coordinator import Coordinator
from incfed.service.coordinator.starts import Caller
from incfed.service.coordinator.views import Wanted
from support.cli import INCFED
from support.postgres import running
from timing import row

DIM, STEPS, COST, BETA = 25, 5, 10.0, 1.0
CROWDS = {100: 40, 500: 15}  # clients: rounds
CONFIG = """
[federation]
dim = {dim}
mechanism = {{ kind = "PaymentEfficient", beta = {beta} }}
threshold = 1e-9
budget = "none"
round_interval = 0.0
rounds_per_second = 0.0
upload_time = 60.0
answer_time = 60.0
[server]
database = "{url}"
port = {port}
operator_port = {operators}
log_level = "WARNING"
"""
Seconds = list[float]
Told = TypeVar("Told")


def measure() -> dict[str, Any]:
    found: dict[str, Any] = {"dim": DIM, "steps": STEPS, "cost": COST, "beta": BETA}
    with tempfile.TemporaryDirectory() as folder:
        found["sqlite"] = _database("sqlite", lambda name: f"sqlite:///{folder}/{name}.db")
    try:
        with running() as server:
            found["postgresql"] = _database("postgresql", server.database)
    except pytest.skip.Exception as reason:
        print(f"  PostgreSQL left out: {reason}")
    return found


def _database(kind: str, url: Callable[[str], str]) -> dict[str, Any]:
    found = {}
    for count, rounds in CROWDS.items():
        title = f"{kind}, {count} clients"
        with _federation(url(f"served{count}"), count) as (config, tokens):
            whole, cpu, mebibytes = _served(config, tokens, rounds, title)
        with _federation(url(f"direct{count}"), count) as (config, _):
            direct, protocol = _without_http(config, count, max(3, rounds // 4))
        found[str(count)] = figures = {
            "p50_ms": 1e3 * float(np.quantile(whole, 0.5)),
            "p99_ms": 1e3 * float(np.quantile(whole, 0.99)),
            "rounds_per_second": 1.0 / float(np.mean(whole)),
            "cpu_ms": 1e3 * cpu / rounds,
            "without_http_ms": 1e3 * float(np.median(direct)),
            "protocol_ms": 1e3 * float(np.median(protocol)),
            "memory_mib": mebibytes,
        }
        title += ": "
        aim = "(aim 1,000)" if count == 100 else ""
        row(title + "a round, p50", figures["p50_ms"], "ms", aim)
        row(title + "a round, p99", figures["p99_ms"], "ms")
        row(title + "rounds", figures["rounds_per_second"], "/s")
        row(title + "CPU of the coordinator", figures["cpu_ms"], "ms", "a round")
        row(title + "a round without HTTP", figures["without_http_ms"], "ms")
        row(title + "deciding and closing alone", figures["protocol_ms"], "ms")
        row(title + "memory of the coordinator", figures["memory_mib"], "MiB")
    return found


@contextmanager
def _federation(url: str, count: int, operators: int = 0) -> Iterator[tuple[Path, list[str]]]:
    """A config, and the tokens of its clients."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        path, port = Path(folder, "federation.toml"), free.getsockname()[1]
        free.close()
        values = {"url": url, "port": port, "operators": operators}
        path.write_text(CONFIG.format(dim=DIM, beta=BETA, **values))
        store = Database(url)
        with store.write() as connection:
            create(connection, read_config(path).settings, time.time())
            tokens = [clients.enrol(connection, f"c{n}", time.time())[1] for n in range(count)]
        store.close()
        yield path, tokens


def _served(
    config: Path, tokens: list[str], rounds: int, title: str
) -> tuple[Seconds, float, float]:
    """What each round took, what all took of CPU, and the peak memory."""
    used: Seconds = []
    with _process(config) as (port, memory, cpu):
        whole = asyncio.run(_rounds(port, tokens, rounds, title, lambda: used.append(cpu())))
        return whole, used[1] - used[0], memory()


@contextmanager
def _process(config: Path) -> Iterator[tuple[int, Callable[[], float], Callable[[], float]]]:
    """A coordinator: its port, and its peak memory and CPU time so far."""
    port = read_config(config).server.port
    process = subprocess.Popen([*INCFED, "serve", "--config", config])
    try:
        for _ in range(1200):
            assert process.poll() is None, "the coordinator ended"
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz").close()
                break
            except urllib.error.URLError:
                time.sleep(0.1)
        yield port, lambda: _peak(process.pid), lambda: cpu_seconds(process.pid)
    finally:
        process.terminate()
        process.wait()


def _peak(pid: int) -> float:
    """MiB, as Linux keeps it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def cpu_seconds(pid: int) -> float:
    """What a process has used (Linux): it says more than the time does on a busy machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _rounds(
    port: int, tokens: list[str], rounds: int, title: str, mark: Callable[[], object] = lambda: None
) -> Seconds:
    """What each took. `mark` is called when the first, which warms up, is over, and at the end."""
    crowd = [Simulated(n, DIM, COST, port, token) for n, token in enumerate(tokens)]
    await asyncio.gather(*(one.enter() for one in crowd))
    taken = []
    for n in track(range(rounds + 1), f"  {title}", transient=True):
        for one in crowd:
            one.learn(STEPS)
        parts = [asyncio.create_task(one.take_part()) for one in crowd]
        await asyncio.sleep(1.0 if n == 0 else 0.1)  # until all wait for news
        begun = time.perf_counter()
        await crowd[n % len(crowd)].open()
        await asyncio.gather(*parts)
        taken.append(time.perf_counter() - begun)
        if n in (0, rounds):
            mark()
    for one in crowd:
        one.close()
    return taken[1:]


def _without_http(config: Path, count: int, rounds: int) -> tuple[Seconds, Seconds]:
    """The same by calls, each stage as one batch; and what a mechanism and the sums take of it."""
    settings = read_config(config)
    store = Database(settings.server.database)
    coordinator = Coordinator(store, settings.settings, time.time)
    crowd = [Simulated(n, DIM, COST, 0, "") for n in range(count)]
    everybody = range(count)
    whole, protocol = [], []
    callers = [Caller(k) for k in everybody]
    coordinator.states(callers)
    for _ in range(rounds + 1):
        for one in crowd:
            one.learn(STEPS)
        begun = time.perf_counter()
        [state] = _all(coordinator.handle([(0, handlers.open_round, handlers.Open())]))
        opened = state.round
        assert opened is not None
        number = opened.number
        sent = [one.learner.freeze(number, COST) for one in crowd]
        _all(coordinator.handle([(k, handlers.upload, sent[k]) for k in everybody]))
        seen = [state.round for state in _all(coordinator.states(callers))]
        offers = {k: view.offer for k, view in enumerate(seen) if view and view.offer}
        assert len(offers) == count  # beta = 1: nobody is left out
        yes = {k: Answer(number, offer.attempt, True) for k, offer in offers.items()}
        _all(coordinator.handle([(k, handlers.answer, yes[k]) for k in offers]))
        db = {k: Delivery(number, crowd[k].learner.deliver(number)) for k in offers}
        _all(coordinator.handle([(k, handlers.delivery, db[k]) for k in offers]))
        coordinator.states(callers)
        wanted = [Wanted(k, one.learner.epoch) for k, one in enumerate(crowd)]
        news = _all(coordinator.downloads(wanted))
        whole.append(time.perf_counter() - begun)
        protocol.append(_protocol(crowd[0].learner, sent, settings.settings))
        for one, download in zip(crowd, news, strict=True):
            one.learner.take_in(download)
    store.close()
    return whole[1:], protocol[1:]


def _protocol(learner: Learner, sent: list[Upload], settings: Settings) -> float:
    """Seconds to decide and to close the round in which this was uploaded."""
    shared = GlobalStatistics.of(learner.V, learner.b, settings.ridge)
    server = Server(settings, settings.ridge, len(sent), shared)
    begun = time.perf_counter()
    uploads = Uploads.of(dict(enumerate(sent)), lambda epoch: shared, learner.epoch, settings.ridge)
    opened = OpenRound(server, uploads, trigger=0)
    verdict = deciding.decide(opened)
    deciding.close(opened, verdict, [np.zeros(DIM)] * len(verdict.payments))
    return time.perf_counter() - begun


def _all(outcomes: Sequence[Told | Exception]) -> list[Told]:
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
