"""The documentation site: its references have every public name, command and setting, and the
examples in docstrings run. (`make docs` builds it, and checks every link.)"""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import incfed
import pictures
from generate import commands, docstrings, settings
from incfed.algorithms.thresholds import FORMULAS
from incfed.experiments.config import RUN_KEYS
from incfed.ledger.settings import Settings
from incfed.planning.case import FIXED
from incfed.planning.space import KEYS
from incfed.service.coordinator.config import ServerConfig
from support.docs import ROOT
from support.fake_coordinator import Fake
from support.fake_server import serving
from support.movielens import Sample

PAGES = sorted((ROOT / "docs/api").glob("*.md"))
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def names_of(page: Path) -> list[str]:
    """The public names that a page of the Python reference shows."""
    return re.findall(r"(?m)^::: incfed\.(\w+)$", page.read_text(encoding="utf-8"))


def examples_of(name: str) -> Iterator[doctest.DocTest]:
    """The examples of a public name and of its public methods."""
    one = getattr(incfed, name)
    parts = {name: one}
    if inspect.isclass(one):
        parts |= {f"{name}.{key}": value for key, value in vars(one).items() if key[0] != "_"}
    for label, part in parts.items():
        if ">>> " in (inspect.getdoc(part) or ""):
            yield example(label, part)


def example(label: str, part: object) -> doctest.DocTest:
    text = inspect.getdoc(part) or ""
    return doctest.DocTestParser().get_doctest(text, {"incfed": incfed}, label, None, 0)


def test_every_public_name_is_on_one_page() -> None:
    shown = sorted(name for page in PAGES for name in names_of(page))
    assert shown == sorted({*incfed.__all__} - {"__version__", "thresholds"})


@pytest.mark.parametrize("name", sorted({*incfed.__all__} - {"__version__", "thresholds"}))
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(incfed, name).__doc__ or "")


@pytest.mark.parametrize("page", [page.stem for page in PAGES])
def test_examples_in_docstrings_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of one page together: they share the time that it takes to begin."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tests = [one for name in names_of(ROOT / f"docs/api/{page}.md") for one in examples_of(name)]
    if page == "algorithms":
        tests += [example(one.__name__, one) for one in FORMULAS.values()]
    if page == "worlds":  # stands in for a download
        Sample(users=4, movies=600).write(tmp_path / "ml-latest-small")
    with serving(Fake(1, 3, threshold=0.5)) as (url, _):
        for one in tests:
            one.globs |= {"url": url, "token": "token-0"}
            said: list[str] = []
            doctest.DocTestRunner(optionflags=OPTIONS).run(one, out=said.append)
            assert not said, "".join(said)
    assert tests


def test_every_command_is_listed_with_its_options() -> None:
    page = commands.commands_page()
    sections = dict(re.findall(r"(?ms)^## (incfed [a-z -]+)\n(.*?)(?=^## |\Z)", page))
    found = list(commands.walk())
    assert [name for name, _ in found] == list(sections)
    assert {"incfed run", "incfed serve", "incfed ledger audit"} <= sections.keys()
    for name, command in found:
        assert command.help.splitlines()[0] in sections[name]
        for one in commands.shown(command):
            assert one.help, (name, one.name)
            if one.param_type_name == "option":
                assert all(f"`{word}" in sections[name] for word in one.opts), (name, one.name)


def test_every_setting_has_a_meaning() -> None:
    assert settings.missing() == []


def test_every_setting_is_listed() -> None:
    listed: dict[str, set[str]] = {
        table.title: {one.name for one in table.settings}
        for part in settings.tables().values()
        for table in part
    }
    own = {one.name for one in dataclasses.fields(Settings)} - {"identity", "unsaid"}
    assert listed["`[federation]`"] == own
    assert listed["`[server]`"] == {one.name for one in dataclasses.fields(ServerConfig)}
    assert listed["`limits`"] == {one.name for one in dataclasses.fields(incfed.Limits)}
    assert listed["`[search]`"] == set(KEYS)
    assert listed["`[algorithm]` of a plan"] == {*FIXED, "ridge"}
    assert listed["`[run]`"] == set(RUN_KEYS)
    page = settings.settings_page()
    for title in listed:
        assert f"### {title}\n" in page
    assert "| `live_time` | `90.0` | " in page


def test_meanings_are_read_from_docstrings() -> None:
    text = """What it is.

    first, second: one thing
    in two lines.
    third: another one.

    >>> 1 + 1
    2
    """
    thing = "one thing in two lines."
    assert docstrings.meanings(text) == {"first": thing, "second": thing, "third": "another one."}
    shown = docstrings.page(text)
    assert f"- `first`, `second`: {thing}\n- `third`: another one." in shown
    assert shown.endswith("```pycon\n>>> 1 + 1\n2\n```")


def test_every_picture_of_a_view_is_shown_and_loads_nothing() -> None:
    folder = ROOT / "docs/images/views"
    made = {path.name for path in folder.iterdir()}
    page = (ROOT / "docs/views.md").read_text(encoding="utf-8")
    assert set(re.findall(r"images/views/([\w.]+)", page)) == made
    views = {f"{view.name}.svg" for view in pictures.VIEWS}
    views |= {f"{view.name}.png" for view in pictures.VIEWS if view.page}
    assert made == views | {f"{name}.png" for name in pictures.CONSOLE}
    for path in folder.glob("*.svg"):
        text = path.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"url\([\"']?http|<image|@import|href=", text), path
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_500_000


def test_a_terminal_is_what_is_left_after_all_movements() -> None:
    sent = "one\r\n50 %\r\x1b[2K100 %\r\n\x1b[1A\x1b[2Kdone\r\n\x1b[?25hlast"
    assert pictures.screen(sent) == "one\ndone\nlast"
