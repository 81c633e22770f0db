"""Parallel coordinates: where values stand on their axes, and which settings are efficient."""

from __future__ import annotations

import math
from typing import Any

import pytest

from incfed.results.parallel import efficient, parallel

COLUMNS: dict[str, list[Any]] = {
    "mechanism": ["free", "paid", "paid", "free"],
    "beta": [math.inf, 0.5, 0.9, math.inf],
    "same": [1, 1, 1, 1],
    "regret": [8.0, 5.0, 9.0, 9.0],
    "payment": [0.0, 20.0, 30.0, 0.0],
    "communication": [10.0, 1000.0, 10_000.0, 10.0],
}


def test_efficient_settings_are_those_that_no_other_beats() -> None:
    assert efficient(COLUMNS) == {0, 1}
    assert efficient({"regret": [1.0, 1.0], "payment": [2.0, 2.0]}) == {0, 1}  # a tie
    assert efficient({"reward": [1.0, 3.0], "payment": [0.0, 0.0]}) == {1}  # the more the better
    assert efficient({"regret": [math.inf, 3.0], "payment": [0.0, 0.0]}) == {1}


def test_each_line_goes_through_its_values() -> None:
    table = parallel(COLUMNS, chosen=0)
    others, good, advice, picked = table["data"]
    assert others["name"] == "other settings (2)"
    assert [good["name"], advice["name"]] == ["efficient", "the advice"]
    assert picked["x"] == []
    # mechanism, beta (a number below, "none" above), regret, payment, communication (logarithmic);
    # what is the same everywhere has no axis
    assert advice["y"][:-1] == pytest.approx([0.0, 1.0, 0.75, 0.0, 0.0])
    assert good["y"][:-1] == pytest.approx([1.0, 0.0, 0.0, 2 / 3, 2 / 3])
    assert good["customdata"] == [1, 1, 1, 1, 1, None]
    assert table["layout"]["meta"]["names"][-2:] == ["Paid (money)", "Traffic (scalars)"]
    assert table["layout"]["meta"]["efficient"] == [0, 1]


def test_numbers_stand_below_words() -> None:
    table = parallel({"trust": [3.0, "auto", 5.0, math.inf], "regret": [1.0, 2.0, 3.0, 4.0]})
    marks = {one["y"]: one["text"] for one in table["layout"]["annotations"] if one["x"] == 0}
    by_height = [marks[place] for place in sorted(marks)]
    assert by_height == ["3", "4", "5", "auto", "none"]


def test_texts_are_no_markup() -> None:
    table = parallel({"mechanism": ["<b>x", "%{x}"], "regret": [1.0, 2.0]})
    said = " ".join(str(one["text"]) for one in table["data"])
    assert "&lt;b&gt;x" in said
    assert "&#37;{x}" in said
