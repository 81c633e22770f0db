"""A coordinator and ten clients, all real processes, do what the simulator does."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import numpy as np
import pytest

import incfed
import postgres
from incfed.ledger import clients
from incfed.ledger.founding import begin
from incfed.ledger.records import read_epoch
from incfed.ledger.store import Store
from incfed.service.coordinator.config import read_config
from soaking import some
from test_cli import incfed as command
from test_service_cli import served

N, T, K, D = 10, 60, 4, 4
COSTS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 5.0, 50.0]
TOML = """
[federation]
dim = {dim}
mechanism = {{ kind = "PaymentEfficient", beta = 0.7 }}
threshold = 2.0
reward_bound = 5.0
upload_time = 60.0
answer_time = 60.0
[server]
database = "{database}"
"""


class Process:
    def __init__(self, stack: ExitStack, arguments: list[str]) -> None:
        script = Path(__file__).with_name("stepping_client.py")
        self._process = stack.enter_context(
            subprocess.Popen(
                [sys.executable, script, *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
        stack.callback(self._process.kill)

    def tell(self, line: str) -> None:
        self._pipe(self._process.stdin).write(f"{line}\n")
        self._pipe(self._process.stdin).flush()

    def answer(self) -> list[str]:
        said = self._pipe(self._process.stdout).readline().split()
        assert said, "the client's process ended"
        return said

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


def recorded() -> incfed.Trace:
    chance = np.random.default_rng(5)
    arms = chance.standard_normal((T, K, D))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ np.array([0.5, -0.3, 0.2, 0.1]) + 0.1 * chance.standard_normal((T, 1))
    return incfed.Trace(chance.integers(0, N, T), arms, rewards, count=N)


def enrolled(config: Path) -> list[str]:
    """Tokens of N clients; `incfed client enrol` does the same, one at a time."""
    found = read_config(config)
    store = Store(found.server.database)
    with store.write() as connection:
        begin(connection, found.settings, time.time())
        tokens = [clients.enrol(connection, f"shop {i}", time.time())[1] for i in range(N)]
    store.close()
    return tokens


def live(folder: Path, database: str, trace: incfed.Trace) -> list[int]:
    """Run the trace in step with real processes; what was picked."""
    (folder / "federation.toml").write_text(TOML.format(dim=D, database=database))
    trace.save(folder / "trace.npz")
    tokens = enrolled(folder / "federation.toml")
    picks = []
    with served(folder) as (url, _), ExitStack() as stack:
        shops = [
            Process(stack, [url, token, str(folder / f"{i}"), f"{COSTS[i]}", f"{folder}/trace.npz"])
            for i, token in enumerate(tokens)
        ]
        for shop in shops:
            assert shop.answer() == ["ready"]
        epochs = [0] * N
        for t, who in enumerate(trace.clients.tolist()):
            shops[who].tell(f"act {t}")
            picked, epoch = map(int, shops[who].answer())
            picks.append(picked)
            if epoch != epochs[who]:
                for shop in shops:
                    shop.tell("sync")
                epochs = [int(shop.answer()[0]) for shop in shops]
                assert set(epochs) == {epoch}
    return picks


@pytest.mark.parametrize("kind", some(["sqlite", "postgresql"], 1))
def test_a_trace_with_real_processes(kind: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        database = "sqlite:///books.db"
        if kind == "postgresql":
            database = stack.enter_context(postgres.running()).database("books")
        compare(tmp_path, database)


def compare(tmp_path: Path, database: str) -> None:
    trace = recorded()
    mechanism = incfed.PaymentEfficient(beta=0.7)
    run = incfed.Simulation(trace, incfed.IncFedUCB(mechanism, threshold=2.0, costs=COSTS))
    run.advance(T)
    expected = run.result()
    assert len(expected.rounds) > 5
    picks = live(tmp_path, database, trace)
    rewards = trace.rewards[np.arange(T), picks]
    np.testing.assert_array_equal(np.cumsum(rewards), expected.reward)

    store = Store(database.replace("sqlite:///", f"sqlite:///{tmp_path}/"))
    with store.read() as connection:
        V, b = read_epoch(connection, len(expected.rounds), D)
    store.close()
    np.testing.assert_allclose(V, run._server.shared.V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b, run._server.shared.b, rtol=1e-9, atol=1e-9)
    audited = command(tmp_path, "ledger", "audit")
    assert audited.returncode == 0, audited.stderr
    exported = command(tmp_path, "ledger", "export", "payments.csv")
    assert exported.returncode == 0, exported.stderr
    lines = (tmp_path / "payments.csv").read_text().splitlines()
    heads = lines[0].split(",")
    rows = [dict(zip(heads, line.split(","), strict=True)) for line in lines[1:]]
    paid = {(int(row["round"]), int(row["client"])): float(row["amount"]) for row in rows}
    wanted = {
        (k, int(client)): float(money)
        for k, record in enumerate(expected.rounds, 1)
        for client, money in zip(record.participants, record.payments, strict=True)
        if money
    }
    given = {key: money for key, money in paid.items() if money}
    assert given.keys() == wanted.keys()
    for key, money in given.items():
        assert money == pytest.approx(wanted[key], abs=1e-9)
