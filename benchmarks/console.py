"""The console over a long ledger (10,000 rounds, 1,000 clients): what a look costs the server, and
how long the first view takes in a browser; and rounds with three viewers beside rounds with none.

Looks are timed inside of the server: from a request's arrival at the application to the last byte
of its answer, without the connection. Polls are looks with after=version, without news.

The ledger is made up: its rows are those that the console reads, and nothing could be audited.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
import threading
import time
from typing import Any, ClassVar

import httpx
import numpy as np
from sqlalchemy import Connection, insert, update
from starlette.types import ASGIApp, Receive, Scope, Send

import incfed
import service
from incfed.ledger import clients, operators, tables
from incfed.ledger.chain import canonical
from incfed.ledger.database import Database
from incfed.ledger.federation import create
from incfed.ledger.settings import Settings
from support.console import app_of, served
from timing import row

ROUNDS, CLIENTS, SHARERS, LOOKS = 10_000, 1_000, 20, 30
POLLED = ("now", "rounds", "clients", "clients?sort=paid&descending=true", "clients/7", "ledger")
VIEWS = (*POLLED, "ledger/entries", "changes/settings", "me")
CROWD, TIMED = 100, 40


def measure() -> dict[str, Any]:
    found: dict[str, Any] = {"rounds": ROUNDS, "clients": CLIENTS}
    with tempfile.TemporaryDirectory() as folder:
        store = Database(f"sqlite:///{folder}/long.db")
        with store.write() as connection:
            _make_up(connection)
            token = operators.add(connection, "ada", operators.VIEWER, time.time())
        now = time.time()
        app = app_of(store=store, clock=lambda: now)  # as time passes, there is news
        app.add_middleware(Timed)
        with served(app) as url:
            found |= _looks(url, token)
        with served(app_of(store=store, login=False)) as url:
            found["first_view_s"] = _first_view(url)
        store.close()
        found["round_ms"] = _beside_viewers(folder)
    return found


class Timed:
    """Keeps how long each answer took, in milliseconds."""

    taken: ClassVar[list[float]] = []

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        await self.app(scope, receive, send)
        self.taken.append(1e3 * (time.perf_counter() - begun))


def _looks(url: str, token: str) -> dict[str, dict[str, float]]:
    """Of somebody who is logged in; the median."""
    looks, polls = dict[str, float](), dict[str, float]()
    origin = {"Origin": url.removesuffix("/console")}
    with httpx.Client(base_url=f"{url}/api/", headers=origin, timeout=60.0) as client:
        client.post("login", json={"token": token}).raise_for_status()

        def timed(path: str, **after: str) -> tuple[float, str]:
            Timed.taken.clear()
            for _ in range(LOOKS):
                reply = client.get(path, params=after or None).raise_for_status()
                assert (reply.status_code == 204) == ("after" in after)
            best = f"(best {min(Timed.taken):.1f}; aim 50)"
            return float(np.median(Timed.taken)), best

        for view in VIEWS:
            version = client.get(view).raise_for_status().json()
            looks[view], best = timed(view)
            row(f"a look at {view}", looks[view], "ms", best)
            if view in POLLED:
                path, _, asked = view.partition("?")
                options = dict(one.split("=") for one in asked.split("&") if one)
                polls[view], best = timed(path, **options, after=version["version"])
                row(f"a poll of {view}", polls[view], "ms", best)
    return {"looks_ms": looks, "polls_ms": polls}


def _first_view(url: str) -> dict[str, float]:
    """Until the view is there, chart included, in a browser that knows nothing yet."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("  no Chromium here: the browser is left out")
        return {}
    from playwright.sync_api import sync_playwright

    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for view, there in (("now", "h1"), ("clients", "table"), ("rounds", "[data-drawn] svg")):
            taken = []
            for _ in range(3):
                context = browser.new_context()
                page = context.new_page()
                begun = time.perf_counter()
                page.goto(f"{url}/{view}")
                page.locator(there).first.wait_for()
                taken.append(time.perf_counter() - begun)
                context.close()
            found[view] = float(np.median(taken))
            row(f"first view of {view}", found[view], "s", "(aim 2)")
        browser.close()
    return found


def _beside_viewers(folder: str) -> dict[str, float]:
    """A round of 100 clients, p50, without and with three people looking, by turns."""
    found: dict[str, list[float]] = {"alone": [], "viewed": []}
    for turn in range(2):
        for who, viewers in (("alone", 0), ("viewed", 3)):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            database = f"sqlite:///{folder}/{who}{turn}.db"
            with service._federation(database, CROWD, port) as (config, tokens):
                store = Database(database)
                with store.write() as connection:
                    token = operators.add(connection, "ada", operators.VIEWER, time.time())
                store.close()
                with service._process(config) as (public, *_):
                    stop = threading.Event()
                    looking = [
                        threading.Thread(target=_look, args=(port, token, stop))
                        for _ in range(viewers)
                    ]
                    for one in looking:
                        one.start()
                    found[who] += asyncio.run(service._rounds(public, tokens, TIMED, who))
                    stop.set()
                    for one in looking:
                        one.join()
    medians = {who: 1e3 * float(np.median(taken)) for who, taken in found.items()}
    for who, value in medians.items():
        row(f"a round of {CROWD} clients, {who}, p50", value, "ms")
    return medians


def _look(port: int, token: str, stop: threading.Event) -> None:
    """As a page does: every two seconds."""
    home = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=f"{home}/console/api/", headers={"Origin": home}) as client:
        client.post("login", json={"token": token}).raise_for_status()
        seen = dict.fromkeys(("now", "rounds", "clients"), "")
        while not stop.wait(2.0):
            for view in seen:
                reply = client.get(view, params={"after": seen[view]}).raise_for_status()
                if reply.status_code == 200:
                    seen[view] = reply.json()["version"]


def _make_up(connection: Connection) -> None:
    now, chance = time.time(), np.random.default_rng(0)
    paid = incfed.PaymentEfficient(beta=0.7)
    settings = Settings(dim=25, mechanism=paid, threshold=1.0, budget=1e6)
    create(connection, settings, now)
    for n in range(CLIENTS):
        clients.enrol(connection, f"shop {n}", now)
    name = connection.execute(tables.federation.select()).one().name
    began = now - 600.0 * ROUNDS
    rounds, summaries, uploads, payments = [], [], [], []
    entries: list[dict[str, Any]] = []
    for number in range(1, ROUNDS + 1):
        at = began + 600.0 * number
        who = np.sort(chance.choice(CLIENTS, SHARERS, replace=False)).tolist()
        rounds.append({"number": number, "stage": "closed", "settings": 1, "epoch": number - 1,
                       "trigger": who[0], "opened": at - 5.0, "deadline": None, "attempt": 1,
                       "ended": at})  # fmt: skip
        summaries.append({"round": number, "ended": at, "for_data": 8, "for_money": 10,
                          "no_cost": 2, "passed_over": 5,
                          "payment_units": int(chance.integers(0, 5_000)),
                          "communication": 50_000, "ratio": float(chance.uniform(0.7, 1.0))}
        )  # fmt: skip
        for client in who:
            uploads.append({"round": number, "client": client, "epoch": number - 1, "steps": 10,
                            "cost_units": 500, "form": "factor", "numbers": None}
            )  # fmt: skip
            payments.append({"federation": name, "round": number, "client": client,
                             "epoch": number, "amount_units": 250})  # fmt: skip
        for kind in ("opened", *["uploaded"] * SHARERS, "decided", "closed"):
            count = CLIENTS + 10 + len(entries)
            body = canonical({"number": count, "kind": kind, "at": at, "round": number})
            entries.append({"number": count, "body": body, "hash": "0" * 64})
    for table, each in (
        (tables.rounds, rounds), (tables.round_summaries, summaries), (tables.uploads, uploads),
        (tables.payments, payments), (tables.entries, entries),
    ):  # fmt: skip
        connection.execute(insert(table), each)
    own = [
        {
            "client": n,
            "rounds": 200,
            "steps": 2_000,
            "nats": 40.0,
            "paid_units": int(chance.integers(0, 90_000)),
            "last_round": ROUNDS,
        }
        for n in range(CLIENTS)
    ]
    connection.execute(insert(tables.client_summaries), own)
    connection.execute(update(tables.presence).values(heard=now))
    changes = {"round": ROUNDS, "epoch": ROUNDS, "posted_units": 50_000_000}
    connection.execute(update(tables.federation).values(changes))
