"""A data frame is read as a file with the same rows is: the same world, the same errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import incfed
from incfed.errors import InputError
from support.logs import Sample, told

NAN = float("nan")
pandas = pytest.importorskip("pandas", reason="pandas (incfed[pandas]) is not installed")


def as_pandas(frame: pl.DataFrame) -> Any:
    return pandas.DataFrame({name: frame[name].to_list() for name in frame.columns})


def same(one: incfed.ReplayLog, two: incfed.ReplayLog) -> None:
    first, second = told(one), told(two)
    assert (first[0], first[2]) == (second[0], second[2])
    for a, b in zip(first[1], second[1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.client_names == two.client_names


def test_frames_are_read_as_files_are(tmp_path: Path) -> None:
    sample = Sample.random()
    file = sample.open("ids", tmp_path)
    same(file, incfed.ReplayLog(sample.events, mode="replay", items=sample.table))
    same(file, incfed.ReplayLog.from_polars(sample.events, mode="replay", items=sample.table))
    events, table = as_pandas(sample.events), as_pandas(sample.table)
    same(file, incfed.ReplayLog(events, mode="replay", items=table))
    same(file, incfed.ReplayLog.from_pandas(events, mode="replay", items=sample.table))
    same(file, incfed.ReplayLog(events, mode="replay", items=tmp_path / "items.csv"))
    same(file, incfed.ReplayLog(tmp_path / "log.parquet", mode="replay", items=table))
    # An index of its own, categories, arrays in cells: the order of rows counts, nothing else.
    odd = events.set_index(np.arange(60)[::-1])
    odd["client"] = odd["client"].astype("category")
    odd["candidates"] = [np.array(shown) for shown in sample.candidates]
    same(file, incfed.ReplayLog(odd, mode="replay", items=table))
    names = [f"x{n}" for n in range(3)]
    long = as_pandas(sample.long)
    same(
        sample.open("long features", tmp_path),
        incfed.ReplayLog(long, mode="replay", event="event", features=names),
    )
    inline = events.assign(chosen=sample.chosen)
    inline["features"] = [sample.items[shown] for shown in sample.candidates]
    same(sample.open("inline", tmp_path), incfed.ReplayLog(inline, mode="replay"))
    assert incfed.ReplayLog(inline, mode="replay").settings()["file"] == "the data frame"


def test_bad_rows_are_told_alike() -> None:
    sample = Sample.random(events=30)
    frame = sample.events.with_columns(
        client=pl.Series([None, *sample.clients[1:]]),
        reward=pl.Series([1.0, float("nan"), *sample.rewards[2:]]),
    )
    said = (
        "the data frame: 2 of 30 rows dropped; client missing: 1 (row 1); reward missing or not "
        "finite: 1 (row 2)"
    )
    for given in (frame, as_pandas(frame)):
        with pytest.warns(incfed.BadRows) as caught:
            log = incfed.ReplayLog(given, mode="replay", items=sample.table)
        assert str(caught[0].message) == str(log.report) == said
    mixed = as_pandas(sample.events).astype({"reward": object})
    mixed.loc[4, "reward"] = "none"
    with pytest.warns(incfed.BadRows, match=r"reward missing or not finite: 1 \(row 5\)"):
        incfed.ReplayLog(mixed, mode="replay", items=sample.table)


def test_frames_that_cannot_be_used() -> None:
    sample = Sample.random(events=5)
    table = sample.table
    for turn in (lambda frame: frame, as_pandas):
        events = turn(sample.events)
        cases: list[tuple[Any, dict[str, Any], str]] = [
            (turn(sample.events.drop("reward")), {}, "reward: got 'reward', must be a column of"),
            (events, {"chosen": "x"}, "chosen: got 'x', must be a column of the data frame, which"),
            (events[:0], {}, "file: got 'the data frame', must be a data frame with at least one"),
            (events, {"format": "csv"}, "format: got 'csv', must be left out: a data frame has"),
            (turn(sample.events.with_columns(client=pl.lit(None))), {}, "at least half can be"),
            (turn(sample.events.with_columns(candidates=7)), {}, "candidates: got 'a column of"),
            (turn(sample.events.with_columns(reward=[1])), {}, "reward: got 'a column of List"),
        ]
        for frame, options, message in cases:
            with pytest.raises(InputError, match=message):
                incfed.ReplayLog(frame, mode="zero", items=table, **options)
    makers: list[Any] = [incfed.ReplayLog.from_pandas, incfed.ReplayLog.from_polars]
    for make in makers:
        with pytest.raises(InputError, match=r"frame: got .* must be a p.* data frame"):
            make({"client": [1]}, mode="zero")
    twice = as_pandas(sample.events)[["client", "client", "candidates", "chosen", "reward"]]
    with pytest.raises(InputError, match="client: got 'client', must be the name of one column"):
        incfed.ReplayLog(twice, mode="zero", items=table)


def trace_frame() -> pl.DataFrame:
    """Three steps of two arms with two features."""
    return pl.DataFrame(
        {
            "client": [1, 0, 1],
            "features": [
                [[1.0, 0.0], [0.0, 1.0]],
                [[2.0, 0.0], [0.0, 2.0]],
                [[3.0, 1.0], [1.0, 3.0]],
            ],
            "reward": [[0.5, 0.25], [1.0, 0.0], [0.75, 0.5]],
            "mean": [[0.4, 0.3], [0.9, 0.1], [0.7, 0.6]],
        }
    )


def trace_long() -> pl.DataFrame:
    """The same, one row an arm; the rows of the last step are not adjacent."""
    rows = [
        {"event": f"e{t}", "client": who, "x": x[0], "y": x[1], "reward": reward, "mean": mean}
        for t, (who, arms, rewards, means) in enumerate(trace_frame().rows())
        for x, reward, mean in zip(arms, rewards, means, strict=True)
    ]
    return pl.DataFrame([rows[0], rows[1], rows[2], rows[4], rows[3], rows[5]])


def test_a_trace_from_a_frame() -> None:
    frame, long = trace_frame(), trace_long()
    arms = np.array(frame["features"].to_list())
    by_arm: dict[str, Any] = {"event": "event", "features": ["x", "y"]}
    both: list[tuple[pl.DataFrame, dict[str, Any]]] = [(frame, {}), (long, by_arm)]
    made = [
        incfed.Trace.from_frame(given, expected="mean", **options)
        for wide, options in both
        for given in (wide, as_pandas(wide))
    ]
    for trace in made:
        assert trace.clients.tolist() == [1, 0, 1]
        np.testing.assert_array_equal(trace.items[trace.arms], arms)
        assert trace.rewards.tolist() == frame["reward"].to_list()
        assert trace.expected is not None
        assert trace.expected.tolist() == frame["mean"].to_list()
    named = frame.with_columns(client=pl.Series(["zoe", "anna", "zoe"]))
    assert incfed.Trace.from_frame(named).clients.tolist() == [1, 0, 1]
    assert incfed.Trace.from_frame(frame, count=5).count == 5


def test_rewards_may_be_booleans() -> None:
    clicks = [[True, False], [False, True], [True, True]]
    wide = trace_frame().with_columns(pl.Series("reward", clicks), pl.Series("mean", clicks))
    long = trace_long().with_columns(pl.col("reward") > 0.5)
    for given in (wide, as_pandas(wide)):
        made = incfed.Trace.from_frame(given, expected="mean")
        assert made.rewards.tolist() == np.multiply(clicks, 1.0).tolist()
    for given in (long, as_pandas(long)):
        made = incfed.Trace.from_frame(given, event="event", features=["x", "y"])
        assert set(made.rewards.ravel()) == {0.0, 1.0}
    sample = Sample.random()
    events = sample.events.with_columns(pl.col("reward") > 0.0)
    for given in (events, as_pandas(events)):
        log = incfed.ReplayLog(given, mode="zero", items=sample.table)
        assert log._log.rewards.tolist() == [float(reward > 0.0) for reward in sample.rewards]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": [[1.0, 2.0], [1.0], [1.0, 2.0]]}, "reward: got 1, must be 2 numbers, .* row 2"),
        (
            {"reward": [[1.0, 2.0], [1.0, 2.0], [1.0, NAN]]},
            "reward: got nan, must be a .* in row 3",
        ),
        ({"features": [[[1.0], [2.0]], [[1.0]], [[1.0], [2.0]]]}, "features: got 1, .* row 2"),
        ({"features": [[[1.0], [2.0]], [[1.0], [NAN]], [[1.0], [2.0]]]}, "features: .* row 2"),
        ({"client": [0, None, 1]}, "client: got None, must be given, in row 2 of the data frame"),
        ({"client": [0, 1, -1]}, "client: got -1, must be .* in row 3"),
        ({"features": None}, "features: got 'features', must be a column of the data frame"),
    ],
)
def test_bad_cells_of_a_trace(change: dict[str, Any], message: str) -> None:
    frame = trace_frame()
    for name, values in change.items():
        frame = frame.drop(name) if values is None else frame.with_columns(pl.Series(name, values))
    for given in (frame, as_pandas(frame)):
        with pytest.raises(InputError, match=message):
            incfed.Trace.from_frame(given)


def test_bad_rows_of_a_long_trace() -> None:
    long = trace_long()
    options: Any = {"event": "event", "features": ["x", "y"]}
    for frame, message in (
        (long[:5], "event: got 1, must be 2 rows, as other events have, in row 4"),
        (long.with_columns(x=pl.when(pl.col("x") == 2.0).then(None).otherwise("x")), "x: .* row 3"),
        (long.with_columns(client=pl.Series([1, 2, 0, 1, 0, 1])), "client: got 2, .* row 2"),
        (long.with_columns(event=pl.Series(["a", None, "b", "c", "b", "c"])), "event: .* row 2"),
    ):
        with pytest.raises(InputError, match=message):
            incfed.Trace.from_frame(frame, **options)
    with pytest.raises(InputError, match=r"features: got .* one column of lists, or event given"):
        incfed.Trace.from_frame(long, features=["x", "y"])
    with pytest.raises(InputError, match="frame: got 3, must be a pandas or polars data frame"):
        incfed.Trace.from_frame(3)
