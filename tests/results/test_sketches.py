"""Charts as text."""

from __future__ import annotations

import pytest

from incfed.results.sketches import HEIGHT, chart


@pytest.mark.parametrize("root", [False, True])
def test_marks_are_where_their_numbers_are(root: bool) -> None:
    dots = [(0.0, 1.0, "a"), (25.0, 3.0, "b"), (100.0, 5.0, "c")]
    lines = chart(dots, width=104, across="money", root=root)
    assert len(lines) == HEIGHT + 3
    assert all(len(line) <= 104 for line in lines)
    places = {mark: (n, line.index(mark)) for n, line in enumerate(lines[:HEIGHT])
              for mark in "abc" if mark in line}  # fmt: skip
    left, right = places["a"][1], places["c"][1]
    share = (places["b"][1] - left) / (right - left)
    assert share == pytest.approx(0.5 if root else 0.25, abs=0.01)
    assert [places[mark][0] for mark in "cba"] == [0, HEIGHT // 2, HEIGHT - 1]
    assert lines[0].startswith("5 ")
    assert lines[-2].split() == (["0", "6.2", "25", "100"] if root else ["0", "25", "50", "100"])
    assert lines[-1].strip() == "money"


def test_a_scale_need_not_start_at_0() -> None:
    lines = chart([(-1.0, 0.0, "a"), (3.0, 1.0, "b")], width=60, across="x")
    assert lines[-2].split() == ["-1", "0", "1", "3"]
    assert lines[HEIGHT - 1].partition("│")[2] == "a"


def test_one_dot() -> None:
    assert "a" in "".join(chart([(2.0, 2.0, "a")], width=30, across="x"))
