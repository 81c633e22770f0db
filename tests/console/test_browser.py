"""A federation in a real browser: every view, live, and by role."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import incfed
from incfed.console.sessions import LASTS
from incfed.ledger.federation import change_settings
from support.console import app_of, drawn, play, served, token_of
from support.federation import Federation

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

Opened = Callable[..., "Page"]


@pytest.fixture
def here(four: Federation) -> Iterator[str]:
    """On one's own machine: no login."""
    with served(app_of(four, login=False)) as url:
        yield url


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
    pace = "an hour at the pace of the last 6 hours: the budget lasts until"
    expect(page.get_by_text(pace)).to_be_visible()
    latest = page.get_by_role("img", name="Who shared in rounds 1 to 3, and why")
    expect(latest.locator("rect")).to_have_count(3 * 4)


def test_the_round_in_progress_step_by_step(four: Federation, here: str, opened: Opened) -> None:
    page = opened(f"{here}/now")
    expect(page.get_by_text("The next one opens when")).to_be_visible()
    four.coordinator.open_round(2)
    step = page.locator('[aria-current="step"]')
    expect(step).to_contain_text("Uploads")
    expect(step).to_contain_text("waiting for client 0, client 1, client 2, client 3")
    expect(step).to_contain_text("left, until")
    expect(page.locator("#news")).to_have_text("Round 4 has opened.")
    four.upload(range(4), [np.ones((2, 2))] * 4, [0.0, 1.0, 5.0, 5.0])
    expect(step).to_contain_text("Offers")
    expect(step).to_contain_text("0 delivered")
    page.get_by_role("link", name="Open this round").click()
    expect(page.get_by_role("heading", name="Round 4")).to_be_visible()
    expect(page.get_by_text("Not decided yet.").first).to_be_visible()


def test_rounds_and_one_of_them(here: str, opened: Opened) -> None:
    page = opened(f"{here}/rounds")
    for chart in ("who", "money", "traffic", "ratio"):
        drawn(page, chart)
    for chart, said in (  # in words
        ("ratio", "Chart: Information reached. reached: always 1; beta 0.9, to be reached: .*"),
        ("money", r"Chart: Paid per round. paid: [\d.]+ to [\d.]+, [\d.]+ at the end"),
    ):
        told = page.locator(f'[data-chart="{chart}"]')
        expect(told).to_have_attribute("aria-label", re.compile(f"^{said}$"))
    page.get_by_label("Round", exact=True).fill("2")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", name="Round 2")).to_be_visible()
    expect(page.get_by_role("row")).to_have_count(5)
    titles = ("Rank", "Client", "Shares for", "Steps", "Contribution nats", "Data incentive money",
              "Cost money", "Paid money", "Why")  # fmt: skip
    expect(page.get_by_role("columnheader")).to_have_text(titles)
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
    seen = page.locator("dd time[data-since]")
    expect(seen).to_have_text("2 hours ago")  # whatever was answered last
    drawn(page, "paid")
    chart = page.get_by_role("img", name="Chart: Data, and what became of it")
    expect(chart.locator(".bars .point")).not_to_have_count(0)
    page.get_by_role("button", name="Why?").first.click()
    answers = page.get_by_text("in money covers the rest")
    expect(answers).to_have_count(2)
    play(four, 9)
    expect(page.get_by_role("link", name="4", exact=True)).to_be_visible()
    expect(answers).to_have_count(2)  # what was asked stays answered
    drawn(page, "paid")


def test_the_ledger_is_audited_and_exported(four: Federation, opened: Opened) -> None:
    with served(app_of(four, login=False, clock=time.time)) as here:
        page = opened(f"{here}/ledger")
        expect(page.get_by_text("It was never audited.")).to_be_visible()
        page.get_by_role("button", name="Run an audit").click()
        expect(page.locator(".badge", has_text="clean")).to_be_visible()
        for what, first in (("Payments", "federation,round"), ("Rounds", "round,stage")):
            with page.expect_download() as download:
                page.get_by_role("link", name=f"{what} (CSV)").click()
            assert Path(download.value.path()).read_text().startswith(first)
        page.get_by_label("Kind").select_option("closed")
        expect(page.get_by_role("row")).to_have_count(4)
        assert page.url.endswith("kind=closed")
        play(four, 9)
        expect(page.get_by_role("row")).to_have_count(5)


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


def test_the_line_of_beta_is_that_of_each_round(four: Federation, opened: Opened) -> None:
    """Up to the round in which it was given up; one that no round has closed with is not shown."""

    def decide_by(mechanism: incfed.Mechanism) -> None:
        with four.store.write() as connection:
            change_settings(connection, {"mechanism": mechanism}, "ada", four.clock())

    play(four, 7)
    decide_by(incfed.PayEveryone())
    play(four, 8)
    decide_by(incfed.PaymentEfficient(beta=0.5))
    four.coordinator.open_round(0)  # in progress
    with served(app_of(four, login=False)) as url:
        page = opened(f"{url}/rounds")
        drawn(page, "ratio")
        line = page.evaluate(
            "(({x, y}) => [x, y])(document.querySelector('[data-chart=ratio]').data[1])"
        )
    assert line == [[1, 5, 5, 5], [0.9, 0.9, None, None]]


def test_a_chart_stays_zoomed_while_rounds_go_on(
    four: Federation, here: str, opened: Opened
) -> None:
    page = opened(f"{here}/rounds")
    drawn(page, "ratio")
    box = page.locator('[data-chart="money"] .nsewdrag').first.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], y, steps=5)
    page.mouse.up()
    shown = "document.querySelector('[data-chart=money]').layout.xaxis.range"
    expect(page.locator('[data-chart="money"] .zoomlayer path')).to_have_count(0)
    zoomed = page.evaluate(shown)
    play(four, 7)
    expect(page.get_by_text("4 so far")).to_be_visible()
    expect(page.locator('[data-chart="who"] .bars .point')).to_have_count(4 * 4)
    assert page.evaluate(shown) == zoomed
    assert zoomed[0] > 1.0


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
        page.get_by_role("button", name="Pause rounds").click()
        page.get_by_role("dialog").get_by_role("button", name="Pause rounds").click()
        expect(page.get_by_text("See whether it was done")).to_be_visible()  # nobody repeats it
        page.context.set_offline(False)
        expect(page.get_by_text("live", exact=True).first).to_be_visible()


def seen(page: Page, hidden: bool) -> None:
    """The tab is hidden, or looked at again."""
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def test_a_page_that_was_hidden_in_an_outage_comes_back(here: str, opened: Opened) -> None:
    def fail(page: Page) -> None:
        page.route("**/api/**", lambda route: route.fulfill(status=502))

    page = opened(f"{here}/now", expected="status of 502", prepare=fail)
    expect(page.get_by_text("The server answered 502.")).to_be_visible()
    seen(page, True)
    page.unroute("**/api/**")
    seen(page, False)
    expect(page.get_by_text("3 rounds")).to_be_visible()
    fail(page)
    expect(page.get_by_text("connection lost")).to_be_visible()  # a failing poll is no life
    expect(page.get_by_text("3 rounds")).to_be_visible()
    page.unroute("**/api/**")
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
        threshold = page.get_by_label(re.compile("^Threshold"))
        expect(threshold).to_have_attribute("required", "")  # without one, no round would open
        page.get_by_label("Budget in all").fill("70")
        page.get_by_role("button", name="Change…").click()
        expect(page.get_by_role("dialog")).to_contain_text("Budget in all: 100 → 70")
        page.get_by_role("dialog").get_by_role("button", name="Change").click()
        expect(page.get_by_text("of 70.00")).to_be_visible()
        expect(page.get_by_role("button", name="Change settings")).to_be_focused()
        page.get_by_role("button", name="Change settings").click()
        page.get_by_label(re.compile("^Beta")).fill("7")
        page.get_by_role("button", name="Change…").click()
        page.get_by_role("dialog").get_by_role("button", name="Change").click()
        expect(page.get_by_text("beta: got 7")).to_be_visible()


def test_a_session_that_expires_asks_again(four: Federation, opened: Opened) -> None:
    with served(app_of(four)) as url:
        page = opened(f"{url}/now#token={token_of(four, 'ada', 'viewer')}", expected="of 401")
        expect(page.get_by_text("3 rounds")).to_be_visible()
        assert "token" not in page.url
        four.clock.now += LASTS + 1.0
        expect(page.get_by_text("Your session has ended.")).to_be_visible()
        expect(page.get_by_text("ada (viewer)")).to_have_count(0)  # nor is anything live
        expect(page.locator("#live")).to_have_text("")
