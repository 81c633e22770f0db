"""The documentation site: its references have every public name, command and setting, and the
examples in docstrings run. (`make docs` builds it, and checks every link.)"""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import re
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import incfed
import pictures
from generate import commands, docstrings, settings
from incfed.experiments import Recipe, build
from incfed.experiments.config import RUN_KEYS
from incfed.experiments.engine import Local, run_cells
from incfed.ledger.settings import Settings
from incfed.planning.space import KEYS
from incfed.planning.template import FIXED
from incfed.rules.rule import served
from incfed.service.coordinator.config import ServerConfig
from support.docs import ROOT
from support.fake_coordinator import Fake
from support.fake_server import serving
from support.movielens import Sample

PAGES = sorted((ROOT / "docs/api").glob("*.md"))
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
CODE = (classmethod, staticmethod, property, cached_property)
[LISTED] = re.findall(r"inherited_members: \[(.+)\]", (ROOT / "mkdocs.yml").read_text())
INHERITED = LISTED.split(", ")  # methods that are shown with every class that has them
STUDY = {
    "run": {"steps": 50, "seeds": 2, "output": "results"},
    "world": {"kind": "Synthetic", "clients": 5, "dim": 3, "arms": 4, "pool": 50},
    "algorithm": [{"kind": "Independent"}, {"kind": "DisLinUCB", "threshold": "high"}],
}


def names_of(page: Path) -> list[str]:
    """What a page of the Python reference shows: public names, and classes that they return."""
    return re.findall(r"(?m)^::: incfed\.([\w.]+)$", page.read_text(encoding="utf-8"))


def entries_of(name: str) -> dict[str, str]:
    """What is shown of a name: its docstring, and those of its public methods and properties. One
    without is not shown there, but where it comes from."""
    one = resolve_name(f"incfed.{name}")
    found = {name: inspect.cleandoc(one.__doc__ or "")}
    if inspect.isclass(one):
        inherited = {key: getattr(one, key) for key in INHERITED if hasattr(one, key)}
        for key, part in {**vars(one), **inherited}.items():
            if key[0] != "_" and (inspect.isfunction(part) or isinstance(part, CODE)):
                found[f"{name}.{key}"] = inspect.cleandoc(code_of(part).__doc__ or "")
    return found


def code_of(part: Any) -> Any:
    """The function of a method or property."""
    for name in ("__func__", "fget", "func"):
        part = getattr(part, name, part)
    return part


def test_every_public_name_is_on_one_page() -> None:
    shown = sorted(name for page in PAGES for name in names_of(page) if "." not in name)
    assert shown == sorted({*dir(incfed)} - {"__version__", "thresholds"})


@pytest.mark.parametrize("page", [page.stem for page in PAGES])
def test_all_that_the_reference_shows_has_an_example(page: str) -> None:
    """Every function and class, and every method and property of it."""
    entries = {
        label: text
        for name in names_of(ROOT / f"docs/api/{page}.md")
        for label, text in entries_of(name).items()
    }
    assert entries
    assert [label for label, text in entries.items() if text and ">>> " not in text] == []
    unsaid = [label for label, text in entries.items() if not text]
    assert [label for label in unsaid if not explained_by_a_base(label)] == []


def explained_by_a_base(label: str) -> bool:
    name, _, key = label.rpartition(".")
    bases = resolve_name(f"incfed.{name}").__mro__[1:]
    return any(code_of(vars(base)[key]).__doc__ for base in bases if key in vars(base))


@pytest.mark.parametrize("page", [page.stem for page in PAGES])
def test_examples_in_docstrings_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the top of a page to its end: an example may use names of those above."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if page == "worlds":  # stands in for a download
        Sample(users=4, movies=600).write(tmp_path / "ml-latest-small")
    if page == "results":  # what `incfed run` left there
        experiment = build(Recipe(STUDY, tmp_path))
        run_cells(experiment.cells, checkpoint=experiment.checkpoint(), executor=Local(1))
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    with serving(Fake(1, 3, threshold=0.5)) as (url, _):
        names: dict[str, Any] = {"incfed": incfed, "url": url, "token": "token-0"}
        for name in names_of(ROOT / f"docs/api/{page}.md"):
            for label, text in entries_of(name).items():
                said: list[str] = []
                example = doctest.DocTestParser().get_doctest(text, names, label, None, 0)
                example.globs = names  # not a copy
                runner.run(example, out=said.append, clear_globs=False)
                assert not said, "".join(said)
    assert runner.tries


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
    assert listed["`[federation]`"] == set(served(Settings))
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
    views = {f"{view.name}.svg" for view in (*pictures.VIEWS, pictures.SERVE)}
    views |= {f"{view.name}.png" for view in pictures.VIEWS if view.page}
    assert made == views | {f"{name}.png" for name in (*pictures.CONSOLE, *pictures.SERVED)}
    for path in folder.glob("*.svg"):
        text = path.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"url\([\"']?http|<image|@import|href=", text), path
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_500_000


def test_a_terminal_is_what_is_left_after_all_movements() -> None:
    sent = "one\r\n50 %\r\x1b[2K100 %\r\n\x1b[1A\x1b[2Kdone\r\n\x1b[?25hlast"
    assert pictures.screen(sent) == "one\ndone\nlast"
