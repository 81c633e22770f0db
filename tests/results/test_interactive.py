"""Plotly figures as tables: scales, names of points, and what is efficient."""

from __future__ import annotations

from typing import Any

import pytest

from incfed.results.interactive import NAMED, _line, heat_map, tradeoff
from incfed.results.palette import LIGHT, pens_for
from incfed.results.tables import ComparisonRow, Spread


def row(label: str, regret: float, payment: float, communication: float) -> ComparisonRow:
    known = {"regret": regret, "payment": payment, "communication": communication}
    names = ("regret", "reward", "communication", "packed", "payment", "rounds", "participation")
    spreads: Any = (Spread(known.get(name, 0.0), 0.1) for name in names)
    return ComparisonRow(label, 3, *spreads)


def test_efficient_points_are_filled() -> None:
    table = tradeoff([row("a", 1, 9, 5), row("b", 5, 1, 5), row("worse", 6, 2, 5)])
    symbols = {one["name"]: one["marker"]["symbol"] for one in table["data"][:3]}
    assert symbols == {"a": "circle", "b": "circle", "worse": "circle-open"}
    assert table["layout"]["meta"]["efficient"] == ["a", "b"]
    keys = [one["name"] for one in table["data"] if one.get("showlegend", True)]
    assert keys == ["efficient", "not efficient"]


def test_names_of_points_do_not_cover_each_other() -> None:
    close = [row(f"name {n}", 1.0, 10.0, 5.0) for n in range(4)]
    named = [one for one in tradeoff(close)["data"] if one["mode"] == "markers+text"]
    places = [one["textposition"] for one in named]
    assert len(set(places)) == len(places) >= 2
    many = [row(f"name {n}", n, n, 5.0) for n in range(NAMED + 1)]
    assert all(one["mode"] == "markers" for one in tradeoff(many)["data"])


def test_a_heat_map_has_a_scale_of_the_same_colours() -> None:
    table = heat_map(("cost", [1, 2]), ("beta", [0.5]), [[10.0, 30.0]], "regret")
    cells, scale = table["data"]
    assert (cells["zmin"], cells["zmax"]) == (scale["zmin"], scale["zmax"]) == (10.0, 30.0)
    assert scale["colorscale"] == cells["colorscale"]
    assert (scale["y"][0], scale["y"][-1]) == pytest.approx((10.0, 30.0))
    axis = table["layout"]["yaxis2"]
    assert axis["ticktext"] == ["10", "15", "20", "25", "30"]
    assert axis["title"]["text"] == "Regret"


def test_a_heat_map_shows_what_users_wrote_as_text() -> None:
    table = heat_map(("<b>x</b>", ["<i>1</i>"]), ("y", ["%{x}"]), [[1.0]], "regret")
    cells, layout = table["data"][0], table["layout"]
    assert cells["x"] == ["&lt;i&gt;1&lt;/i&gt;"]
    assert cells["y"] == ["&#37;{x}"]
    assert layout["xaxis"]["title"]["text"] == "&lt;b&gt;x&lt;/b&gt;"


@pytest.mark.parametrize("values", [[7.0, 7.0], [7.0, 7.01], [0.0, 0.0], [None, 7.0]])
def test_values_that_hardly_differ_have_similar_colours(values: list[float | None]) -> None:
    cells = heat_map(("a", [1, 2]), ("b", [1]), [values], "regret")["data"][0]
    known = [one for one in values if one is not None]
    middle = (cells["zmin"] + cells["zmax"]) / 2
    assert cells["zmin"] < cells["zmax"]
    assert middle == pytest.approx((min(known) + max(known)) / 2)
    assert cells["zmax"] - cells["zmin"] == pytest.approx(max(0.05 * max(known), 1e-9))


def test_lines_of_the_same_colour_differ_in_their_dashes() -> None:
    pens = pens_for(map(str, range(3 * len(LIGHT))))
    first = [pens[str(n * len(LIGHT))] for n in range(3)]
    lines = [_line("x", [1], [1.0], pen)["line"] for pen in first]
    assert {one["color"] for one in lines} == {LIGHT[0]}
    assert [one["dash"] for one in lines] == ["solid", "10px,4px", "3px,3px"]
