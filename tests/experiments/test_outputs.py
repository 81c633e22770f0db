"""What is written and what is printed about finished runs."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from incfed.errors import InputError
from incfed.experiments import demo
from incfed.experiments.outputs import Chapter, draw, publish
from incfed.results import Comparison, Result
from incfed.results.terminal import show
from incfed.support.files import replacing, write_text
from incfed.support.terminal import Terminal
from support.results import sample, silent

RUNS = {"[b]all": [sample(scale=s) for s in (1.0, 2.0)], "none": [silent(), silent()]}


def printed(screen: Terminal) -> str:
    assert isinstance(screen.out.file, io.StringIO)
    return screen.out.file.getvalue()


def terminal(width: int) -> Terminal:
    screen = Terminal()
    screen.out = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    return screen


def test_a_page_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = publish(tmp_path, "Title", "Intro", [Chapter("Part", RUNS, "Words")]).read_text()
    assert "<svg" not in page
    assert "pip install" in page
    assert "[b]all" in page
    assert draw(tmp_path, Comparison(RUNS)) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "report.html",
        "summary.json",
        "summary.md",
    ]


def test_unknown_regret_is_not_drawn(tmp_path: Path) -> None:
    runs = {"log": [sample(known=False)]}
    plots = draw(tmp_path, Comparison(runs))
    assert plots is not None
    assert not (plots / "regret.png").exists()
    assert (plots / "reward.png").exists()
    publish(tmp_path, "Title", "", [Chapter("Part", runs)])
    figures = json.loads((tmp_path / "summary.json").read_text())
    assert figures["Part"]["log"][0]["regret"] is None


def test_tables_fit_the_terminal() -> None:
    for width in (60, 140):
        screen = terminal(width)
        show(screen, Chapter("Title", RUNS, "Words").document())
        text = printed(screen)
        assert "Title\nWords\n" in text
        assert "mean ± standard deviation over 2 seeds" in " ".join(text.split())
        assert "[b]all" in text
        assert ("Rounds" in text) == (width == 140)
        assert max(map(len, text.splitlines())) <= width


def test_without_a_terminal_tables_are_markdown() -> None:
    screen = Terminal()
    screen.out = Console(file=io.StringIO(), force_terminal=False, width=40)
    show(screen, Chapter("Title", RUNS).document())
    assert printed(screen).startswith("## Title\n\n| Algorithm | Seeds | Regret |")
    screen.hint("nobody reads this")
    assert "nobody" not in printed(screen)


def _fail_after(written: int) -> None:
    raise ZeroDivisionError(written)


def test_nothing_half_written(tmp_path: Path) -> None:
    file = write_text(tmp_path / "a.txt", "old")
    with pytest.raises(ZeroDivisionError), replacing(file) as fresh:
        _fail_after(fresh.write_text("ne"))
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    with pytest.raises(InputError, match="cannot write"):
        write_text(file / "below.txt", "x")


def paid(regret: float, payment: float) -> list[Result]:
    result = sample()
    all_regret, all_payment = result.regret * 0 + regret, result.payment * 0 + payment
    return [replace(result, regret=all_regret, payment=all_payment)]


def test_the_demo_says_what_it_found() -> None:
    full = {"payment-free": [sample()], "beta 1": paid(10.0, 200.0), "beta 0.3": paid(11.0, 50.0)}
    runs = {f"{label}, cost 10": results for label, results in full.items()}
    (chapter,) = demo.chapters(runs)
    assert chapter.heading == "Cost 10"
    assert list(chapter.runs) == ["payment-free", "beta 1", "beta 0.3"]
    assert chapter.text == (
        "For data alone, 33 % of the clients with something new share it. Buying all the rest "
        "(beta 1) costs 200. With beta 0.3 the server pays 75 % less, for 10 % more regret and "
        "about the same traffic."
    )
    assert demo.chapters({}) == []


def test_the_demo_is_the_papers_setting(tmp_path: Path) -> None:
    made = demo.demo(tmp_path)
    assert made.world.settings() == {
        "kind": "Synthetic", "clients": 50, "dim": 25, "arms": 25,
        "pool": 1000, "noise": 0.1, "activity": None, "spread": 0.0,
    }  # fmt: skip
    assert (made.steps, made.seeds, len(made.entries)) == (5000, (0, 1, 2, 3, 4), 13)
    assert {round(one.rules(2).threshold, 4) for one in made.algorithms.values()} == {0.4696}
    costs = [float(one.prices(50)[0]) for one in made.algorithms.values()]
    assert costs == [0.0] + [1.0] * 4 + [10.0] * 4 + [100.0] * 4
