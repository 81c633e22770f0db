"""A small federation and who asks about it; and a browser, where there is one: Debian's Chromium,
driven by Playwright's Python package."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest

from support.console import asking, small
from support.federation import Federation

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing from elsewhere
]
Opened = Callable[..., "Page"]


@pytest.fixture
def four(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Federation]:
    """Three rounds of four clients, in SQLite; or as `BOTH` says."""
    place: Path | str = tmp_path / "books.db"
    if getattr(request, "param", "sqlite") == "postgresql":
        place = request.getfixturevalue("postgres").database(f"console_{uuid4().hex}")
    made = small(place)
    yield made
    made.store.close()


@pytest.fixture
def nobody(four: Federation) -> Iterator[httpx.Client]:
    with asking(four) as client:
        yield client


@pytest.fixture
def viewer(four: Federation) -> Iterator[httpx.Client]:
    with asking(four, "viewer") as client:
        yield client


@pytest.fixture
def operator(four: Federation) -> Iterator[httpx.Client]:
    with asking(four, "operator") as client:
        yield client


@pytest.fixture(scope="module")  # Playwright's loop must not run beside tests of other modules
def browser() -> Iterator[Browser]:
    sync = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    sync.expect.set_options(timeout=60_000.0)
    with sync.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Opens a page in a browser of its own. What the page complains of fails the test: errors of
    scripts, and what its policy forbids."""
    complaints: list[str] = []
    with ExitStack() as stack:

        def open(
            url: str,
            *,
            expected: str = "",  # what the page may complain of
            prepare: Callable[[Page], Any] | None = None,  # before it loads anything
            **options: Any,
        ) -> Page:
            options = {"viewport": {"width": 1200, "height": 900}, **options}
            context = browser.new_context(**options)
            stack.callback(context.close)
            context.set_default_timeout(60_000.0)
            page = context.new_page()

            def heard(message: Any) -> None:
                refused = expected and expected in message.text
                if message.type in ("error", "warning") and not refused:
                    complaints.append(message.text)

            page.on("console", heard)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            if prepare is not None:
                prepare(page)
            page.goto(url)
            return page

        yield open
        assert complaints == []
