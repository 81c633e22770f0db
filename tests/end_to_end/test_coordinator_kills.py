"""kill -9 of what a federation rests on, with clients that know nothing of it: the coordinator's
process at every named point of a round, and its database in the middle of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Event, Lock

import httpx
import numpy as np
import pytest

import incfed
from incfed.service.client.policies import Proposal
from incfed.service.coordinator.monitoring import AVAILABLE, NEXT, UNAVAILABLE
from support.failpoints import POINTS
from support.live_coordinator import SETTINGS, Live, learned, live, observation, settle
from support.postgres import Postgres

COUNT = 3
KILLS = 4


def shops(stack: ExitStack, site: Live, folder: Path, **last: object) -> list[incfed.Client]:
    """In this process; `last`: options of the last one."""
    made = []
    for k, token in enumerate(site.tokens):
        options: dict[str, object] = {"cost": 2.0} | (last if k == len(site.tokens) - 1 else {})
        client = incfed.Client(site.url, token, folder / f"{k}", **options)  # type: ignore[arg-type]
        made.append(stack.enter_context(client))
    return made


def teach(clients: list[incfed.Client], steps: int) -> None:
    for client in clients:
        for k in range(client.steps, steps):
            client.learn(*observation(k))


def check(site: Live, clients: list[incfed.Client], rounds: int) -> None:
    """Everything learned is shared once or pending, everything owed is paid once."""
    books = settle(site, clients)
    assert books.findings == []
    assert books.epoch >= rounds
    V, b = books.V.copy(), books.b.copy()
    expected = [learned(client.steps) for client in clients]
    for k, client in enumerate(clients):
        assert client.epoch == books.epoch
        assert client.earned == pytest.approx(books.paid(k))
        V, b = V + client._durable.learner.pending.V, b + client._durable.learner.pending.b
    np.testing.assert_allclose(V, sum(one for one, _ in expected), atol=1e-9)
    np.testing.assert_allclose(b, sum(one for _, one in expected), atol=1e-9)


def test_the_coordinator_dies_at_every_point(memory: Path) -> None:
    """The last client declines, so that rounds are decided again."""
    with live(memory, COUNT, SETTINGS) as site, ExitStack() as stack:
        site.start()
        clients = shops(stack, site, memory, accept=lambda _: False)
        for rounds, point in enumerate(POINTS, 1):
            site.stop()
            site.start(point)
            teach(clients, 2 * rounds)
            assert site.ended() == -9, point
            site.start()
            check(site, clients, rounds)
        assert {who for _, who, _ in site.books().payments} == {0, 1}
        assert len(site.books().payments) == 2 * site.books().epoch


def test_the_database_dies_in_the_middle_of_a_round(postgres: Postgres, memory: Path) -> None:
    """The coordinator stays, says what is the matter meanwhile, and goes on by itself."""
    url = postgres.database("killed_for_real")
    with live(memory, COUNT, SETTINGS, url) as site, ExitStack() as stack:
        site.start()
        struck: list[int] = []
        one_at_a_time = Lock()  # clients are asked in threads of their own

        def strike(proposal: Proposal) -> bool:
            with one_at_a_time:
                if not struck:
                    postgres.kill_all()
                    struck.append(proposal.round)
            return True

        clients = shops(stack, site, memory, accept=strike)
        teach(clients, 2)
        for _ in range(600):
            if struck:
                break
            time.sleep(0.05)
        away = httpx.get(f"{site.url}/healthz", timeout=30.0)
        assert (away.status_code, away.json()["field"]) == (503, "database")
        headers = {"Authorization": f"Bearer {site.tokens[0]}", "Incfed-Protocol": "1"}
        away = httpx.get(f"{site.url}/v1/state", headers=headers, timeout=30.0)
        said = "is unavailable: try again later"
        assert (away.status_code, away.json()["message"]) == (503, said)
        postgres.start()
        check(site, clients, 1)
        assert site.process is not None
        assert site.process.is_alive()
        assert {(round, who) for round, who, _ in site.books().payments} >= {
            (struck[0], who) for who in range(COUNT)
        }
        teach(clients, 4)
        check(site, clients, 2)


def test_a_database_that_dies_under_load_leaves_lines_and_no_traces(
    postgres: Postgres, memory: Path
) -> None:
    """Rounds are held and others ask meanwhile; afterwards rounds go on."""
    settings = f"{SETTINGS}rounds_per_second = 1000.0\nsteps_per_second = 0.0\n"
    url = postgres.database("killed_under_load")
    with live(memory, COUNT, settings, url) as site, ExitStack() as stack:
        site.start()
        clients = shops(stack, site, memory)
        headers = {"Authorization": f"Bearer {site.tokens[0]}", "Incfed-Protocol": "1"}
        stop = Event()

        def ask() -> None:
            with httpx.Client(base_url=site.url, headers=headers, timeout=30.0) as caller:
                while not stop.wait(0.005):
                    for path in ("/v1/state", "/v1/download", "/healthz"):
                        assert caller.get(path).status_code in (200, 503)

        def learn() -> None:
            for k in count():
                for client in clients:
                    client.learn(*observation(k % 100))
                if stop.wait(0.01):
                    return

        with ThreadPoolExecutor() as pool:
            tasks = [pool.submit(ask), pool.submit(ask), pool.submit(learn)]
            try:
                for struck in range(KILLS):
                    wait_for(lambda: clients[0].epoch >= 2 * struck)  # noqa: B023
                    postgres.kill_all()
                    wait_for(lambda: len(site.logged(UNAVAILABLE)) > struck)  # noqa: B023
                    postgres.start()
                    wait_for(lambda: len(site.logged(AVAILABLE)) > struck)  # noqa: B023
                wait_for(lambda: clients[0].epoch > 2 * KILLS)
            finally:
                stop.set()
            for task in tasks:
                task.result()
        assert settle(site, clients).findings == []
        log = (memory / "log").read_text()
        assert "Traceback" not in log
        assert not [line for line in log.splitlines() if not line.startswith("{")]
        away, back = site.logged(UNAVAILABLE), site.logged(AVAILABLE)
        assert KILLS <= len(away) <= 2 * KILLS
        assert all("OperationalError" in line["error"] and line["next"] == NEXT for line in away)
        assert sum(line["failed_requests"] for line in back) > 0


def wait_for(happened: Callable[[], bool]) -> None:
    for _ in range(1200):
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within a minute")
