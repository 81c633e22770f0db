"""Saved results in a real browser: listed, tagged, compared, and drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

import incfed
from incfed.experiments.show import PLAN_VERSION
from support.console import app_of, drawn, served

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

Opened = Callable[..., "Page"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over two parameters, single runs, and a plan."""
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
    (folder / "plan").mkdir()
    (folder / "plan/plan.json").write_text(json.dumps(plan()))
    return folder


def plan() -> dict[str, Any]:
    """As `incfed plan` writes it, as far as the console reads it."""
    figures = {
        name: {"mean": 1.0, "low": 0.5, "high": 1.5}
        for name in ("regret", "reward", "payment", "communication")
    }
    tried = [
        {"mechanism": kind, "beta": beta, "regret": regret, "payment": paid, "communication": 10.0}
        for kind, beta, regret, paid in (
            ("PayEveryone", None, 5.0, 80.0),
            ("PaymentEfficient", 0.5, 6.0, 20.0),
            ("PaymentEfficient", 0.9, 9.0, 90.0),
            ("PaymentFree", None, 8.0, 0.0),
        )
    ]
    return {
        "format": PLAN_VERSION, "incfed": "0.3.0", "bought": "regret",
        "advice": "Sharing pays here.", "setting": {"mechanism": "PaymentFree", "beta": None},
        "aim": "regret", "figures": figures, "references": {"nobody shares": figures},
        "frontier": [{**figures, "improves": True}], "tried": tried, "held_out_seeds": [1, 2],
    }  # fmt: skip


@pytest.fixture(scope="module")
def here(results: Path) -> Iterator[str]:
    with served(app_of(folder=results, login=False)) as url:
        yield url


def test_runs_are_filtered_and_tagged(here: str, opened: Opened) -> None:
    page = opened(f"{here}/")
    expect(page.get_by_role("row")).to_have_count(5)
    page.get_by_role("button", name="Tag free").click()
    page.get_by_label("Words").fill("good, <b>bold</b>")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="<b>bold</b>")).to_be_visible()
    page.get_by_label("Filter").fill("good")
    expect(page.get_by_role("row")).to_have_count(2)
    page.get_by_label("Filter").fill("nothing like it")
    page.get_by_role("button", name="Show all").click()
    expect(page.get_by_role("row")).to_have_count(5)
    page.get_by_role("columnheader", name="Folder").get_by_role("button").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("alone")


def test_a_link_has_what_is_filtered_sorted_and_chosen(here: str, opened: Opened) -> None:
    page = opened(f"{here}/runs")
    page.get_by_label("choose free").check()
    page.get_by_label("choose alone").check()
    page.get_by_label("Filter").fill("run")
    page.get_by_role("columnheader", name="Folder").get_by_role("button").click()
    other = opened(page.url)
    expect(other.get_by_label("choose free")).to_be_checked()
    expect(other.get_by_text("2 chosen")).to_be_visible()
    expect(other.get_by_label("Filter")).to_have_value("run")
    header = other.get_by_role("columnheader", name="Folder")
    expect(header).to_have_attribute("aria-sort", "ascending")


def test_runs_are_compared(here: str, opened: Opened) -> None:
    page = opened(f"{here}/runs?pick=free&pick=alone")
    page.get_by_role("button", name="Compare").click()
    drawn(page, "regret")
    expect(page.get_by_role("row")).to_have_count(3)
    expect(page.get_by_text("paired difference")).to_have_count(0)  # of one seed there is none
    page.get_by_role("link", name="Payment and regret").click()
    drawn(page, "tradeoff")
    expect(page.get_by_text("Efficient: ")).to_be_visible()
    expect(page.get_by_role("link", name="Payment and regret")).to_have_attribute(
        "aria-current", "true"
    )
    with page.expect_download() as download:
        page.get_by_role("link", name="Figures as CSV").click()
    assert Path(download.value.path()).read_text().startswith("label,seeds,regret")


def test_a_chart_is_saved_as_a_picture(here: str, opened: Opened) -> None:
    page = opened(f"{here}/runs?id=free&chart=reward", color_scheme="dark")
    drawn(page, "reward")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the chart Reward as PNG").click()
    assert download.value.suggested_filename == "incfed-reward.png"
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


def test_many_labels_leave_the_chart_its_room(tmp_path: Path, opened: Opened) -> None:
    one = incfed.simulate(
        incfed.Synthetic(clients=4, dim=2, arms=3), incfed.Independent(), steps=20, seed=1
    )
    names = [f"an algorithm with a long label {n}" for n in range(20)]
    for name in names:
        one.save(tmp_path / name)
    with served(app_of(folder=tmp_path, login=False)) as url:
        page = opened(f"{url}/runs?{urlencode({'id': names}, doseq=True)}")
        drawn(page, "regret")
        box = page.locator('[data-chart="regret"] .nsewdrag').bounding_box()
    assert box is not None
    assert box["height"] > 150.0


def test_a_heat_map_has_a_scale(here: str, opened: Opened) -> None:
    page = opened(f"{here}/runs?id=swept")
    drawn(page, "regret")
    expect(page.get_by_text("4 points over")).to_be_visible()
    chart = page.locator('[data-chart="regret"]')
    expect(chart.locator(".y2tick text")).to_have_count(5)
    expect(chart.locator(".y2title")).to_have_text("Regret")


def test_a_line_of_a_search_is_picked(here: str, opened: Opened) -> None:
    """The efficient ones are 0, 1 and 3, and 3 is the advice."""
    page = opened(f"{here}/runs?id=plan")
    drawn(page, "search")
    chart = page.locator('[data-chart="search"]')
    expect(chart.locator(".legendtext")).to_have_text(
        ["other settings", "efficient (2)", "the advice"]
    )
    picked = page.locator(".picked")
    page.get_by_role("button", name="Next →").click()
    expect(picked).to_contain_text("PayEveryone")
    page.get_by_role("button", name="Next →").click()
    expect(picked).to_contain_text("PaymentEfficient")
    page.get_by_role("button", name="← Previous").click()
    expect(picked).to_contain_text("PayEveryone")
    chart.evaluate("place => place.emit('plotly_click', {points: [{customdata: 2}]})")
    expect(picked).to_contain_text("0.900")
    other = opened(page.url)
    expect(other.locator(".picked")).to_contain_text("0.900")
    page.get_by_role("link", name="What money buys").click()
    drawn(page, "frontier")


def test_on_a_phone_in_the_dark(here: str, opened: Opened) -> None:
    page = opened(f"{here}/runs", viewport={"width": 400, "height": 800}, color_scheme="dark")
    for view, chart in (("runs", ""), ("runs?id=swept", "regret"), ("runs?id=plan", "search")):
        page.goto(f"{here}/{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if chart:
            drawn(page, chart)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, view


def test_nothing_is_saved_here(tmp_path: Path, opened: Opened) -> None:
    with served(app_of(folder=tmp_path, login=False)) as url:
        page = opened(f"{url}/runs")
        expect(page.get_by_text("Nothing is saved here yet")).to_be_visible()
