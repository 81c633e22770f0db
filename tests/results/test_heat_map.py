from __future__ import annotations

import numpy as np
import pytest

from incfed.results.heat_map import RAMP, Side, _shade, _shades, contrast, heat_map, text_colour


def test_cells_hold_their_figures() -> None:
    cells = np.array([[3.2345, 26_424.0, np.nan], [0.0, 12.0, 1_000_000.0]])
    sides = Side("cost of sharing", ["1", "10", "100"]), Side("share $\\beta_$", ["0.5", "0.9"])
    figure = heat_map(cells, *sides, "payment", "alone: 3")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts[:6]] == ["3.23", "26.4k", "–", "0", "12", "1M"]
    assert axes.get_xlabel() == "cost of sharing"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "10", "100"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["0.5", "0.9"]
    assert any("alone: 3" in text.get_text() for text in axes.texts)
    figure.draw_without_rendering()  # what users write is not taken for mathematics
    (axes,) = heat_map(np.array([[0.5]]), Side("", ["1"]), Side("", [""]), "participation").axes
    assert axes.texts[0].get_text() == "50 %"


def test_figures_can_be_read_on_every_shade() -> None:
    shades = [_shade(share) for share in np.linspace(0, 1, 101)]
    assert min(contrast(text_colour(shade), shade) for shade in shades) > 4.5  # WCAG AA
    greys = [contrast(shade, "#000000") for shade in shades]
    assert greys == sorted(greys, reverse=True)  # the order is seen without colours too
    assert shades[0] == "#" + "".join(f"{part:02x}" for part in RAMP[0])


def test_small_differences_keep_similar_colours() -> None:
    def range_of(cells: list[float]) -> float:
        (shades,) = _shades(np.array([cells]))
        return contrast(shades[0], shades[-1])

    assert range_of([100.0, 101.0]) < 2 < range_of([100.0, 150.0])
    assert range_of([5.0, 5.0]) == range_of([0.0, 0.0]) == 1
    (shades,) = _shades(np.array([[1.0, 30.0, 1000.0]]))
    middle = [contrast(shade, "#ffffff") for shade in shades]
    assert middle[0] + 0.5 < middle[1] < middle[2] - 0.5  # by logarithms
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
