"""Rows that cannot be used are left out, counted and reported; files that cannot, refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import incfed
from incfed.errors import InputError
from support.logs import Sample, told

NAN, INF = float("nan"), float("inf")
ITEMS = "item,x,y\n1,0.5,0.5\n2,1,0\n3,0,1\n4,nan,1\n5,,1\n6,inf,1\n,1,1\n2,7,7\n"
GOOD = "a,1|2|3,2,0.5"


def by_id(folder: Path, rows: list[str], **more: Any) -> incfed.ReplayLog:
    """A CSV log of these rows and some good ones after them."""
    (folder / "items.csv").write_text(ITEMS)
    header = "client,candidates,chosen,reward,when"
    (folder / "log.csv").write_text("\n".join([header, *rows, *[f"{GOOD},3"] * 20]) + "\n")
    more = {"items": folder / "items.csv", **more}
    return incfed.ReplayLog(folder / "log.csv", mode="zero", **more)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",1|2,1,1.0,3", "client missing"),
        ("a,,1,1.0,3", "no candidates"),
        ("a,[],1,1.0,3", "no candidates"),
        ("a,1||2,1,1.0,3", "candidate missing"),
        ("a,1|9,1,1.0,3", "candidate not in the item table"),
        ("a,1|4,1,1.0,3", "candidate not in the item table"),  # its features are not finite
        ("a,1;2,1,1.0,3", "candidate not in the item table"),  # another separator
        ("a,1|2,,1.0,3", "chosen missing"),
        ("a,1|2,3,1.0,3", "chosen not among the candidates"),
        ("a,1|2,9,1.0,3", "chosen not among the candidates"),
        ("a,1|2,1,,3", "reward missing or not finite"),
        ("a,1|2,1,nan,3", "reward missing or not finite"),
        ("a,1|2,1,-inf,3", "reward missing or not finite"),
        ("a,1|2,1,none,3", "reward missing or not finite"),
        ("a,1|2,1,1.0,", "time missing"),
        ("a,1|2,1,1.0,noon", "time not readable, such as 'noon'"),
        ("a", "no candidates"),
    ],
)
def test_bad_rows_of_a_csv_file(row: str, reason: str, tmp_path: Path) -> None:
    more = {"time": "when"} if row.count(",") == 4 else {}
    with pytest.warns(incfed.BadRows, match=re.escape(reason)) as caught:
        world = by_id(tmp_path, [f"{GOOD},1", row, f"{GOOD},2", row], **more)
    assert world.report.dropped == {reason: 2}
    assert world.report.examples == {reason: (2, 4)}
    assert (world.report.rows, world.report.kept, world.length) == (24, 22, 22)
    said = f"log.csv: 2 of 24 rows dropped; {reason}: 2 (rows 2, 4)"
    assert world.notes[0] == said
    assert said in str(caught[0].message)
    assert world.settings()["log"] == {"rows": 24, "dropped": {reason: 2}}
    assert world.client_names == ["a"]


def test_the_item_table_is_reported_too(tmp_path: Path) -> None:
    with pytest.warns(incfed.BadRows):
        world = by_id(tmp_path, [])
    assert not world.report.dropped
    assert world.item_report is not None
    assert world.item_report.dropped == {
        "item missing": 1, "features missing or not finite": 3, "the same item again": 1,
    }  # fmt: skip
    assert world.notes == [
        "items.csv: 5 of 8 rows dropped; item missing: 1 (row 7); features missing or not "
        "finite: 3 (rows 4, 5, 6); the same item again: 1 (row 8)"
    ]
    assert told(world)[1][0].tolist() == [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]  # the first of two


def test_many_are_counted_and_the_first_are_shown(tmp_path: Path) -> None:
    with pytest.warns(incfed.BadRows, match=r"chosen missing: 9 \(rows 1, 2, 3, \.\.\.\)"):
        by_id(tmp_path, ["a,1|2,,1.0,3"] * 9)


def test_words_for_truth_are_numbers(tmp_path: Path) -> None:
    with pytest.warns(incfed.BadRows):
        world = by_id(tmp_path, ["b,1|2,1,TRUE,3", "b,2|1,1, false ,3"])
    assert told(world)[2][:2] == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"features": None}, "no candidates"),
        ({"features": []}, "no candidates"),
        ({"features": [[1.0, 2.0], []]}, "features missing"),
        ({"features": [[1.0, 2.0], None]}, "features missing"),
        ({"features": [[1.0, 2.0], [1.0]]}, "features missing"),
        ({"features": [[1.0, 2.0], [1.0, 2.0, 3.0]]}, "features missing"),
        ({"features": [[1.0, None]]}, "features missing"),
        ({"features": [[1.0, NAN]]}, "features missing"),
        ({"features": [[1.0, INF]]}, "features missing"),
        ({"chosen": None}, "chosen missing"),
        ({"chosen": 2.0}, "chosen not among the candidates"),
        ({"chosen": -1.0}, "chosen not among the candidates"),
        ({"chosen": 0.5}, "chosen not among the candidates"),
        ({"client": None}, "client missing"),
        ({"reward": None}, "reward missing or not finite"),
        ({"reward": NAN}, "reward missing or not finite"),
    ],
)
def test_bad_rows_of_features(change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    good = {"client": 3, "features": [[1.0, 2.0], [3.0, 4.0]], "chosen": 1.0, "reward": 0.5}
    other = {**good, "features": [[5.0, 6.0]], "chosen": 0.0}
    frame = pl.DataFrame([good, {**good, **change}, other])
    frame.write_parquet(tmp_path / "log.parquet")
    with pytest.warns(incfed.BadRows, match=reason):
        world = incfed.ReplayLog(tmp_path / "log.parquet", mode="zero")
    assert list(world.report.examples.values()) == [(2,)]
    _, shown, rewards = told(world)
    assert [x.tolist() for x in shown] == [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]
    assert rewards == [[0.0, 0.5], [0.5]]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (["e,a,1,0,", "e,a,2,0,"], "not exactly one candidate chosen"),
        (["e,a,1,1,1", "e,a,2,1,1"], "not exactly one candidate chosen"),
        (["e,a,1,1,1", "e,b,2,0,"], "more than one client"),
        (["e,,1,1,1", "e,,2,0,"], "client missing"),
        (["e,a,1,1,", "e,a,2,0,7"], "reward missing or not finite"),
        (["e,a,1,1,1", "e,a,8,0,"], "candidate not in the item table"),
        (["e,a,,1,1", "e,a,2,0,"], "candidate missing"),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_bad_events_of_the_long_form(
    rows: list[str], reason: str, apart: bool, tmp_path: Path
) -> None:
    good = ["f,a,1,,", "f,a,2,1,3.5"]
    lines = [rows[0], *good, rows[1]] if apart else [*rows, *good]
    (tmp_path / "log.csv").write_text("\n".join(["event,client,item,chosen,reward", *lines]))
    (tmp_path / "items.csv").write_text(ITEMS[: ITEMS.index("4")])
    with pytest.warns(incfed.BadRows, match=rf"1 of 2 rows dropped; {reason}: 1 \(row 1\)"):
        world = incfed.ReplayLog(
            tmp_path / "log.csv", mode="zero", items=tmp_path / "items.csv", event="event"
        )
    assert told(world)[2] == [[0.0, 3.5]]


def test_rows_without_an_event_do_not_belong_together(tmp_path: Path) -> None:
    rows = [",a,1,1,1", ",a,2,1,1", *(f"{n},a,{n + 1},1,1" for n in range(2))]
    (tmp_path / "log.csv").write_text("\n".join(["event,client,item,chosen,reward", *rows]))
    (tmp_path / "items.csv").write_text(ITEMS[: ITEMS.index("4")])
    with pytest.warns(incfed.BadRows, match=r"event missing: 2 \(rows 1, 2\)"):
        world = incfed.ReplayLog(
            tmp_path / "log.csv", mode="zero", items=tmp_path / "items.csv", event="event"
        )
    assert world.length == 2


@pytest.mark.parametrize(("bad", "fine"), [(20, True), (21, False)])
@pytest.mark.filterwarnings("ignore::incfed.BadRows")
def test_more_than_half_is_no_slip(bad: int, fine: bool, tmp_path: Path) -> None:
    rows = ["a,1|2,,1.0,3"] * bad
    if fine:
        assert by_id(tmp_path, rows).length == 20
        return
    message = r"file: got '.*log\.csv', must be a log of which at least half .*chosen missing: 21"
    with pytest.raises(InputError, match=message):
        by_id(tmp_path, rows)


@given(data=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_good_rows_are_not_touched_by_bad_ones(data: st.DataObject, tmp_path: Path) -> None:
    """Bad rows in between change nothing about the others."""
    sample = Sample.random(events=12, seed=data.draw(st.integers(0, 99)))
    rows = sample.events.with_columns(pl.col("candidates").cast(pl.List(pl.Int64)))
    gaps = data.draw(st.lists(st.integers(0, 12), max_size=12))
    wrong = data.draw(st.lists(st.sampled_from(range(4)), min_size=len(gaps), max_size=len(gaps)))
    worse: list[dict[str, Any]] = [
        {"client": None}, {"candidates": []}, {"candidates": [99, 0], "chosen": 0}, {"chosen": 98},
    ]  # fmt: skip
    told_rows = [(n + 0.5, row) for n, row in enumerate(rows.to_dicts())]
    told_rows += [
        (float(gap), {**rows.row(0, named=True), **worse[kind]})
        for gap, kind in zip(gaps, wrong, strict=True)
    ]
    mixed = [row for _, row in sorted(told_rows, key=lambda pair: pair[0])]
    plain = sample.open("ids", tmp_path, mode="zero")
    pl.DataFrame(mixed, schema=rows.schema).write_parquet(tmp_path / "mixed.parquet")
    arguments = {"mode": "zero", "items": tmp_path / "items.parquet"}
    if gaps:
        with pytest.warns(incfed.BadRows):
            world = incfed.ReplayLog(tmp_path / "mixed.parquet", **arguments)  # type: ignore[arg-type]
    else:
        world = incfed.ReplayLog(tmp_path / "mixed.parquet", **arguments)  # type: ignore[arg-type]
    assert sum(world.report.dropped.values()) == len(gaps)
    assert str(told(world)) == str(told(plain))
