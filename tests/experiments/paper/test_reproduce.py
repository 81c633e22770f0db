"""`incfed reproduce`, from the command line to the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import polars
import pytest
from matplotlib.patches import Rectangle

from incfed.errors import InputError
from incfed.experiments.cells import Record
from incfed.experiments.paper import reproduce
from incfed.experiments.paper.document import (
    Reproduction,
    page_document,
    result_document,
    tables_document,
)
from incfed.experiments.paper.figures import COSTS, FIGURES, draw
from incfed.experiments.paper.reproduce import paper_suite
from incfed.experiments.paper.settings import MOVIELENS, Data, Mode, PaperSetting
from incfed.experiments.paper.tables import TABLES
from incfed.experiments.paper.verdicts import FigureVerdict
from incfed.results import html, markdown
from incfed.results.tables import Spread
from support.cli import incfed, invoke

DATA = Mode(movielens=Path("ml"))


@pytest.fixture(autouse=True)
def _data(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were MovieLens data."""
    monkeypatch.setattr(reproduce, "_look", lambda folder, active: Data(54, 86_654))


def test_all_is_everything() -> None:
    asked = paper_suite(["all"], seeds=3, mode=DATA)
    assert asked.targets == (*TABLES, *FIGURES)
    assert asked.missing == ()
    assert len(asked.cells) == 3 * len(asked.settings)


def test_all_without_movielens_leaves_it_out_and_says_so() -> None:
    asked = paper_suite(["all"], seeds=3, mode=Mode())
    assert asked.targets == ("table1", "table5", "figure1", "figure2")
    assert asked.missing == ("table2", "table3", "table4", "table6", "figure3", "figure4")
    page = html.render(page_document(Reproduction(asked.mode, 3, missing=asked.missing)))
    assert "Not run: Table 2, Table 3, Table 4, Table 6, Figure 3, Figure 4." in page


def test_settings_that_targets_share_are_run_once() -> None:
    settings = paper_suite(["table3", "table6", "table3"], seeds=1, mode=DATA).settings
    assert len(settings) == len(set(settings))
    shared = TABLES["table6"].setting("low", "0.7")
    assert settings.count(shared) == 1
    assert shared == TABLES["table3"].setting("100", "0.7")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["table7"], "target: got 'table7' (did you mean 'table"),
        (["figures"], "must be table1 to table6, figure1 to figure4, or all"),
        (["table1", "table2"], "--movielens: is missing, must be the folder of MovieLens, for t"),
    ],
)
def test_bad_targets(names: list[str], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        paper_suite(names, seeds=1, mode=Mode())


def test_quick_is_one_seed_and_less_of_movielens() -> None:
    asked = paper_suite(["all"], seeds=9, mode=Mode(quick=True, movielens=Path("ml")))
    cells = asked.cells
    assert {cell.seed for cell in cells} == {0}
    assert {cell.steps for cell in cells} == {5000, 10_000}


def verdict(within: bool | None, why: str = "") -> FigureVerdict:
    return FigureVerdict("1", "0.3", "payment", 22.34, Spread(32.1, 5.2), within, why)


def test_the_page_shows_green_and_amber_with_the_reason() -> None:
    outside = verdict(False, "because <of> this")
    page = html.render(
        page_document(Reproduction(Mode(), 10, {"table1": [verdict(True), outside]}))
    )
    assert "1 of 2 within" in page
    assert "because &lt;of&gt; this" in page
    assert "<of>" not in page
    assert "Run as published" in page
    assert "http" not in page.replace("http-equiv", "")  # nothing from elsewhere


def test_one_line_says_what_is_outside() -> None:
    theory = FigureVerdict("theory", "0.01", "communication", 2.98e6, Spread(2.2e6, 1e5), False)
    found = {"table1": [verdict(True)] * 5, "table5": [theory, replace(theory, quantity="payment")]}
    text = markdown.render(result_document(Reproduction(Mode(), 10, found)))
    assert "table1: 5 of 5 figures as published" in text
    [line] = [line for line in text.splitlines() if line.startswith("Outside of 12 %")]
    assert line.endswith(
        ": 2 of 7 figures (table5 at theoretical D_c, β = 0.01: communication -26.2 %, payment "
        "-26.2 %)."
    )
    del found["table5"]
    text = markdown.render(result_document(Reproduction(Mode(), 10, found)))
    assert text.rstrip().endswith(": none of 5 figures.")
    found["table1"] = [replace(verdict(False), block=str(n)) for n in range(9)]
    text = markdown.render(result_document(Reproduction(Mode(), 10, found)))
    assert "; 5 other cells, see the page)." in text


def test_reads_are_as_published_unless_fresh_ones_are_asked_for(tmp_path: Path) -> None:
    def reads(mode: Mode) -> set[object]:
        return {one.algorithm["reads"] for one in paper_suite(["fig1"], seeds=1, mode=mode).cells}

    assert reads(Mode()) == {"stale"}
    assert reads(Mode(fresh_reads=True)) == {"fresh"}
    both = invoke(tmp_path, "reproduce", "table1", "--as-published", "--fresh-reads")
    assert both.returncode == 2
    assert "must be one of them" in both.stderr


def test_another_data_set_is_marked() -> None:
    found = FigureVerdict("0", "1", "performance", 38353, Spread(14_800, 20), None, "other")
    told = Reproduction(DATA, 3, {"table2": [found]}, data="54 users, 86,654 events")
    page = html.render(page_document(told))
    assert "another data set than the paper&#39;s: 54 users, 86,654 events." in page
    assert "not compared" in page
    for render in (markdown.render, markdown.render_latex):
        text = render(tables_document(told))
        assert "another data set than the paper's: 54 users, 86,654 events." in text


def curve_record(setting: PaperSetting, seed: int, scale: float) -> Record:
    step = [1.0, 50.0, 100.0]
    lines = ("regret", "reward", "communication", "payment")
    curve = {"step": step} | {name: [scale * x for x in step] for name in lines}
    return Record({}, seed, "", {"payment": 100 * scale}, curve)


@pytest.mark.parametrize("name", list(FIGURES))
def test_figures_draw_what_the_runs_say(name: str) -> None:
    drawing = FIGURES[name]
    records = {
        setting: [curve_record(setting, seed, 1.0 + n + seed) for seed in (0, 1)]
        for n, setting in enumerate(drawing.settings())
    }
    figure = draw(drawing, records)
    assert figure is not None
    panels = figure.axes
    assert len(panels) == (3 if drawing.ablation else 2 * len(COSTS))
    first = np.asarray(panels[0].lines[0].get_ydata())
    scales = [
        1.0 + n + seed
        for n, setting in enumerate(drawing.settings())
        for seed in (0, 1)
        if setting in drawing.settings()[: len(COSTS) if drawing.ablation else 1]
    ]
    mean = sum(scales) / len(scales)
    expected = [25 * mean] * 3 if drawing.world == MOVIELENS else [mean, 50 * mean, 100 * mean]
    assert first.tolist() == pytest.approx(expected)
    if drawing.ablation:
        assert len(panels[2].patches) == 4 * len(COSTS)
        assert max(cast(Rectangle, bar).get_height() for bar in panels[2].patches) == pytest.approx(
            1.0
        )
    del records[drawing.settings()[-1]]
    assert draw(drawing, records) is None


def recorded(book: bytes) -> dict[str, object]:
    """The records of a book, which has a line of its own before them."""
    records = map(json.loads, book.splitlines()[1:])
    return {record["fingerprint"]: record for record in records}


def test_from_the_command_line(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    names = ["figure2", "table1"]
    done = incfed(tmp_path, "reproduce", *names, "--seeds", "2", "--jobs", "2", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "table1: " in done.stdout
    assert {path.name for path in folder.iterdir()} >= {
        "cells.jsonl", "cells.parquet", "figures", "reproduction.html", "tables.md", "tables.tex"
    }  # fmt: skip
    made = {path.name for path in (folder / "figures").iterdir()}
    assert made == {"figure2.png", "figure2.svg"}
    cells = polars.read_parquet(folder / "cells.parquet")
    assert cells["seed"].unique().sort().to_list() == [0, 1]
    assert len(cells) == 2 * len(paper_suite(names, seeds=1, mode=Mode()).settings)
    assert set(cells["reads"]) == {"stale"}  # as published

    again = invoke(tmp_path, "reproduce", *names, "--seeds", "2", "-o", "out")
    assert again.returncode == 2
    assert "--resume" in again.stderr
    assert "--fresh" in again.stderr
    book = (folder / "cells.jsonl").read_bytes()
    resumed = invoke(tmp_path, "reproduce", *names, "--seeds", "2", "-o", "out", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "already there" in resumed.stderr + resumed.stdout
    assert (folder / "cells.jsonl").read_bytes() == book

    lines = book.splitlines(keepends=True)
    torn = b"".join(lines[:-3]) + lines[-3][: len(lines[-3]) // 2]  # as a kill leaves it
    (folder / "cells.jsonl").write_bytes(torn)
    resumed = invoke(
        tmp_path, "reproduce", *names, "--seeds", "2", "--jobs", "1", "-o", "out", "--resume"
    )
    assert resumed.returncode == 0, resumed.stderr
    assert recorded((folder / "cells.jsonl").read_bytes()) == recorded(book)

    ask = ("reproduce", "table1", "--quick", "--jobs", "1", "-o", "out", "--resume")
    other = invoke(tmp_path, *ask)
    assert other.returncode == 0, other.stderr
    assert not list((folder / "figures").iterdir())  # of the command before

    both = invoke(tmp_path, "reproduce", "table1", "-o", "out", "--resume", "--fresh")
    assert both.returncode == 2
    assert "must be one of them" in both.stderr


def test_somebody_else_s_tables_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tables.tex").write_text("mine")
    done = invoke(tmp_path, "reproduce", "table5", "--quick", "-o", "out")
    assert done.returncode == 2
    assert "tables.tex from another source" in done.stderr
    assert (tmp_path / "out" / "tables.tex").read_text() == "mine"


def test_too_many_seeds() -> None:
    with pytest.raises(InputError, match=r"seeds: got 1000000, must be at most"):
        paper_suite(["table1"], seeds=1_000_000, mode=Mode())


def test_quick_runs_all_of_little_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "_look", lambda folder, active: Data(3, 7232))
    asked = paper_suite(["table6"], seeds=1, mode=Mode(quick=True, movielens=Path("ml")))
    assert {cell.steps for cell in asked.cells} == {None}
