"""The console of real coordinators, in a browser, while real clients learn and share: all of them
processes of their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from sqlalchemy import update

from incfed.console.sessions import COOKIE
from incfed.ledger import tables
from incfed.ledger.operators import add
from support import processes
from support.client_processes import mortal
from support.live_coordinator import SETTINGS, Live, live
from support.postgres import Postgres
from support.round_robin import round_robin
from support.serving import serving

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

Opened = Callable[..., "Page"]
COUNT = 2


def token_of(site: Live, name: str, role: str) -> str:
    with site.store.write() as connection:
        return add(connection, name, role, time.time())


def start_clients(stack: ExitStack, *sites: Live) -> None:
    """Each learns and shares until the end, with a coordinator by turns."""
    for k, token in enumerate(sites[0].tokens):
        site = sites[k % len(sites)]
        arguments = site.url, token, sites[0].folder / f"client-{k}", "never", 1
        stack.callback(processes.kill, processes.start(mortal, *arguments))


def rounds_of(page: Page) -> int:
    """How many rounds the page says there were."""
    said = page.get_by_role("heading", level=1).inner_text()
    return int(said.split("epoch")[1].split(",")[1].split()[0])


def test_it_follows_a_running_federation(memory: Path, opened: Opened) -> None:
    with live(memory, COUNT, SETTINGS) as site, ExitStack() as stack:
        site.start()
        token = token_of(site, "vera", "viewer")
        now = opened(f"{site.operators_url}/console/now#token={token}", expected="of 401")
        expect(now.get_by_role("heading", level=1)).to_contain_text("0 rounds")
        rounds = now.context.new_page()
        rounds.goto(f"{site.operators_url}/console/rounds")
        expect(rounds.get_by_text("No round has closed yet")).to_be_visible()
        start_clients(stack, site)  # nothing is loaded again by hand from here on
        expect(now.get_by_role("link", name="2 live")).to_be_visible()
        expect(now.get_by_role("heading", level=1)).not_to_contain_text("0 rounds")
        before = rounds_of(now)
        expect(now.get_by_role("heading", level=1)).not_to_contain_text(f"{before} round")
        assert rounds_of(now) > before
        bars = rounds.locator('[data-chart="who"][data-drawn="true"] .bars .point')
        expect(bars).not_to_have_count(0)


def test_two_coordinators_take_turns(memory: Path, opened: Opened, postgres: Postgres) -> None:
    """Every request goes to the other one: one session, one federation, one audit."""
    database = postgres.database("console_of_two")
    with live(memory, COUNT, SETTINGS, database) as site, ExitStack() as stack:
        twin = site.beside(memory / "twin")
        stack.callback(twin.stop)
        site.start()
        twin.start()
        start_clients(stack, site, twin)
        balanced = round_robin([site.operators_url, twin.operators_url])
        url = stack.enter_context(serving(balanced))
        token = token_of(site, "ada", "operator")
        page = opened(f"{url}/console/now#token={token}", expected="of 401")
        expect(page.get_by_text("ada (operator)")).to_be_visible()
        expect(page.get_by_role("heading", level=1)).not_to_contain_text(" 0 rounds")
        page.get_by_role("button", name="Pause rounds").click()
        page.get_by_role("dialog").get_by_role("button", name="Pause rounds").click()
        expect(page.get_by_role("button", name="Resume rounds")).to_be_visible()
        with site.store.touch() as connection:  # somebody falsifies the books
            connection.execute(update(tables.clients).values(enrolled=0.0))
        page.goto(f"{url}/console/ledger")
        page.get_by_role("button", name="Run an audit").click()
        expect(page.get_by_text("clients 0: enrolled is not what the entries say")).to_be_visible()
        cookies = {COOKIE: page.context.cookies()[0]["value"]}
        said = [
            httpx.get(f"{one.operators_url}/console/api/ledger", cookies=cookies).json()
            for one in (site, twin)
        ]
        assert [one["audited_by"] for one in said] == ["ada", "ada"]
        assert said[0]["findings"] == said[1]["findings"]
        assert len(said[0]["findings"]) == COUNT
        answered = balanced.state.answered
        assert min(answered.values()) >= 5
        assert len(answered) == 2
