"""Tokens, and how much one client may have in progress."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from incfed.ledger.clients import EnrolledClient, find, revoke
from incfed.service.coordinator.admission import PERIOD, Admission
from incfed.service.coordinator.config import ServerConfig
from incfed.service.coordinator.errors import TooMany, Unauthorized
from incfed.support.signing import public_key
from support.coordinator_app import Site
from support.federation import Clock
from support.serving import serving

ALICE = EnrolledClient(1, "alice", False, 0, None)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, bad_tokens=4, requests_per_client=2)
    with serving(made.app) as address, made.http:
        made.http.base_url = httpx.URL(address)
        yield made
    made.store.close()


def test_bad_tokens_are_slowed_down_and_logged_once(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert site(0, "GET", "/v1/state").status_code == 200
    wrong = {"Authorization": "Bearer wrong", "Incfed-Protocol": "1"}
    asked = [site.http.get("/v1/state", headers=wrong) for _ in range(10)]
    assert [one.status_code for one in asked] == [401] * 4 + [429] * 6
    assert asked[-1].json()["field"] == "Authorization"
    assert asked[-1].headers["Retry-After"]
    assert site(0, "GET", "/v1/state").status_code == 200, "behind the same address"
    ours = [one for one in caplog.records if one.name == "incfed.service"]
    about = [one for one in ours if "token" in one.getMessage() or "refused" in one.getMessage()]
    assert [one.getMessage() for one in about] == ["invalid tokens"]
    page = site.http.get("/metrics").text
    assert 'incfed_refused_total{field="Authorization"} 10.0' in page


def request(token: str, address: str = "192.0.2.7") -> Request:
    headers = [(b"authorization", f"Bearer {token}".encode()), (b"incfed-protocol", b"1")]
    return Request({"type": "http", "headers": headers, "client": (address, 1)})


async def knows(token: str) -> EnrolledClient | None:
    return ALICE if token == "good" else None


def test_the_limit_is_per_address_and_minute() -> None:
    clock = Clock()
    admission = Admission(knows, ServerConfig(bad_tokens=2), clock)

    def ask(token: str, address: str = "192.0.2.7") -> Any:
        return asyncio.run(admission.client(request(token, address)))

    for _ in range(2):
        with pytest.raises(Unauthorized):
            ask("bad")
        clock.now += 1.0
    for token in ("bad", "good"):  # which one it is, nobody looks
        with pytest.raises(TooMany):
            ask(token)
    assert ask("good", "192.0.2.8") == ALICE.id
    assert ask("good") == ALICE.id, "now it is known"
    clock.now += PERIOD - 2.0
    with pytest.raises(Unauthorized):
        ask("bad")  # the first one is over
    with pytest.raises(TooMany):
        ask("bad")


def test_a_token_that_was_revoked_is_not_remembered() -> None:
    valid = {"good"}

    async def knows(token: str) -> EnrolledClient | None:
        return ALICE if token in valid else None

    admission = Admission(knows, ServerConfig(bad_tokens=1))
    assert asyncio.run(admission.client(request("good"))) == ALICE.id
    valid.clear()
    assert asyncio.run(admission.client(request("good"))) == ALICE.id, "its work will tell"
    admission.forget(request("good"))
    with pytest.raises(TooMany):
        asyncio.run(admission.client(request("good")))


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/federation", None),
        ("GET", "/v1/state", None),
        ("PUT", "/v1/state", {"epoch": 0, "steps": 0, "learned": 0, "growth": 0.0, "cost": 0.0}),
        ("PUT", "/v1/key", {"key": public_key(bytes(32))}),
        ("POST", "/v1/rounds", None),
        ("PUT", "/v1/rounds/1/answer", {"attempt": 1, "accepted": True}),
        ("GET", "/v1/download", None),
        ("GET", "/v1/proof", None),
    ],
)
def test_a_token_that_is_revoked_ends_at_once(
    site: Site, method: str, path: str, body: dict[str, Any] | None
) -> None:
    """Though it was good a moment ago, and nobody told this process."""
    assert site(1, "GET", "/v1/state").status_code == 200
    with site.store.write() as connection:
        revoke(connection, "client 1", 0.0)
    assert [site(1, method, path, body).status_code for _ in range(5)] == [401] * 4 + [429]
    assert site(0, "GET", "/v1/state").status_code == 429, "it was never good"


def test_to_ask_for_a_proof_is_not_to_be_there(site: Site) -> None:
    """Somebody may verify what a client keeps while that is switched off: nobody awaits it."""
    assert site(1, "GET", "/v1/proof").status_code == 200
    with site.store.read() as connection:
        assert find(connection, "1").last_seen is None


def test_requests_in_progress() -> None:
    admission = Admission(knows, ServerConfig(requests_per_client=2))
    with ExitStack() as stack:
        first, second = (stack.enter_context(admission.visit(ALICE.id)) for _ in range(2))
        with pytest.raises(TooMany), admission.visit(ALICE.id):
            pass
        stack.enter_context(admission.visit(2))
        second.polls = True
        stack.enter_context(admission.visit(ALICE.id))
        assert (first.released, second.released) == (False, True)
    with admission.visit(ALICE.id) as last:
        assert not last.released


def test_the_oldest_poll_of_a_token_gives_way(site: Site) -> None:
    version = site(0, "GET", "/v1/state").json()["version"]
    ended: list[int] = []

    def poll(k: int) -> None:
        with httpx.Client(base_url=site.http.base_url, timeout=60.0) as http:
            headers = {"Authorization": f"Bearer {site.tokens[0]}", "Incfed-Protocol": "1"}
            path = f"/v1/state?after={version}&wait=30"
            assert http.get(path, headers=headers).json()["version"] == version
        ended.append(k)

    visits = site.app.state.services.admission._visits
    threads = [threading.Thread(target=poll, args=(k,)) for k in range(3)]
    for k, thread in enumerate(threads[:2]):
        thread.start()
        while sum(one.polls for one in visits.get(0, ())) != k + 1:
            time.sleep(0.01)
    threads[2].start()
    threads[0].join(20.0)
    assert ended == [0]
    site.app.state.services.notifications.release_waiters()
    for thread in threads:
        thread.join()


def test_a_key_twice_is_refused(site: Site) -> None:
    headers = {"Authorization": f"Bearer {site.tokens[0]}", "Incfed-Protocol": "1"}
    headers |= {"Content-Type": "application/json"}
    for path, body in (
        ("/v1/rounds/1/answer", b'{"attempt": 1, "accepted": false, "accepted": true}'),
        ("/v1/rounds/1/upload", b'{"dV": {"form": "rows", "form": "factor"}}'),
    ):
        answer = site.http.put(path, content=body, headers=headers)
        assert (answer.status_code, answer.json()["field"]) == (400, "body")
        assert answer.json()["message"] == "must not have the same key twice in an object"
