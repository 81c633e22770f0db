"""The figure of regret against traffic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from incfed.results.tradeoff import tradeoff
from support.results import sample

RUNS = {name: [sample(scale=scale), sample(scale=2 * scale)] for name, scale in
        (("one", 1.0), ("$two_", 2.0), ("three", 3.0), ("four", 4.0))}  # fmt: skip


def test_one_point_for_each_algorithm() -> None:
    figure = tradeoff(RUNS)
    assert figure is not None
    (axes,) = figure.axes
    drawn = [one for one in axes.lines if str(one.get_marker()) in "osD"]
    points = [np.ravel(one.get_xydata()).tolist() for one in drawn]
    assert points == [[90.0, pytest.approx(5.0 * scale)] for scale in (1.0, 2.0, 3.0, 4.0)]
    (box,) = figure.legends
    assert [text.get_text() for text in box.get_texts()] == [f"{name}: pays 2.50" for name in RUNS]


def test_nothing_to_show() -> None:
    """Two points are no figure; neither do clients that never talk or unknown traffic count."""
    assert tradeoff({name: RUNS[name] for name in ("one", "three")}) is None
    silent = sample()
    quiet = replace(silent, packed=0 * silent.packed)
    unknown = replace(silent, packed=float("nan") * silent.packed)
    more = {"quiet": [quiet], "unknown": [unknown]}
    assert tradeoff({**{name: RUNS[name] for name in ("one", "three")}, **more}) is None
