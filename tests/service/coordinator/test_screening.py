"""Checks that may take long are made before a transaction, once, and nobody waits for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import update

import incfed
from incfed.ledger.sketches import Sketches
from incfed.ledger.tables import epochs
from incfed.protocol.checks import MessageBounds, Refusal, check_delivery, check_upload
from incfed.protocol.messages import Upload
from incfed.protocol.packing import pack_matrix
from incfed.service.coordinator import handlers, screening
from incfed.service.coordinator.screening import Check, Outcomes, Screening
from support.coordinator_app import Site, encoded
from support.federation import Federation
from support.serving import serving

SOON = 30.0  # seconds after which a request counts as blocked


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(screening, "LARGE", 1)
    made = Site(tmp_path)
    with serving(made.app) as address, made.http:
        made.http.base_url = httpx.URL(address)
        for client in range(3):
            made(client, "GET", "/v1/state")
        assert made(0, "POST", "/v1/rounds").json() == {"round": 1}
        yield made
    made.store.close()


@contextmanager
def blocked(monkeypatch: pytest.MonkeyPatch, name: str, ask: Callable[[], Any]) -> Iterator[None]:
    """While a request waits for this check to end, which it does only afterwards."""
    begun, go_on, check = threading.Event(), threading.Event(), getattr(handlers, name)

    def slow(*given: Any) -> None:
        begun.set()
        assert go_on.wait(SOON)
        check(*given)

    monkeypatch.setattr(handlers, name, slow)
    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(ask)
        assert begun.wait(SOON)
        try:
            yield
        finally:
            go_on.set()
        assert answer.result().status_code == 200
    monkeypatch.setattr(handlers, name, check)


def deliver(site: Site, client: int) -> Any:
    return site(client, "PUT", "/v1/rounds/1/delivery", {"db": encoded(0.5, 0.0)})


def test_others_are_answered_while_a_message_is_checked(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with blocked(monkeypatch, "check_upload", lambda: site.upload(0)):
        assert site(1, "POST", "/v1/rounds", timeout=SOON / 2).status_code == 200
    assert [site.upload(client).status_code for client in (1, 2)] == [200, 200]
    yes = {"attempt": 1, "accepted": True}
    with blocked(monkeypatch, "check_delivery", lambda: deliver(site, 0)):
        answered = site(1, "PUT", "/v1/rounds/1/answer", yes, timeout=SOON / 2)
        assert answered.status_code == 200
    assert [deliver(site, client).status_code for client in (1, 2)] == [200, 200]
    assert site(0, "GET", "/v1/state").json()["epoch"] == 1


def test_a_check_is_made_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def count(name: str, check: Callable[..., None]) -> None:
        def counted(*given: Any) -> None:
            made.append(name)
            check(*given)

        monkeypatch.setattr(handlers, name, counted)

    count("check_upload", check_upload)
    count("check_delivery", check_delivery)
    negative = {"form": "triangle", "numbers": encoded(-1.0, 0.0, 0.0)}
    for _ in range(2):  # also if it is sent again
        refused = site.upload(0, steps=2, dV=negative)
        assert (refused.status_code, refused.json()["field"]) == (422, "dV")
    assert made == ["check_upload"]
    for client in range(3):
        assert site.upload(client).status_code == 200
    assert made == 2 * ["check_upload"], "they send the same"
    huge = {"db": encoded(50.0, 0.0)}
    assert site(0, "PUT", "/v1/rounds/1/delivery", huge).status_code == 422
    assert [deliver(site, client).status_code for client in range(3)] == 3 * [200]
    assert made[2:] == 2 * ["check_delivery"]


def test_outcomes_are_those_of_the_checks() -> None:
    calls, outcomes = [], Outcomes()

    def check(upload: Upload, bounds: MessageBounds) -> None:
        calls.append(bounds)
        check_upload(upload, bounds)

    def found(upload: Upload, bounds: MessageBounds) -> str:
        try:
            outcomes.make(Check("upload", check, (upload, bounds)))
        except Refusal as refusal:
            return str(refusal)
        return "fine"

    narrow, wide = MessageBounds(2, 1.0, 1.0, 10.0), MessageBounds(2, 2.0, 1.0, 10.0)
    small, large = (Upload(1, 0, 2, 0.0, pack_matrix(V)) for V in (np.eye(2), 2 * np.eye(2)))
    for _ in range(2):
        assert found(small, narrow) == found(small, wide) == found(large, wide) == "fine"
        assert found(large, narrow).startswith("dV: got 'trace 4', must be of a trace of at most 2")
    assert len(calls) == 4


def test_one_client_does_not_take_all_threads() -> None:
    go_on, others = threading.Event(), []

    def work(client: int) -> None:
        if client == 0:
            assert go_on.wait(SOON)
        else:
            others.append(client)

    async def all_at_once() -> None:
        screen = Screening(work, screening.LARGE)
        greedy = [asyncio.create_task(screen(0)) for _ in range(3 * screening.THREADS)]
        await asyncio.sleep(0)
        try:
            await asyncio.wait_for(asyncio.gather(screen(1), screen(2)), SOON / 2)
        finally:
            go_on.set()
        await asyncio.gather(*greedy)

    asyncio.run(all_at_once())
    assert sorted(others) == [1, 2]


def test_sketches_of_epochs_are_read_once(tmp_path: Path) -> None:
    """They stay when an epoch is pruned."""
    here = Federation(tmp_path / "l.db", 2, dim=2, threshold=1.0, mechanism=incfed.PayEveryone())
    sketches, x = Sketches(), np.array([[1.0, 0.5]])

    def look() -> tuple[int, Any]:
        with here.store.read() as connection:
            return sketches.read(connection)

    first = look()
    assert first[0] == 0
    assert look()[1] is first[1]
    number = here.upload([0, 1], [x, x], 0.0)
    for client in range(2):
        here.deliver(client, number, x)
    second = look()
    assert second[0] == 1
    assert second[1] is not first[1]
    with here.store.write() as connection:  # as pruning does
        connection.execute(update(epochs).where(epochs.c.number == 0).values(V=None, b=None))
    assert look()[1] is second[1]
