"""The console in a real browser: every view, live, by role, on a phone, in the dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

import incfed
from incfed.console.sessions import LASTS
from incfed.ledger import tables
from support.console import app_of, play, served, token_of
from support.federation import Federation

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

Opened = Callable[..., "Page"]
VIEWS = ("now", "rounds", "rounds/2", "clients", "clients/1", "ledger")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
BACKWARDS = "\u202eecilA"
LONG = "x" * 10_000


@pytest.fixture
def here(four: Federation) -> Iterator[str]:
    """On one's own machine: no login."""
    with served(app_of(four, login=False)) as url:
        yield url


def drawn(page: Page, chart: str) -> None:
    """Until a chart is there, with something in it."""
    place = page.locator(f'[data-chart="{chart}"][data-drawn="true"]')
    expect(place.locator("svg").first).to_be_visible()


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()


# ----------------------------------------------------------------------------------- every view


def test_now(four: Federation, here: str, opened: Opened) -> None:
    page = opened(f"{here}/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("federation-")
    expect(page.get_by_text("The ledger was never audited.")).to_be_visible()
    expect(page.get_by_role("link", name="4 live")).to_be_visible()
    spent = four.coordinator.overview().spent
    expect(page.get_by_text(f"{spent:,.2f}", exact=True)).to_be_visible()
    expect(page.get_by_text("of 100.00")).to_be_visible()
    expect(page.get_by_text("the budget lasts until")).to_be_visible()


def test_rounds_and_one_of_them(here: str, opened: Opened) -> None:
    page = opened(f"{here}/rounds")
    for chart in ("who", "money", "traffic", "ratio"):
        drawn(page, chart)
    page.get_by_label("Round").fill("2")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", name="Round 2")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(5)
    expect(page.get_by_text("Sharing costs it nothing.")).to_be_visible()
    page.get_by_role("link", name="Later").click()
    expect(page.get_by_role("heading", name="Round 3")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Round 2")).to_be_visible()


def test_clients_are_sorted_and_searched(here: str, opened: Opened) -> None:
    page = opened(f"{here}/clients")
    by_name = page.get_by_role("columnheader", name="Client").get_by_role("button")
    by_name.click()
    expect(page.get_by_role("columnheader", name="Client")).to_have_attribute(
        "aria-sort", "ascending"
    )
    by_name.click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("client 3")
    page.get_by_label("Search").fill("nt 2")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("row")).to_have_count(2)
    again = opened(page.url)  # the link brings another person to the same view
    expect(again.get_by_role("row")).to_have_count(2)
    page.get_by_label("Search").fill("nobody")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("No client matches")).to_be_visible()


def test_a_client_and_why_it_was_paid(four: Federation, here: str, opened: Opened) -> None:
    paid = four.of("closed")[-1]["payments"]
    who = next(int(client) for client, units in paid.items() if units)
    page = opened(f"{here}/clients/{who}")
    expect(page.get_by_text("Why was it paid this?")).to_be_visible()
    page.get_by_role("button", name="Why?").first.click()
    expect(page.get_by_text("in money covers the rest").nth(1)).to_be_visible()


def test_the_ledger_is_audited_and_exported(here: str, opened: Opened) -> None:
    page = opened(f"{here}/ledger")
    page.get_by_role("button", name="Run an audit").click()
    expect(page.get_by_text(": clean.")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Payments").click()
    assert Path(download.value.path()).read_text().startswith("federation,round")
    page.get_by_label("Kind").select_option("closed")
    expect(page.get_by_role("row")).to_have_count(4)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of two labels, a sweep over two parameters, and single runs."""
    folder = tmp_path_factory.mktemp("results")
    world: dict[str, Any] = {"kind": "Synthetic", "clients": 4, "dim": 2, "arms": 3}
    paid = {
        "label": "paid", "kind": "IncFedUCB", "threshold": 1.0, "costs": 1.0,
        "mechanism": {"kind": "PaymentEfficient", "beta": 0.7},
    }  # fmt: skip
    sweep = {"algorithm.costs": [1, 4], "algorithm.mechanism.beta": [0.5, 0.9]}
    incfed.sweep(
        {"run": {"steps": 60, "seeds": 2}, "world": world, "algorithm": [paid], "sweep": sweep},
        jobs=1, output=folder / "swept",
    )  # fmt: skip
    for name, algorithm in (
        ("free", incfed.IncFedUCB(incfed.PaymentFree(), threshold=1.0, costs=1.0)),
        ("alone", incfed.Independent()),
    ):
        one = incfed.simulate(
            incfed.Synthetic(clients=4, dim=2, arms=3), algorithm, steps=60, seed=1
        )
        one.save(folder / name)
    return folder


def test_runs_are_filtered_tagged_and_compared(results: Path, opened: Opened) -> None:
    with served(app_of(folder=results, login=False)) as url:
        page = opened(f"{url}/")
        expect(page.get_by_role("row")).to_have_count(4)
        page.get_by_role("row", name="free").get_by_role("button", name="Tag").click()
        page.get_by_label("Words").fill("good, <b>bold</b>")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("<b>bold</b>")).to_be_visible()
        page.get_by_label("Filter").fill("good")
        expect(page.get_by_role("row")).to_have_count(2)
        page.get_by_label("Filter").fill("")
        page.get_by_label("choose free").check()
        page.get_by_label("choose alone").check()
        page.get_by_role("button", name="Compare").click()
        drawn(page, "regret")
        expect(page.get_by_role("row")).to_have_count(3)
        page.get_by_role("tab", name="Payment and regret").click()
        drawn(page, "tradeoff")
        with page.expect_download() as download:
            page.get_by_role("link", name="Figures as CSV").click()
        assert Path(download.value.path()).read_text().startswith("label,seeds,regret")
        page.goto(f"{url}/runs?id=swept")
        drawn(page, "regret")
        expect(page.get_by_text("4 points over")).to_be_visible()


# -------------------------------------------------------------------------------------- live


def test_it_follows_a_federation(four: Federation, here: str, opened: Opened) -> None:
    now, rounds = opened(f"{here}/now"), opened(f"{here}/rounds")
    expect(now.get_by_text("3 rounds")).to_be_visible()
    drawn(rounds, "who")
    four.coordinator.open_round(2)
    expect(now.get_by_text("Round 4 in progress")).to_be_visible()
    expect(now.get_by_text("waiting for client 0, client 1, client 2, client 3")).to_be_visible()
    play(four, 7)
    expect(now.get_by_text("4 rounds")).to_be_visible()
    bars = rounds.locator('[data-chart="who"] .bars .point')
    expect(bars).not_to_have_count(0)


def test_two_coordinators_take_turns(four: Federation, opened: Opened) -> None:
    """A session of one is one of the other; and what one does, the other shows."""
    token = token_of(four, "ada", "operator")
    with served(app_of(four)) as one, served(app_of(four)) as other:
        page = opened(f"{one}/now", expected="401")
        log_in(page, token)
        expect(page.get_by_role("heading", level=1)).to_contain_text("federation-")
        page.goto(f"{other}/now")  # cookies know hosts, not ports
        expect(page.get_by_role("heading", level=1)).to_contain_text("federation-")
        page.get_by_role("button", name="Pause rounds").click()
        page.get_by_role("dialog").get_by_role("button", name="Pause rounds").click()
        expect(page.get_by_text("Rounds are paused by an operator.")).to_be_visible()
        page.goto(f"{one}/now")
        expect(page.get_by_text("Rounds are paused by an operator.")).to_be_visible()


def test_a_lost_connection_is_said_and_found_again(four: Federation, opened: Opened) -> None:
    with served(app_of(four, login=False)) as url:
        page = opened(f"{url}/now", expected="ERR_INTERNET_DISCONNECTED")
        expect(page.get_by_text("3 rounds")).to_be_visible()
        page.context.set_offline(True)
        expect(page.get_by_text("connection lost")).to_be_visible()
        expect(page.get_by_text("3 rounds")).to_be_visible()  # what was known stays
        page.context.set_offline(False)
        expect(page.get_by_text("live", exact=True).first).to_be_visible()


# -------------------------------------------------------------------------------------- roles


def test_viewers_see_and_operators_change(four: Federation, opened: Opened) -> None:
    with served(app_of(four)) as url:
        page = opened(f"{url}/clients/1", expected="status of 401")
        log_in(page, "wrong")
        expect(page.get_by_text("no operator has this token")).to_be_visible()
        log_in(page, token_of(four, "vera", "viewer"))
        expect(page.get_by_role("heading", name="client 1")).to_be_visible()
        expect(page.get_by_text("vera (viewer)")).to_be_visible()
        expect(page.get_by_role("button", name="Revoke")).to_have_count(0)
        page.get_by_role("button", name="Log out").click()
        log_in(page, token_of(four, "ada", "operator"))
        page.get_by_role("button", name="Revoke").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        expect(page.locator(".badge.revoked")).to_have_count(0)
        page.get_by_role("button", name="Revoke").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("client 1 is revoked.")).to_be_visible()
        expect(page.locator(".badge.revoked")).to_be_visible()


def test_an_operator_changes_settings(four: Federation, opened: Opened) -> None:
    with served(app_of(four, login=False)) as url:
        page = opened(f"{url}/now", expected="status of 422")
        page.get_by_role("button", name="Change settings").click()
        page.get_by_label("Budget in all").fill("70")
        page.get_by_role("button", name="Change…").click()
        expect(page.get_by_role("dialog")).to_contain_text("budget: 100 → 70")
        page.get_by_role("dialog").get_by_role("button", name="Change").click()
        expect(page.get_by_text("of 70.00")).to_be_visible()
        page.get_by_role("button", name="Change settings").click()
        page.get_by_label(re.compile("^beta")).fill("7")
        page.get_by_role("button", name="Change…").click()
        page.get_by_role("dialog").get_by_role("button", name="Change").click()
        expect(page.get_by_text("beta: got 7")).to_be_visible()


def test_a_session_that_expires_asks_again(four: Federation, opened: Opened) -> None:
    with served(app_of(four)) as url:
        page = opened(f"{url}/now#token={token_of(four, 'ada', 'viewer')}", expected="of 401")
        expect(page.get_by_text("3 rounds")).to_be_visible()
        assert "token" not in page.url
        four.clock.now += LASTS + 1.0
        expect(page.get_by_text("Your session has expired.")).to_be_visible()


# ------------------------------------------------------------------------------- names, sizes


def test_hostile_names_are_shown_as_text(four: Federation, here: str, opened: Opened) -> None:
    names = {0: HOSTILE, 1: BACKWARDS, 2: LONG}
    with four.store.touch() as connection:
        for client, name in names.items():
            own = tables.clients.c.id == client
            connection.execute(update(tables.clients).where(own).values(name=name))
    four.coordinator.open_round(0)
    for view in ("now", "clients", "clients/0", "clients/1", "clients/2", "rounds/1"):
        page = opened(f"{here}/{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.evaluate("document.querySelectorAll('main script, main img').length") == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1200
    page = opened(f"{here}/clients/0")
    expect(page.get_by_role("heading", level=1)).to_contain_text(HOSTILE)


@pytest.mark.parametrize("view", VIEWS)
def test_on_a_phone_in_the_dark(view: str, here: str, opened: Opened) -> None:
    page = opened(f"{here}/{view}", viewport={"width": 400, "height": 800}, color_scheme="dark")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if view == "rounds":
        drawn(page, "ratio")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert shade == "rgb(13, 17, 23)"
    page.get_by_role("button", name="Light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_it_is_operated_by_keyboard(here: str, opened: Opened) -> None:
    page = opened(f"{here}/clients")
    expect(page.get_by_role("row")).to_have_count(5)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.get_by_role("link", name="Ledger").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ledger")).to_be_visible()


def test_an_empty_federation(tmp_path: Path, opened: Opened) -> None:
    empty = Federation(
        tmp_path / "empty.db", 0, dim=1, threshold=1.0, mechanism=incfed.PayEveryone()
    )
    with served(app_of(empty, login=False)) as url:
        page = opened(f"{url}/rounds")
        expect(page.get_by_text("No round has closed yet")).to_be_visible()
        page.get_by_role("link", name="Clients").click()
        expect(page.get_by_text("No client is enrolled yet")).to_be_visible()
    empty.store.close()


def test_a_wrong_address(here: str, opened: Opened) -> None:
    page = opened(f"{here}/nowhere", expected="status of 404")
    expect(page.get_by_text("There is no such page")).to_be_visible()
    page = opened(f"{here}/rounds/99", expected="status of 422")
    expect(page.get_by_text("must be from 1 to 3")).to_be_visible()
