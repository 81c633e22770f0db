"""A console served by a thread over a small federation, and a browser to look at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
from fastapi import FastAPI

import incfed
from incfed.console.access import PATH
from incfed.console.app import make_console
from incfed.ledger.operators import add
from support.federation import Federation
from support.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page


def small(path: Path | str, rounds: int = 3, **options: Any) -> Federation:
    """Four clients with costs 0, 1, 5 and 5; every round closes."""
    settings: dict[str, Any] = {
        "dim": 2, "ridge": 1.0, "threshold": 1.0, "budget": 100.0, "money_digits": 2,
        "mechanism": incfed.PaymentEfficient(beta=0.9), "live_time": 1e6,
    }  # fmt: skip
    four = Federation(path, 4, **settings | options)
    for n in range(rounds):
        play(four, n)
    return four


def play(four: Federation, seed: int) -> int:
    """One round; its number."""
    chance = np.random.default_rng(seed)
    rows = [chance.standard_normal((steps, 2)) for steps in (1, 2, 3, 4)]
    number = four.upload(range(4), rows, [0.0, 1.0, 5.0, 5.0])
    for k in four.offered():
        four.deliver(k, number, rows[k])
    four.clock.now += 7200.0
    return number


def token_of(four: Federation, name: str, role: str) -> str:
    with four.store.write() as connection:
        return add(connection, name, role, four.clock())


def app_of(four: Federation | None = None, **options: Any) -> FastAPI:
    """The console where a coordinator has it."""
    outer = FastAPI()
    if four is not None:
        options = {"store": four.store, "clock": four.clock, **options}
    outer.mount(PATH, make_console(**options))
    return outer


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Its address, with the console's path."""
    with serving(app) as address:
        yield address + PATH


@contextmanager
def asking(four: Federation, role: str | None = None, **options: Any) -> Iterator[httpx.Client]:
    """Logged in with this role (None: not at all), at a console of its own."""
    with served(app_of(four, **options)) as url:
        origin = {"Origin": url.removesuffix(PATH)}
        with httpx.Client(base_url=f"{url}/", headers=origin, timeout=60.0) as client:
            if role is not None:
                token = token_of(four, f"a {role}", role)
                assert client.post("api/login", json={"token": token}).status_code == 200
            yield client


def drawn(page: Page, chart: str) -> None:
    """Wait until a chart is there, with something in it."""
    from playwright.sync_api import expect

    place = page.locator(f'[data-chart="{chart}"][data-drawn="true"]')
    expect(place.locator("svg").first).to_be_visible()
