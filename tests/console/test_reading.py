"""The page for every reader: names of all kinds, small screens, the dark, time zones, the keyboard;
and what it shows while it has nothing to show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import func, insert, select, update

import incfed
from incfed.ledger import tables
from incfed.rules.limits import Limits
from support.console import app_of, drawn, served, small, token_of
from support.federation import Federation

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

Opened = Callable[..., "Page"]
VIEWS = ("now", "rounds", "rounds/2", "clients", "clients/1", "ledger")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
BACKWARDS = "\u202eecilA \u05d0\u05d1\u05d2"
LONG = "x" * 10_000
PHONE: dict[str, Any] = {"viewport": {"width": 400, "height": 800}}


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    """Nothing here changes it."""
    made = small(tmp_path_factory.mktemp("federation") / "books.db")
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def here(federation: Federation) -> Iterator[str]:
    with served(app_of(federation, login=False)) as url:
        yield url


# ---------------------------------------------------------------------------------------- names

# Texts with a part of a name that are not in an element of their own direction.
LOOSE = """names => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode;
    if (names.some(name => text.data.includes(name)) && !text.parentElement.closest('bdi, pre'))
      found.push(text.data);
  }
  return found;
}"""


def test_hostile_names_are_shown_as_text(tmp_path: Path, opened: Opened) -> None:
    """Each in an element of its own direction, cut if it is long, in sentences too."""
    four = small(tmp_path / "books.db")
    names = {0: HOSTILE, 1: BACKWARDS, 2: LONG}
    refused = [
        {"client": client, "count": 1, "field": "cost", "at": four.clock()} for client in names
    ]
    with four.store.touch() as connection:
        for client, name in names.items():
            own = tables.clients.c.id == client
            connection.execute(update(tables.clients).where(own).values(name=name))
        connection.execute(insert(tables.refusals), refused)
    four.coordinator.open_round(1)
    with served(app_of(four, login=False)) as url:
        page = opened(f"{url}/now", **PHONE)
        for view in ("now", "clients", "clients/0", "clients/1", "clients/2", "rounds/1", "ledger"):
            page.goto(f"{url}/{view}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= 400
            assert page.evaluate(LOOSE, ["alert(1)", "ecilA", "xxxx"]) == [], view
        page.goto(f"{url}/clients/0")
        expect(page.get_by_role("heading", level=1)).to_contain_text(HOSTILE)
        page.goto(f"{url}/clients")
        cut = page.locator("td bdi", has_text="xxxx")
        expect(cut).to_have_text("x" * 60 + "…")
        assert cut.get_attribute("title") == LONG
        page.goto(f"{url}/now")
        said = page.locator(".notices li", has_text="were refused")
        expect(said.locator("bdi bdi")).to_have_count(3)
        expect(said).to_contain_text("(cost)")
    four.store.close()


# ------------------------------------------------------------------------- screens, colours, times


def test_on_a_phone_in_the_dark(here: str, opened: Opened) -> None:
    page = opened(f"{here}/now", color_scheme="dark", **PHONE)
    for view in VIEWS:
        page.goto(f"{here}/{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if view == "rounds":
            drawn(page, "ratio")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, view
        shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert shade == "rgb(13, 17, 23)"
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()  # what was chosen stays
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_wide_tables_scroll_inside(here: str, opened: Opened) -> None:
    page = opened(f"{here}/clients", **PHONE)
    region = page.get_by_role("region", name="Clients")
    expect(region).to_be_visible()
    assert region.evaluate("one => one.scrollWidth > one.clientWidth")


def test_a_decision_is_read_on_a_phone(here: str, opened: Opened) -> None:
    page = opened(f"{here}/rounds/2", **PHONE)
    why = page.get_by_text("Sharing costs it nothing.")
    why.scroll_into_view_if_needed()
    expect(why).to_be_in_viewport(ratio=1.0)


def test_times_are_those_of_the_reader(federation: Federation, here: str, opened: Opened) -> None:
    page = opened(f"{here}/ledger", timezone_id="Asia/Tokyo", locale="en-GB")
    with federation.store.read() as connection:
        at = connection.scalar(select(func.max(tables.rounds.c.opened)))
    opened_at = datetime.fromtimestamp(at, ZoneInfo("Asia/Tokyo"))
    row = page.get_by_role("row").filter(has_text="opened").first
    expect(row).to_contain_text(f"{opened_at:%-d %b %Y, %H:%M:%S}")
    expect(page.get_by_text("Times are those of Asia/Tokyo")).to_be_visible()


# -------------------------------------------------------------------------------------- keyboard

FOCUSABLE = "a[href], button:enabled, input:enabled, select:enabled, summary, .scroll"


@pytest.mark.parametrize("view", ["now", "clients", "rounds/2"])
def test_every_control_is_reached_by_keyboard(view: str, here: str, opened: Opened) -> None:
    page = opened(f"{here}/{view}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    count = page.locator(FOCUSABLE).count()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    reached = set()
    for _ in range(count):
        place, outline = page.evaluate(
            "[[...document.querySelectorAll('*')].indexOf(document.activeElement),"
            " getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert outline != "none"
        reached.add(place)
        page.keyboard.press("Tab")
    assert len(reached) == count


def test_a_table_is_sorted_by_keyboard(here: str, opened: Opened) -> None:
    page = opened(f"{here}/clients")
    header = page.get_by_role("columnheader", name="Paid")
    header.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(header).to_have_attribute("aria-sort", "descending")
    expect(header.get_by_role("button")).to_be_focused()
    page.keyboard.press("Enter")
    expect(header).to_have_attribute("aria-sort", "ascending")


def test_a_dialog_keeps_the_focus_and_closes_with_escape(here: str, opened: Opened) -> None:
    page = opened(f"{here}/now")
    button = page.get_by_role("button", name="Pause rounds")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Pause rounds?")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    for _ in range(4):
        page.keyboard.press("Tab")
        # or at the browser's own controls, never on what is behind
        assert page.evaluate("!!document.activeElement.closest('dialog, body:not(:has(:focus))')")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


# ---------------------------------------------------------------------------------------- states


def answers(status: int, message: str) -> Callable[[Page], None]:
    """As if the server had answered this to Now."""

    def prepare(page: Page) -> None:
        said = {"status": status, "json": {"message": message}}
        page.route("**/api/now*", lambda route: route.fulfill(**said))

    return prepare


def test_loading(here: str, opened: Opened) -> None:
    held: list[Route] = []
    page = opened(
        f"{here}/now",
        prepare=lambda page: page.route("**/api/now*", lambda route: held.append(route)),
    )
    expect(page.locator(".loading")).to_be_visible()
    expect(page.locator(".loading")).to_contain_text("Loading")
    held.pop().continue_()
    expect(page.get_by_role("heading", level=1)).to_contain_text("federation-")


def test_an_error_can_be_tried_again(here: str, opened: Opened) -> None:
    page = opened(f"{here}/now", expected="status of 409", prepare=answers(409, "It broke."))
    expect(page.get_by_role("alert").filter(has_text="That did not work")).to_be_visible()
    expect(page.get_by_text("It broke.")).to_be_visible()
    page.unroute("**/api/now*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("federation-")


def test_what_one_may_not_see(here: str, opened: Opened) -> None:
    page = opened(f"{here}/now", expected="status of 403", prepare=answers(403, "Not for you."))
    expect(page.get_by_role("alert").filter(has_text="You may not see this")).to_be_visible()
    expect(page.get_by_text("Not for you.")).to_be_visible()


def test_no_connection_at_first(here: str, opened: Opened) -> None:
    page = opened(f"{here}/now", expected="ERR_FAILED", prepare=lambda page: page.route(
        "**/api/now*", lambda route: route.abort()
    ))  # fmt: skip
    expect(page.get_by_role("heading", name="No connection")).to_be_visible()
    expect(page.get_by_text("No answer since")).to_be_visible()
    expect(page.locator(".state")).to_have_css("background-color", "rgba(0, 0, 0, 0)")  # no banner
    page.unroute("**/api/now*")
    expect(page.get_by_role("heading", level=1)).to_contain_text("federation-")  # by itself
    expect(page.get_by_text("No answer since")).to_be_hidden()


def test_viewers_are_told_whom_to_ask(federation: Federation, opened: Opened) -> None:
    with served(app_of(federation)) as url:
        token = token_of(federation, "vera", "viewer")
        page = opened(f"{url}/now#token={token}")
        expect(page.get_by_text("ask an operator")).to_be_visible()
        expect(page.get_by_role("button", name="Pause rounds")).to_have_count(0)


def test_an_empty_federation(tmp_path: Path, opened: Opened) -> None:
    empty = Federation(
        tmp_path / "empty.db", 0, dim=1, threshold=1.0, mechanism=incfed.PayEveryone()
    )
    with served(app_of(empty, login=False)) as url:
        page = opened(f"{url}/now")
        expect(page.get_by_text("Nothing was paid yet.")).to_be_visible()
        page.get_by_role("link", name="Rounds").click()
        expect(page.get_by_text("No round has closed yet")).to_be_visible()
        page.get_by_role("navigation", name="Views").get_by_role("link", name="Clients").click()
        expect(page.get_by_text("No client is enrolled yet")).to_be_visible()
    empty.store.close()


def test_a_round_that_the_budget_did_not_pay(tmp_path: Path, opened: Opened) -> None:
    """That no money was paid does not say that none was needed."""
    poor = small(tmp_path / "poor.db", rounds=1, budget=0.5, limits=Limits())
    with served(app_of(poor, login=False)) as url:
        page = opened(f"{url}/now")
        page.get_by_role("link", name="Open this round").click()
        said = page.get_by_text("asked for more than a limit allows")
        expect(said).to_contain_text("No money was paid")
    poor.store.close()


def test_a_wrong_address(here: str, opened: Opened) -> None:
    page = opened(f"{here}/nowhere", expected="status of 404")
    expect(page.get_by_text("There is no such page")).to_be_visible()
    page = opened(f"{here}/rounds/99", expected="status of 422")
    expect(page.get_by_text("must be from 1 to 3")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Rounds").click()  # not: Try again
    expect(page.get_by_role("heading", name="Rounds")).to_be_visible()
    page = opened(f"{here}/rounds/two", expected="status of 422")
    expect(page.get_by_text("number: got 'two', must be a whole number")).to_be_visible()


def test_a_hidden_page_does_not_ask(here: str, opened: Opened) -> None:
    asked: list[str] = []

    def prepare(page: Page) -> None:
        page.clock.install()
        page.on("request", lambda request: asked.append(request.url))

    page = opened(f"{here}/now", prepare=prepare)
    expect(page.get_by_role("heading", level=1)).to_contain_text("federation-")
    with page.expect_response("**/api/now?after=*"):
        page.clock.run_for(3_000)
    hide = (
        "value => { Object.defineProperty(document, 'hidden', {value, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }"
    )
    page.evaluate(hide, True)
    asked.clear()
    page.clock.run_for(60_000)
    assert asked == []
    with page.expect_request("**/api/now?after=*"):
        page.evaluate(hide, False)
