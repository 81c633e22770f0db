"""The coordinator over HTTP, in one process: a whole round, and everything that is refused."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import incfed
from incfed.ledger.clients import members
from incfed.rules.clients import ClientRules
from incfed.rules.rule import served
from incfed.service.coordinator.app import PublicApp, make_app
from incfed.service.coordinator.handlers import Open, open_round
from incfed.service.coordinator.serve import GracefulServer
from support.coordinator_app import Site, decoded, encoded
from support.serving import serving


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with serving(made.app) as address, made.http:
        made.http.base_url = httpx.URL(address)
        yield made
    made.store.close()


def test_a_round(site: Site) -> None:
    said = site(1, "GET", "/v1/federation").json()
    assert re.fullmatch("federation-[0-9a-f]{8}", said.pop("federation"))
    assert {"epoch", "client", "key", "start", *served(ClientRules)} <= set(said)
    assert said | {
        "dim": 2, "ridge": 1.0, "noise": 0.1, "delta": 0.1,
        "exploration": None, "threshold": 1.0, "arm_norm": 1.0, "reward_bound": 1.0,
        "cost_limit": 1e6, "client": {"id": 1, "name": "client 1"}, "epoch": 0,
        "money_digits": 2, "signatures": "registered", "answer_within": 5.0,
        "trigger": None, "download": "everyone", "privacy": None, "revision": 1, "key": None,
    } == said  # fmt: skip
    for k in range(3):
        assert site(k, "GET", "/v1/state").json() == {"version": 1, "epoch": 0, "round": None}
    assert site(0, "POST", "/v1/rounds").json() == {"round": 1}
    assert site(1, "POST", "/v1/rounds").json() == {"round": 1}
    fresh = {"number": 1, "stage": "open", "uploaded": False, "offer": None}
    fresh |= {"answered": False, "delivered": False}
    assert site(2, "GET", "/v1/state?after=1").json()["round"] == fresh
    for k in range(3):
        assert site.upload(k).status_code == 200
    # det V_g(all) = 4, det V_i = 2: data is worth 1
    offer = {"attempt": 1, "payment": 1.0, "units": 100}
    expected = fresh | {"stage": "offered", "uploaded": True, "offer": offer}
    assert site(2, "GET", "/v1/state").json()["round"] == expected
    yes = {"attempt": 1, "accepted": True}
    answered = site(2, "PUT", "/v1/rounds/1/answer", yes).json()
    assert answered["round"] == expected | {"answered": True}
    for k in (2, 1, 0):
        state = site(k, "PUT", "/v1/rounds/1/delivery", {"db": encoded(0.5, 0.0)}).json()
    assert (state["epoch"], state["round"]["stage"]) == (1, "closed")
    news = site(0, "GET", "/v1/download?since=0").json()
    assert (news["epoch"], news["since"], news["shared"]) == (1, None, {"1": 1.0})
    assert news["V"]["form"] == "triangle"
    np.testing.assert_allclose(decoded(news["V"]["numbers"]), [3.0, 0.0, 0.0])
    np.testing.assert_allclose(decoded(news["b"]), [1.5, 0.0])
    same = site(0, "GET", "/v1/download?since=1").json()
    assert (same["since"], same["V"]) == (1, {"form": "factor", "numbers": ""})
    assert site.http.get("/healthz").json()["status"] == "ok"
    page = site.http.get("/metrics").text
    assert 'incfed_events_total{event="closed"} 1.0' in page
    [spent] = re.findall(r"^incfed_spent (\S+)$", page, re.M)
    assert float(spent) == pytest.approx(3.0, rel=1e-12)
    assert site.http.get("/openapi.json").json()["info"]["title"] == "incfed coordinator"
    page = site.http.get("/docs").text
    places = re.findall(r"""(?:src|href)=["']([^"']+)""", page)
    assert len(places) == 3  # a script, a style, an icon: all from here, so that it works offline
    assert all(site.http.get(place).status_code == 200 for place in places)


def test_the_front_page_says_what_this_is(site: Site) -> None:
    said = site.http.get("/").json()
    assert said["service"] == "incfed coordinator"
    assert said["version"] == incfed.__version__
    assert site.http.get(said["health"]).status_code == 200
    page = site.http.get("/", headers={"Accept": "text/html,application/xhtml+xml"})
    assert page.headers["content-type"].startswith("text/html")
    assert "<h1>incfed coordinator</h1>" in page.text
    for text in (page.text, str(said)):
        assert not any(secret in text for secret in (*site.tokens, "client 0", "ledger.db"))


def test_callers_see_the_front_page_and_no_page_of_operators(site: Site) -> None:
    async def ask() -> dict[str, int]:
        transport = httpx.ASGITransport(PublicApp(site.app))
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as http:
            pages = ("/", "/healthz", "/metrics", "/docs")
            return {page: (await http.get(page)).status_code for page in pages}

    assert asyncio.run(ask()) == {"/": 200, "/healthz": 200, "/metrics": 404, "/docs": 404}


def test_head_is_get_without_the_body(site: Site) -> None:
    for page in ("/", "/healthz", "/metrics", "/docs", "/openapi.json"):
        asked, got = site.http.head(page), site.http.get(page)
        assert (asked.status_code, asked.content) == (200, b""), page
        assert asked.headers["content-type"] == got.headers["content-type"]
    assert site.http.head("/v1/state").status_code == site.http.get("/v1/state").status_code
    assert site.http.head("/v1/rounds").status_code == 405
    assert site.http.head("/nothing").status_code == 404


def test_news_wake_who_waits_at_once(site: Site) -> None:
    version = site(1, "GET", "/v1/state").json()["version"]
    site(0, "GET", "/v1/state")
    began = time.monotonic()
    assert site(1, "GET", f"/v1/state?after={version}&wait=0.2").json()["version"] == version
    assert time.monotonic() - began >= 0.2
    woken: list[Any] = []
    waiting = threading.Thread(
        target=lambda: woken.append(site(1, "GET", f"/v1/state?after={version}&wait=30").json())
    )
    waiting.start()
    time.sleep(0.3)  # so that it is likely to wait
    began = time.monotonic()
    site(0, "POST", "/v1/rounds")
    waiting.join()
    assert time.monotonic() - began < 20.0, "not by the end of its patience"
    assert woken[0]["round"]["stage"] == "open"


def test_a_poll_whose_client_has_gone_is_no_sign_of_life(site: Site) -> None:
    def heard() -> float | None:
        with site.store.read() as connection:
            return members(connection)[2].last_seen

    def polls() -> str:
        """How many have ended."""
        page = site.http.get("/metrics").text
        return "".join(re.findall(r'^incfed_requests_total{route="/v1/state".* (.*)$', page, re.M))

    for stays in (True, False):
        site.clock.now += 1000.0
        version = site(1, "GET", "/v1/state").json()["version"]
        asked = f"GET /v1/state?after={version}&wait=30 HTTP/1.1\r\nHost: here\r\n"
        asked += f"Authorization: Bearer {site.tokens[2]}\r\nIncfed-Protocol: 1\r\n\r\n"
        base = site.http.base_url
        with socket.create_connection((base.host, base.port or 0)) as wire:
            wire.sendall(asked.encode())
            while heard() != site.clock.now:  # until it is there
                time.sleep(0.02)
            before = polls()
            if not stays:
                wire.close()
            site.clock.now += 1000.0
            site.app.state.services.notifications.publish()
            while polls() == before and heard() != site.clock.now:  # it goes, or is heard of
                time.sleep(0.02)
            assert (heard() == site.clock.now) == stays


@pytest.mark.parametrize("connected", [True, False])
def test_who_asked_before_the_end_is_answered(tmp_path: Path, connected: bool) -> None:
    """Also if the server was too busy to read it by then, or even to let it in."""
    stops, sent = threading.Event(), threading.Event()

    class Busy(GracefulServer):
        async def on_tick(self, counter: int) -> bool:
            over = await super().on_tick(counter)
            if over:
                stops.set()
                assert sent.wait(60)
            return over

    site = Site(tmp_path)
    headers = {"Authorization": f"Bearer {site.tokens[2]}", "Incfed-Protocol": "1"}
    with ExitStack() as stack:
        stack.callback(site.store.close)
        running = stack.enter_context(ExitStack())
        address = httpx.URL(running.enter_context(serving(site.app, Busy)))
        asking = stack.enter_context(closing(HTTPConnection(address.host, address.port, 60)))
        if connected:
            asking.request("GET", "/v1/state", headers=headers)
            asking.getresponse().read()
        end = threading.Thread(target=running.close)
        end.start()
        assert stops.wait(60)
        asking.request("GET", "/v1/state?after=99&wait=20", headers=headers)
        sent.set()
        assert asking.getresponse().status == 200
        end.join()


def test_news_of_another_coordinator(site: Site) -> None:
    version = site(1, "GET", "/v1/state").json()["version"]
    other = make_app(site.store, site.app.state.services.coordinator.settings(), clock=site.clock)
    opening = [(0, open_round, Open())]
    threading.Timer(0.3, other.state.services.coordinator.handle, (opening,)).start()
    began = time.monotonic()
    seen = site(1, "GET", f"/v1/state?after={version}&wait=20").json()
    assert seen["round"]["number"] == 1
    assert time.monotonic() - began < 15.0, "not by the end of its patience"


def test_deadlines_pass_without_anybody_asking(site: Site) -> None:
    site(1, "GET", "/v1/state")
    site(0, "POST", "/v1/rounds")
    site.upload(0)
    version = site(0, "GET", "/v1/state").json()["version"]
    for _ in range(8):  # ticks come in between, as always
        site.clock.now += 1.5
        site.app.state.services.coordinator.tick()
    seen = site(0, "GET", f"/v1/state?after={version}&wait=10").json()
    assert seen["round"]["stage"] == "offered"
