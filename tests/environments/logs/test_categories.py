"""Features that are words: yes and no count as 1 and 0, categories are encoded by a setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import incfed
from incfed.environments.logs.features import bucket
from incfed.errors import InputError
from incfed.experiments.config import build_world
from support.logs import told

pandas = pytest.importorskip("pandas", reason="pandas (incfed[pandas]) is not installed")

LONG = """\
event,client,price,brand,sale,chosen,reward
1,ann,1.5,nike,yes,Yes,on
1,ann,2,puma,no, no ,
2,bob,3,nike,NO,n,
2,bob,4,adidas,Y,y,off
3,bob,5, puma ,f,T,On
"""
FEATURES = ["price", "brand", "sale"]
ONE_HOT = [[1.5, 0, 1, 0, 1], [2, 0, 0, 1, 0], [3, 0, 1, 0, 0], [4, 1, 0, 0, 1], [5, 0, 0, 1, 0]]
NAMES = ["price", "brand=adidas", "brand=nike", "brand=puma", "sale"]


def long(folder: Path, text: str = LONG, **more: Any) -> incfed.ReplayLog:
    (folder / "log.csv").write_text(text)
    more = {"features": FEATURES, "categories": "one-hot", **more}
    return incfed.ReplayLog(folder / "log.csv", mode="zero", event="event", **more)


def table(**columns: Any) -> dict[str, Any]:
    """The arguments of a log that shows both items of a table."""
    events = {"client": ["ann"], "candidates": [[1, 2]], "chosen": [2], "reward": [1.0]}
    items = pl.DataFrame({"item": [1, 2], **columns})
    return {"file": pl.DataFrame(events), "mode": "zero", "items": items}


def test_one_row_per_candidate(tmp_path: Path) -> None:
    world = long(tmp_path)
    assert world.feature_names == NAMES
    assert world.dim == 5
    _, shown, rewards = told(world)
    assert np.concatenate(shown).tolist() == ONE_HOT
    assert rewards == [[1.0, 0.0], [0.0, 0.0], [1.0]]  # on, off, on
    assert world.settings()["categories"] == "one-hot"
    assert not world.notes


@pytest.mark.parametrize("kind", ["csv", "polars", "categorical", "pandas"])
def test_an_item_table(kind: str, tmp_path: Path) -> None:
    given = table(price=[1.0, 2.0], brand=["puma", "nike"], new=[True, False])
    items = given["items"]
    if kind == "csv":
        items.write_csv(tmp_path / "items.csv")
        given["items"] = tmp_path / "items.csv"
    elif kind == "categorical":
        given["items"] = items.with_columns(pl.col("brand").cast(pl.Categorical))
    elif kind == "pandas":
        given["items"] = pandas.DataFrame(items.to_dict(as_series=False))
    world = incfed.ReplayLog(**given, categories={"brand": "one-hot"})
    assert world.feature_names == ["price", "brand=nike", "brand=puma", "new"]
    assert told(world)[1][0].tolist() == [[1, 0, 1, 1], [2, 1, 0, 0]]


def test_hashed(tmp_path: Path) -> None:
    world = long(tmp_path, categories=4)
    assert world.feature_names == ["price", *(f"brand#{n}" for n in range(4)), "sale"]
    shown = np.concatenate(told(world)[1])
    brands = ["nike", "puma", "nike", "adidas", "puma"]
    assert shown[:, 1:5].argmax(axis=1).tolist() == [bucket(brand, 4) for brand in brands]
    assert (shown[:, 1:5].sum(axis=1) == 1).all()
    # The same on every machine and in every version.
    assert [bucket(brand, 1000) for brand in ("nike", "puma", "é")] == [605, 59, 743]


def test_a_column_that_is_named_may_hold_numbers(tmp_path: Path) -> None:
    for kind in (int, float, str):
        given = table(shelf=pl.Series([7, 12]).cast(kind))
        world = incfed.ReplayLog(**given, categories={"shelf": "one-hot"})
        assert sorted(world.feature_names) == ["shelf=12", "shelf=7"]
        assert told(world)[1][0].tolist() == [[0, 1], [1, 0]]
        assert incfed.ReplayLog(**given, categories="one-hot").feature_names == ["shelf"]


def test_a_missing_category_is_a_bad_row(tmp_path: Path) -> None:
    with pytest.warns(incfed.BadRows, match=r"features missing or not finite, .*: 1 \(row 3\)"):
        world = long(tmp_path, LONG.replace("adidas", " "))
    assert world.feature_names == ["price", "brand=nike", "brand=puma", "sale"]
    assert world.length == 2


def test_a_word_beside_numbers_is_no_category() -> None:
    items = pl.DataFrame({"item": [1, 2, 3], "price": ["3", "5", "n/a"]})
    with pytest.warns(incfed.BadRows, match=r"features missing or not finite: 1 \(row 3\)"):
        world = incfed.ReplayLog(**{**table(), "items": items}, categories="one-hot")
    assert world.feature_names == ["price"]


def test_too_long_rows_add_no_category(tmp_path: Path) -> None:
    with pytest.warns(incfed.BadRows, match="row 5 has 8 fields, the header has 7"):
        world = long(tmp_path, LONG.replace("5, puma ,f", "5,gucci,gucci,f"))
    assert world.feature_names == NAMES


def test_words_are_refused_unless_a_setting_says_how(tmp_path: Path) -> None:
    said = (
        r"^features of log\.csv: got 'brand', must be a column of numbers; it has words \('nike', "
        r"'puma', 'adidas'\)\. Write categories = \"one-hot\" for .*, categories = 32 to hash"
    )
    for categories in (None, {}, {"sale": 3}):
        with pytest.raises(InputError, match=said):
            long(tmp_path, categories=categories)
    with pytest.raises(InputError, match=r"features of the data frame: got 'side'.*'n', 's'"):
        incfed.ReplayLog(**table(side=["n", "s"]))  # not only yes and no
    with pytest.raises(InputError, match="features of the data frame: got 'x'"):
        incfed.ReplayLog(**table(x=pl.Series([None, None], dtype=pl.String)), categories={"x": 3})


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (
            "dummy",
            r"categories: got 'dummy', must be \"one-hot\" or a whole number from 1 to 1,000",
        ),
        (0, "categories: got 0, must be a whole number from 1 to 1,000"),
        (True, "categories: got True, must be a whole number"),
        ({"brand": 2.5}, r"categories\.brand: got 2\.5, must be a whole number"),
        ({"colour": 3}, "categories: got 'colour', must be a column of features: price, brand, sa"),
    ],
)
def test_settings_that_cannot_be_used(categories: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        long(tmp_path, categories=categories)


def test_lists_have_no_categories() -> None:
    said = "categories: got 8, must be left out: the features are lists of numbers"
    with pytest.raises(InputError, match=said):
        incfed.ReplayLog(**table(x=[[1.0], [2.0]]), categories=8)
    lists = pl.DataFrame({"client": [1], "features": [[[1.0, 2.0]]], "chosen": [0], "reward": [1]})
    with pytest.raises(InputError, match=said):
        incfed.ReplayLog(lists, mode="zero", categories=8)
    with pytest.raises(InputError, match=said):
        incfed.Trace.from_frame(lists.with_columns(reward=[[1.0]]), categories=8)
    assert incfed.ReplayLog(lists, mode="zero").feature_names == ["features[0]", "features[1]"]


def test_too_many_values_for_one_hot() -> None:
    names = [f"shoe {n}" for n in range(301)]
    items = pl.DataFrame({"item": range(301), "name": names})
    given = {**table(), "items": items}
    said = r"features, column 'name': got '301 values', must be at most 300 for one-hot: hash them"
    with pytest.raises(InputError, match=said):
        incfed.ReplayLog(**given, categories="one-hot")
    assert incfed.ReplayLog(**given, categories=32).dim == 32
    assert incfed.ReplayLog(**{**given, "items": items[:300]}, categories="one-hot").dim == 300


def test_a_trace() -> None:
    frame = pl.DataFrame(
        {
            "event": [1, 1, 2, 2],
            "client": ["a", "a", "b", "b"],
            "brand": ["nike", "puma", "puma", "nike"],
            "price": [1, 2, 3, 4],
            "reward": ["yes", "no", "No", "y"],
        }
    )
    by: dict[str, Any] = {"event": "event", "features": ["brand", "price"]}
    for given in (frame, pandas.DataFrame(frame.to_dict(as_series=False))):
        trace = incfed.Trace.from_frame(given, **by, categories="one-hot")
        assert trace.items.tolist() == [[1, 0, 1], [0, 1, 2], [0, 1, 3], [1, 0, 4]]
        assert trace.rewards.tolist() == [[1, 0], [0, 1]]
        with pytest.raises(InputError, match="features of the data frame: got 'brand'"):
            incfed.Trace.from_frame(given, **by)
    gap = frame.with_columns(brand=pl.Series(["nike", None, "puma", "nike"]))
    with pytest.raises(InputError, match=r"brand: got None, must be .* in row 2 of the data frame"):
        incfed.Trace.from_frame(gap, **by, categories=4)


@pytest.mark.parametrize("categories", ["one-hot", 4, {"brand": 4}])
def test_configs(categories: Any, tmp_path: Path) -> None:
    world = long(tmp_path, categories=categories)
    keys = {"kind": "ReplayLog", "mode": "zero", "file": "log.csv", "event": "event"}
    made = build_world({**keys, "features": FEATURES, "categories": categories}, tmp_path).value
    assert made.settings() == world.settings()
    assert told(made)[2] == told(world)[2]


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        (["yes", "NO", " y ", "n"], [1, 0, 1, 0]),
        (["True", "false", "t", "F"], [1, 0, 1, 0]),
        (["on", "Off", "", "on"], [1, 0, None, 1]),
        (["yes", "maybe", "no", "no"], [1, None, 0, 0]),
        (["yes", "2", "3", "4"], [None, 2, 3, 4]),  # beside numbers it is a text like any other
        (["true", "2", "3", "4"], [1, 2, 3, 4]),
    ],
)
def test_rewards_that_are_words(
    words: list[str], numbers: list[float | None], tmp_path: Path
) -> None:
    rows = [f"a,1|2,1,{word}" for word in words]
    (tmp_path / "log.csv").write_text("\n".join(["client,candidates,chosen,reward", *rows]))
    (tmp_path / "items.csv").write_text("item,x\n1,5\n2,6\n")
    arguments: dict[str, Any] = {"mode": "zero", "items": tmp_path / "items.csv"}
    good = [[float(number), 0.0] for number in numbers if number is not None]
    if len(good) == len(words):
        world = incfed.ReplayLog(tmp_path / "log.csv", **arguments)
    else:
        with pytest.warns(incfed.BadRows, match="reward missing or not finite: 1 "):
            world = incfed.ReplayLog(tmp_path / "log.csv", **arguments)
    assert told(world)[2] == good


def test_a_feature_with_words_beside_numbers_makes_a_bad_row(tmp_path: Path) -> None:
    text = LONG.replace("puma,no", "puma,3")
    with pytest.warns(incfed.BadRows, match="features missing or not finite"):
        world = long(
            tmp_path, text.replace("puma ,f,T,On\n", "puma ,1,T,On\n4,ann,1,nike,1,y,on\n")
        )
    assert world.length == 2
