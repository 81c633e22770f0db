"""A coordinator and ten clients, all real processes, do what the simulator does."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import incfed
from support import processes
from support.client_processes import obedient
from support.live_coordinator import Live, live
from support.postgres import Postgres

N, T, K, D = 10, 60, 4, 4
COSTS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 5.0, 50.0]
SETTINGS = f"""
dim = {D}
mechanism = {{ kind = "PaymentEfficient", beta = 0.7 }}
threshold = 2.0
reward_bound = 5.0
upload_time = 60.0
answer_time = 60.0
"""


def recorded() -> incfed.Trace:
    chance = np.random.default_rng(5)
    arms = chance.standard_normal((T, K, D))
    arms /= np.linalg.norm(arms, axis=2, keepdims=True)
    rewards = arms @ np.array([0.5, -0.3, 0.2, 0.1]) + 0.1 * chance.standard_normal((T, 1))
    return incfed.Trace(chance.integers(0, N, T), arms, rewards, count=N)


class Shop:
    """A client's process that takes orders."""

    def __init__(self, stack: ExitStack, site: Live, number: int) -> None:
        folder, file = site.folder / f"{number}", site.folder / "trace.npz"
        self.orders, theirs = processes.context().Pipe()
        stack.callback(self.orders.close)
        arguments = site.url, site.tokens[number], folder, COSTS[number], file, theirs
        stack.callback(processes.kill, processes.start(obedient, *arguments))
        theirs.close()

    def tell(self, order: int) -> None:
        self.orders.send_bytes(b"%d" % order)

    def hear(self) -> tuple[int, int]:
        picked, epoch = map(int, self.orders.recv_bytes().split())
        return picked, epoch


def play(site: Live, trace: incfed.Trace) -> list[int]:
    """The trace in step; what was picked."""
    picks = []
    with ExitStack() as stack:
        shops = [Shop(stack, site, i) for i in range(N)]
        for shop in shops:
            assert shop.orders.recv_bytes() == b"ready"
        epochs = [0] * N
        for t, who in enumerate(trace.clients.tolist()):
            shops[who].tell(t)
            picked, epoch = shops[who].hear()
            picks.append(picked)
            if epoch != epochs[who]:
                for shop in shops:
                    shop.tell(-1)
                epochs = [shop.hear()[1] for shop in shops]
                assert set(epochs) == {epoch}
    return picks


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_trace_with_real_processes(
    kind: str, memory: Path, request: pytest.FixtureRequest
) -> None:
    database = "sqlite:///books.db"
    if kind == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        database = server.database("trace_of_processes")
    trace = recorded()
    trace.save(memory / "trace.npz")
    mechanism = incfed.PaymentEfficient(beta=0.7)
    algorithm = incfed.IncFedUCB(mechanism, threshold=2.0, costs=COSTS, money_digits=2)
    run = incfed.Simulation(trace, algorithm)
    run.advance(T)
    expected = run.result()
    assert len(expected.rounds) > 5
    with live(memory, N, SETTINGS, database) as site:
        site.start()
        picks = play(site, trace)
        books = site.books()
        communication = [entry["communication"] for entry in site.entries("closed")]
    assert books.findings == []
    rewards = trace.rewards[np.arange(T), picks]
    np.testing.assert_array_equal(np.cumsum(rewards), expected.reward)
    np.testing.assert_allclose(books.V, run._run.shared.V, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(books.b, run._run.shared.b, rtol=1e-9, atol=1e-9)
    assert communication == [record.communication for record in expected.rounds]
    paid = {(round, who): amount for round, who, amount in books.payments}
    wanted = {
        (k, int(who)): float(money)
        for k, record in enumerate(expected.rounds, 1)
        for who, money in zip(record.participants, record.payments, strict=True)
    }
    assert paid == pytest.approx(wanted, abs=1e-9)
