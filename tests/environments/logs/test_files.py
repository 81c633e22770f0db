"""Arguments and files that cannot be used are refused by name; configs bring a log in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import incfed
from incfed.errors import InputError
from incfed.experiments import Recipe, build, read, run
from incfed.experiments.config import build_world
from incfed.experiments.engine import Local
from incfed.experiments.outputs import intro, matching
from incfed.experiments.sweeps import read_sweep
from support.cli import incfed as command
from support.cli import invoke
from support.experiments import fingerprints, tables
from support.logs import Sample

CONFIG = """\
[run]
output = "out"
[world]
kind = "ReplayLog"
mode = "replay"
file = "log.csv"
items = "items.csv"
[[algorithm]]
label = "alone"
kind = "Independent"
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": "guess"}, "mode: got 'guess', must be one of 'replay', 'zero'"),
        ({"file": "none.csv"}, r"file: got '.*none\.csv', must be an existing file"),
        ({"file": "."}, r"file: got '.*', must be an existing file"),
        ({"items": "none.csv"}, r"items: got '.*none\.csv', must be an existing file"),
        ({"file": 5}, "file: got 5, must be the path of a file"),
        ({"format": "xml"}, "format: got 'xml', must be one of 'parquet', 'csv'"),
        ({"client": ""}, "client: got '', must be a text that is not empty"),
        ({"client": 7}, "client: got 7, must be a text that is not empty"),
        ({"delimiter": ";;"}, "delimiter: got ';;', must be one character"),
        ({"features": []}, r"features: got \[\], must be the name of a column, or a list"),
        ({"features": ["x0", "x0"]}, "features: got .*, must be the name of a column, or a list"),
        ({"features": [3]}, r"features: got \[3\], must be the name of a column, or a list"),
        ({"chosen": "pick"}, r"chosen: got 'pick', must be a column of log\.csv, which has client"),
        ({"time": "at"}, r"time: got 'at', must be a column of log\.csv"),
        ({"item": "sku"}, r"item: got 'sku', must be a column of items\.csv, which has item, x0"),
        ({"features": "y"}, r"features: got 'y', must be a column of items\.csv"),
        (
            {"items": None},
            r"features: got 'features', must be a column of log\.csv.*give it as items",
        ),
        ({"items": None, "features": ["a", "b"]}, "must be one column, or items or event given"),
        ({"items": None, "event": "event"}, "features: got None, must be the columns with"),
        ({"delimiter": ";"}, r"client: got 'client', must be a column of log\.csv, which has"),
        ({"separator": ";"}, "must be a log of which at least half can be used .*not in the item"),
    ],
)
def test_arguments(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    Sample.random().open("csv ids", tmp_path)
    right = {"file": "log.csv", "mode": "zero", "items": "items.csv"}
    given = {**right, **change}
    for name in ("file", "items"):
        if isinstance(given[name], str):
            given[name] = tmp_path / given[name]
    if change == {"delimiter": ";"}:  # the table can be read with it, the log cannot
        (tmp_path / "items.csv").write_text("item;x0\n1;2\n")
    with pytest.raises(InputError, match=message):
        incfed.ReplayLog(**given)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("log.csv", b"", r"a readable csv file \(empty CSV\)"),
        ("log.csv", b"client,candidates,chosen,reward\n", "a file with at least one row"),
        (
            "log.csv",
            b"client,candidates,chosen,reward\na,1,1,1,7,8\n",
            r"a file of which at least half can be used \(row 1 has 6 fields, the header has 4",
        ),
        (
            "log.csv",
            b"client,candidates,chosen,reward,z,z\na,1,1,1,7,8,9\n",
            "a .*row 1 has 7 fiel",
        ),
        ("log.csv", b"client,candidates,chosen,reward\na,\xff\xfe,1,1\n", "a readable csv file"),
        ("log.parquet", b"", "a readable parquet file"),
        ("log.parquet", b"client,candidates\n", "a readable parquet file"),
        ("log.xlsx", b"", r"a file that ends in \.parquet, \.pq, \.csv"),
    ],
)
def test_files(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    Sample.random().open("ids", tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=rf"^file: got '.*{name}', must be {message}"):
        incfed.ReplayLog(tmp_path / name, mode="zero", items=tmp_path / "items.csv")


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("candidates", [1, 2], r"candidates: got 'a column of Int64', must be lists, or text"),
        ("client", [[1], [2]], r"client: got 'a column of List\(Int64\)', must be whole numbers"),
        ("candidates", [[[1]], [[2]]], r"candidates: got 'a column of List\(Int64\)'"),
        ("reward", [[1], [2]], r"reward: got 'a column of List\(Int64\)', must be numbers"),
        ("chosen", [[1], [2]], r"chosen: got 'a column of List\(Int64\)', must be whole numbers"),
        ("time", [[1], [2]], r"time: got 'a column of List\(Int64\)', must be numbers, dates"),
        ("client", [None, None], "must be a log of which at least half .*client missing: 2"),
    ],
)
def test_columns_of_another_kind(
    column: str, values: list[Any], message: str, tmp_path: Path
) -> None:
    sample = Sample.random(events=2)
    sample.open("ids", tmp_path)
    frame = sample.events.with_columns(pl.Series(column, values))
    frame.write_parquet(tmp_path / "log.parquet")
    with pytest.raises(InputError, match=message):
        incfed.ReplayLog(
            tmp_path / "log.parquet",
            mode="zero",
            items=tmp_path / "items.parquet",
            time="time" if column == "time" else None,
        )


def test_an_item_table_with_other_things_in_it(tmp_path: Path) -> None:
    sample = Sample.random()
    sample.open("ids", tmp_path)
    arguments: dict[str, Any] = {"mode": "zero", "items": tmp_path / "items.parquet"}
    dated = sample.table.with_columns(born=pl.date(2024, 1, 1))
    dated.write_parquet(tmp_path / "items.parquet")
    with pytest.raises(InputError, match=r"features, column 'born': got 'a column of Date'"):
        incfed.ReplayLog(tmp_path / "log.parquet", **arguments)
    sample.table.select("item").write_parquet(tmp_path / "items.parquet")
    with pytest.raises(InputError, match=r"items: got .*with columns of features beside 'item'"):
        incfed.ReplayLog(tmp_path / "log.parquet", **arguments)


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_truncated_file(data: st.DataObject, tmp_path: Path) -> None:
    Sample.random().open("ids", tmp_path)
    whole = (tmp_path / "log.parquet").read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    (tmp_path / "log.parquet").write_bytes(whole[:cut])
    with pytest.raises(InputError, match="a readable parquet file"):
        incfed.ReplayLog(tmp_path / "log.parquet", mode="zero", items=tmp_path / "items.parquet")


def spoiled(folder: Path) -> None:
    """A CSV log of 61 rows with a bad one at the end."""
    Sample.random().open("csv ids", folder)
    with (folder / "log.csv").open("a") as file:
        file.write("u1,,1,1.0\n")


def test_a_log_beside_the_config(tmp_path: Path) -> None:
    spoiled(tmp_path)
    world = {"kind": "ReplayLog", "mode": "replay", "file": "log.csv", "items": "items.csv"}
    given = {**tables(seeds=1), "world": world}
    del given["run"]["steps"]
    given["algorithm"][1]["costs"] = 1.0
    made = build(Recipe(given, tmp_path))
    assert (made.steps, made.world.count) == (60, 7)
    before = set(fingerprints(made))
    outcome = run(made, executor=Local(1))
    assert "log.csv: 1 of 61 rows dropped; no candidates: 1 (row 61)" in intro(made, outcome)
    matched = int(outcome.runs["paid"][0].matched[-1])
    assert f"({matched} of 60 steps matched)" in matching(outcome.runs)
    for name in ("log.csv", "items.csv"):  # other numbers: other runs
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text.replace("0.1", "0.2").replace("0.3", "0.4"))
        after = set(fingerprints(build(Recipe(given, tmp_path))))
        assert not before & after
        (tmp_path / name).write_text(text)
    assert set(fingerprints(build(Recipe(given, tmp_path)))) == before
    world["mode"] = "both"
    with pytest.raises(InputError, match=r"config: world\.mode: got 'both', must be one of"):
        build(Recipe(given, tmp_path))
    del world["mode"]
    with pytest.raises(InputError, match=r"world\.mode: is missing"):
        build(Recipe(given, tmp_path))


def test_the_command_line_says_what_was_dropped_and_matched(tmp_path: Path) -> None:
    spoiled(tmp_path)
    (tmp_path / "study.toml").write_text(CONFIG)
    done = command(tmp_path, "run", "study.toml")
    assert done.returncode == 0, done.stderr
    said = "log.csv: 1 of 61 rows dropped; no candidates: 1 (row 61)\n"
    assert done.stderr.count(said) == 1
    assert "BadRows" not in done.stderr
    assert "Reward per matched step: alone " in done.stdout
    assert " of 60 steps matched)" in invoke(tmp_path, "show", "out").stdout
    assert "Per 1,000 matched steps" in done.stdout
    assert "matched" in invoke(tmp_path, "show", "out/runs/alone/seed-0").stdout
    assert "no candidates" in (tmp_path / "out/report.html").read_text()


def test_seeds_do_not_change_a_log(tmp_path: Path) -> None:
    """One run of the log, and bootstrapped logs in folders of their own."""
    Sample.random().open("csv ids", tmp_path)
    text = CONFIG.replace("[run]\n", "[run]\nseeds = 3\nbootstrap = 2\n")
    (tmp_path / "study.toml").write_text(text)
    done = invoke(tmp_path, "run", "study.toml", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    folders = sorted(one.name for one in (tmp_path / "out/runs/alone").iterdir())
    assert folders == ["bootstrap-1", "bootstrap-2", "seed-0"]
    assert "1 algorithm, 1 log, 2 bootstrapped logs" in done.stderr
    for said in (done.stdout, invoke(tmp_path, "show", "out").stdout):
        assert "2 bootstrapped logs (events drawn with replacement)" in " ".join(said.split())
        assert "seeds" not in said
    assert "3 seeds" not in (tmp_path / "out/report.html").read_text()
    again = invoke(tmp_path, "run", "study.toml", "--jobs", "1")
    assert "3 of 3 runs already there" in again.stderr
    none = invoke(
        tmp_path, "run", "study.toml", "--bootstrap", "0", "--output", "one", "--jobs", "1"
    )
    assert "±" not in none.stdout
    assert [one.name for one in (tmp_path / "one/runs/alone").iterdir()] == ["seed-0"]


def test_a_config_may_draw_clients(tmp_path: Path) -> None:
    """Its runs are not taken for those that drew events."""
    Sample.random().open("csv ids", tmp_path)
    file = tmp_path / "study.toml"
    prints = []
    for resample in ("events", "clients"):
        keys = f'bootstrap = 2\nresample = "{resample}"\n'
        file.write_text(CONFIG.replace("[run]\n", f"[run]\n{keys}"))
        made = read(file)
        own, *again = made.cells
        drawn = [build_world(cell.world, tmp_path).value for cell in again]
        assert [one.settings()["bootstrap"] for one in drawn] == [resample] * 2
        assert "bootstrap" not in own.world
        prints.append([made.fingerprint(cell) for cell in made.cells])
    assert prints[0][0] == prints[1][0]
    assert len({*prints[0], *prints[1]}) == 5
    for before, after, said in (
        ("[run]\n", '[run]\nresample = "users"\n', "run.resample: got 'users', must be one of"),
        ("[world]\n", '[world]\nresample = "clients"\n', "got 'clients', must be left out, or"),
        ("[world]\n", "[world]\nrepeats = true\n", "repeats: got True, must be left out, or"),
    ):
        file.write_text(CONFIG.replace(before, after))
        with pytest.raises(InputError, match=said):
            read(file)


def test_a_run_that_repeats_events_says_so(tmp_path: Path) -> None:
    """On the terminal and on its page; without repeats there is nothing to say."""
    Sample.random().open("csv ids", tmp_path)
    for steps, repeats in ((400, True), (20, False)):
        text = CONFIG.replace("[world]\n", f"[world]\nbootstrap = {steps}\n")
        (tmp_path / "study.toml").write_text(text)
        done = invoke(tmp_path, "run", "study.toml", "--jobs", "1", "--output", f"out-{steps}")
        assert done.returncode == 0, done.stderr
        page = (tmp_path / f"out-{steps}" / "report.html").read_text()
        for said in (" ".join(done.stderr.split()), page):
            assert ("learning alone looks better than it is" in said) == repeats


def test_a_sweep_of_a_log_has_one_run_a_point(tmp_path: Path) -> None:
    Sample.random().open("csv ids", tmp_path)
    text = CONFIG.replace("[run]", "[run]\nseeds = 3")
    (tmp_path / "sweep.toml").write_text(text + '[sweep]\n"algorithm.ridge" = [0.1, 1.0]\n')
    made = read_sweep(tmp_path / "sweep.toml")
    assert [cell.seed for cell in made.cells] == [0, 0]


def test_more_clients_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incfed.environments.logs.world.MOST", 6)
    with pytest.raises(InputError, match="client: got '7 clients', must be at most 6"):
        Sample.random().open("ids", tmp_path)
