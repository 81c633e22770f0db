"""What a model predicts, beside what was seen."""

from __future__ import annotations

import numpy as np

from incfed.environments.fitted.fit import Bin
from incfed.results.calibration import calibration, calibration_sketch, fitting

BINS = (Bin(0.1, 0.12, 0.015, 50), Bin(0.3, 0.2, 0.05, 50), Bin(0.6, 0.7, 0.1, 50))


def test_a_bin_fits_within_its_interval() -> None:
    """0.02, 0.1 and 0.1 away, where 0.029, 0.098 and 0.196 are allowed."""
    assert fitting(BINS) == 2


def test_every_bin_is_a_dot_with_bars_beside_the_diagonal() -> None:
    [axes] = calibration(BINS).axes
    diagonal, dots, *_ = axes.lines
    assert np.array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert np.array_equal(dots.get_xdata(), [0.1, 0.3, 0.6])
    assert np.array_equal(dots.get_ydata(), [0.12, 0.2, 0.7])
    low, high = axes.get_xlim()
    assert low < 0.2 - 1.96 * 0.05
    assert high > 0.7 + 1.96 * 0.1


def test_the_same_as_text() -> None:
    lines = calibration_sketch(BINS, 60)
    assert sum(line.count("●") for line in lines[:-1]) == 3
    assert "as predicted" in lines[-1]
