from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import matplotlib
import pytest

from incfed.errors import InputError
from incfed.results import Runs, Section, compare, pens_for, plot, write_report
from incfed.results.report import common_settings
from support.results import sample, silent

RUNS: Runs = {
    "all": [sample(scale=s, seed=n) for n, s in enumerate((1.0, 2.0, 6.0))],
    "none": [silent(), silent(), silent()],
}
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Checks nesting; collects ids, addresses and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")
            self.links += re.findall(r"url\(([^)]*)\)", value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.text += data


def written(path: Path, *sections: Section, **more: str) -> str:
    write_report(path / "r.html", "Title", "Intro", sections, **more)
    return (path / "r.html").read_text(encoding="utf-8")


def test_one_file_that_needs_nothing_else(tmp_path: Path) -> None:
    text = written(tmp_path, *(Section.of(f"Part {n}", RUNS) for n in range(3)))
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]
    assert "http:" not in text
    assert "https:" not in text
    assert "//" not in text
    page = Page(text)
    assert page.tags.count("svg") == 3 * (4 + 2)  # four panels, and a line in the legend for each
    assert page.tags.count("table") == 6  # figures, and differences to the first
    assert not {"script", "link", "img", "iframe"} & set(page.tags)
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert all(link.startswith("#") for link in page.links)
    assert {link[1:] for link in page.links} <= set(page.ids)


def test_figures_are_small_and_follow_the_page(tmp_path: Path) -> None:
    runs = {f"label {n}": [sample(steps=5000, scale=n + s) for s in (1.0, 1.3)] for n in range(5)}
    text = written(tmp_path, Section.of("Part", runs))
    assert len(text) < 250_000
    assert "label 3" in Page(text).text  # text stays text
    assert "var(--line-0)" in text
    assert "var(--ink)" in text
    assert "#0072b2" not in text.split("</style>")[1]
    assert not re.search(r"\d\.\d{3,}", "".join(re.findall(r' d="([^"]*)"', text)))


def test_all_text_is_escaped(tmp_path: Path) -> None:
    evil = '<script>"&\'</script> id="x" $y'
    runs = {evil: [sample(), sample()], "b": [sample()]}
    section = Section(
        evil,
        evil,
        compare(runs),
        {evil: plot(runs, "regret")},
        {evil: {evil: evil}, "loose": evil},
        pens_for(runs),
    )
    path = write_report(tmp_path / "r.html", evil, evil, [section, section], footer=evil)
    page = Page(path.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    # Title, h1, intro, footer; twice: link, heading, text, row, figure, caption, four settings.
    assert page.text.count(evil) == 4 + 2 * 10


def test_table_and_settings(tmp_path: Path) -> None:
    page = Page(written(tmp_path, Section.of("Part", RUNS, "One.\n\nTwo\nlines."), footer="End"))
    assert "60.0 ± 52.9" in page.text
    assert "33 ± 0 %" in page.text
    assert "mean ± standard deviation over 3 seeds" in page.text
    assert "Two lines." in page.text
    assert "End" in page.text
    assert "mechanism.beta0.7" in page.text
    assert "seed0, 1, 2" in page.text
    assert "Seeds" not in page.text
    uneven = Page(written(tmp_path, Section.of("Part", {**RUNS, "one": [sample()]})))
    assert "Seeds" in uneven.text


def test_unknown_regret_has_no_column(tmp_path: Path) -> None:
    page = Page(written(tmp_path, Section.of("Part", {"a": [sample(known=False)]})))
    assert "Regret" not in page.text
    assert "Reward" in page.text


def test_common_settings_are_said_once() -> None:
    groups = common_settings(RUNS)
    assert groups["Run"]["seed"] == "0, 1, 2"
    assert groups["World"] == {"arms": 25}
    assert groups["All algorithms"]["mechanism.beta"] == 0.7
    assert "all" not in groups  # has nothing of its own


def test_long_lists_are_cut(tmp_path: Path) -> None:
    section = Section("Part", settings={"costs": list(range(100_000))})
    text = written(tmp_path, section)
    assert "[0, 1, 2, 3, 4, ...] (100,000 values)" in text
    assert len(text) < 10_000


def test_same_content_same_file(tmp_path: Path) -> None:
    assert written(tmp_path, Section.of("P", RUNS)) == written(tmp_path, Section.of("P", RUNS))


def test_a_failed_report_leaves_the_old_one(tmp_path: Path) -> None:
    old = written(tmp_path, Section("Old"))
    with pytest.raises(InputError, match="settings"):
        written(tmp_path, Section("New", settings={"a": object()}))
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == old
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        write_report(tmp_path, "T", "I", [])
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot write"):
        write_report(tmp_path / "file" / "r.html", "T", "I", [])
    assert write_report(tmp_path / "new" / "r.html", "T", "I", []).is_file()


def test_drawing_changes_no_global_setting(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    written(tmp_path, Section.of("P", RUNS))
    assert dict(matplotlib.rcParams) == before
