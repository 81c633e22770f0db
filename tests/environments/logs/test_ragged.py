"""Rows with more fields than the header are bad rows with their numbers."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import incfed
from incfed.environments.logs.columns import read
from incfed.environments.logs.layout import Source
from incfed.environments.logs.ragged import RAGGED, find_ragged
from incfed.errors import InputError
from support.logs import Sample, told

CELLS = ["a", "1", "", "p,q", "x;y", "n\nm", 'say "hi"', "r\r\nw", " b ", 'a" b', "é"]


def lengthen(file: Path, rows: list[int], more: str = ",7,8") -> None:
    """Give these rows surplus fields."""
    lines = file.read_text().splitlines()
    for row in rows:
        lines[row] += more
    file.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_rows_that_are_too_long(ending: bytes, last: bool, packed: bool, tmp_path: Path) -> None:
    sample = Sample.random()
    plain = sample.open("csv ids", tmp_path, mode="zero")
    lengthen(tmp_path / "log.csv", [9, 60])
    lengthen(tmp_path / "log.csv", [20], more=",")
    text = (tmp_path / "log.csv").read_bytes().replace(b"\n", ending)
    text = text if last else text.removesuffix(ending)
    file = tmp_path / ("log.csv.gz" if packed else "log.csv")
    file.write_bytes(gzip.compress(text) if packed else text)
    with pytest.warns(incfed.BadRows, match="row 9 has 6 fields, the header has 4"):
        world = incfed.ReplayLog(file, mode="zero", items=tmp_path / "items.csv")
    reason = "too many fields (row 9 has 6 fields, the header has 4)"
    assert world.report.dropped == {reason: 3}
    assert world.report.examples == {reason: (9, 20, 60)}
    kept = [n for n in range(60) if n + 1 not in (9, 20, 60)]
    who, shown, rewards = told(world)
    before = told(plain)
    assert [world.client_names[n] for n in who] == [sample.clients[n] for n in kept]
    assert rewards == [before[2][n] for n in kept]
    for n, features in zip(kept, shown, strict=True):
        np.testing.assert_array_equal(features, before[1][n])


def test_one_too_long_row_makes_a_bad_event(tmp_path: Path) -> None:
    rows = ["event,client,x,y,chosen,reward", "1,a,1,2,1,1", "1,a,3,4,0,", "2,a,5,6,1,1"]
    rows += ["3,b,7,8,1,1", "4,b,9,9,1,0", "3,b,1,x,y,2,1,1"]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    arguments: dict[str, Any] = {"mode": "zero", "event": "event", "features": ["x", "y"]}
    with pytest.warns(incfed.BadRows, match=r"row 6 has 8 fields, the header has 6\): 1 \(row 4\)"):
        world = incfed.ReplayLog(tmp_path / "log.csv", **arguments)
    assert (world.report.rows, world.report.kept) == (4, 3)
    assert [one.tolist() for one in told(world)[1]] == [[[1, 2], [3, 4]], [[5, 6]], [[9, 9]]]


def test_an_item_that_is_too_long(tmp_path: Path) -> None:
    """It is left out, and so are the events that show it."""
    sample = Sample.random()
    sample.open("csv ids", tmp_path)
    lengthen(tmp_path / "items.csv", [3])
    with pytest.warns(incfed.BadRows):
        world = incfed.ReplayLog(tmp_path / "log.csv", mode="zero", items=tmp_path / "items.csv")
    assert world.item_report is not None
    assert list(world.item_report.dropped) == [
        "too many fields (row 3 has 6 fields, the header has 4)"
    ]
    showing = sum(2 in shown for shown in sample.candidates)
    assert world.report.dropped == {"candidate not in the item table": showing}


@pytest.mark.parametrize("name", ["log.csv", "items.csv"])
def test_more_than_half_is_refused(name: str, tmp_path: Path) -> None:
    Sample.random().open("csv ids", tmp_path)
    rows = len((tmp_path / name).read_text().splitlines()) - 1
    lengthen(tmp_path / name, list(range(1, rows // 2 + 2)), more=",")
    said = rf"{name}', must be a file of which at least half can be used \(row 1 has 5 fields, "
    with pytest.raises(InputError, match=rf"{said}the header has 4; {rows // 2 + 1} such rows\)"):
        incfed.ReplayLog(tmp_path / "log.csv", mode="zero", items=tmp_path / "items.csv")


@given(
    rows=st.lists(st.lists(st.sampled_from(CELLS), min_size=2, max_size=6), min_size=1),
    delimiter=st.sampled_from(",;\t"),
    ending=st.sampled_from(["\n", "\r\n"]),
    before=st.sampled_from(["", "\ufeff", "\n\n"]),
    last=st.booleans(),
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_quoted_fields(
    rows: list[list[str]], delimiter: str, ending: str, before: str, last: bool, tmp_path: Path
) -> None:
    """As the csv module of Python wrote them; the other rows are read as they are."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=ending)
    writer.writerows([["a\nz", "b", "c\ny"], *rows, ["1", "2", "3"]])
    text = before + (out.getvalue() if last else out.getvalue().removesuffix(ending))
    file = tmp_path / "log.csv"
    file.write_bytes(text.encode())
    long = {n: len(row) for n, row in enumerate(rows, start=1) if len(row) > 3}
    found = find_ragged(file, delimiter, header=3)
    assert dict(zip(found.rows.tolist(), found.fields.tolist(), strict=True)) == long
    table = Source("file", file, "csv", delimiter)
    if 2 * len(long) > len(rows) + 1:
        with pytest.raises(InputError, match="at least half can be used"):
            read(table, {"first": "a\nz"})
        return
    frame = read(table, {"first": "a\nz", "last": "c\ny"})
    assert (RAGGED in frame.columns) == bool(long)
    for n, row in enumerate(rows):
        got = frame.row(n, named=True)
        if n + 1 in long:
            assert got[RAGGED] == f"row {n + 1} has {len(row)} fields, the header has 3"
            assert (got["first"], got["last"]) == (None, None)
        else:
            assert [got["first"] or "", got["last"] or ""] == [row[0], [*row, ""][2]]
            assert got.get(RAGGED) is None


def test_what_polars_cannot_read_is_refused_as_before(tmp_path: Path) -> None:
    Sample.random().open("csv ids", tmp_path)
    with (tmp_path / "log.csv").open("a") as file:
        file.write('u1,"1"2,1,1.0\n')
    with pytest.raises(InputError, match=r"must be a readable csv file \(could not parse"):
        incfed.ReplayLog(tmp_path / "log.csv", mode="zero", items=tmp_path / "items.csv")
