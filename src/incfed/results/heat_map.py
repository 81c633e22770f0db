"""Two parameters as a heat map: a cell for each pair of values, with its figure in it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..types import Floats
from . import axes as style
from .numbers import UNKNOWN, tick
from .palette import INK
from .plots import PANEL, new_figure
from .scales import Logarithmic, scale_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Light to dark of one hue: the order is seen in grey and by colour-blind readers too.
RAMP = ((234, 243, 251), (106, 174, 214), (11, 60, 111))
ON_LIGHT, ON_DARK = "#000000", "#ffffff"  # not the page's ink: cells look the same on a dark page
LEAST_RANGE = 0.05  # of the largest figure: smaller differences keep similar colours
LETTERS = 52  # of labels that have room side by side
LOWEST = 2.4  # inches: the name of the parameter at the side needs room
MOST_COLUMNS, MOST_ROWS = 10, 16  # more have no room for figures


@dataclass(frozen=True)
class Side:
    """One parameter of a heat map: what it is, and its values as text."""

    title: str
    values: Sequence[str]


def heat_map(cells: Floats, across: Side, down: Side, metric: str, note: str = "") -> Figure:
    """The figures of `metric` in `cells` [rows, columns]; NaN where there is none."""
    from matplotlib.patches import Rectangle

    rows, columns = cells.shape
    figure = new_figure(PANEL[0], max(1.25 + 0.42 * rows, LOWEST))
    axes = figure.add_subplot()
    shades = _shades(cells)
    for (row, column), value in np.ndenumerate(cells):
        colour = shades[row][column]
        axes.add_patch(
            Rectangle((column + 0.03, row + 0.04), 0.94, 0.92, facecolor=colour, linewidth=0)
        )
        axes.text(
            column + 0.5, row + 0.5, _figure(value, metric), ha="center", va="center",
            fontsize=9, color=text_colour(colour) if math.isfinite(value) else INK,
        )  # fmt: skip
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    wide = max(8, LETTERS // columns)
    labels = [textwrap.fill(value, wide, break_long_words=False) for value in across.values]
    axes.set_xticks(np.arange(columns) + 0.5, labels)
    axes.set_yticks(np.arange(rows) + 0.5, down.values)
    style.dress_cells(axes, metric, note, across.title, down.title)
    return figure


def _figure(value: float, metric: str) -> str:
    if not math.isfinite(value):
        return UNKNOWN
    return f"{100 * value:.0f} %" if metric == "participation" else tick(float(f"{value:.3g}"))


def _shades(cells: Floats) -> list[list[str]]:
    """From light for the smallest to dark for the largest; of figures far apart, by their logs."""
    known = cells[np.isfinite(cells)]
    if isinstance(scale_for(known.tolist()), Logarithmic):
        cells = np.log(np.where(cells > 0, cells, known[known > 0].min()))
        low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    else:
        high = float(known.max(initial=0.0))
        low = min(float(known.min(initial=high)), high - LEAST_RANGE * abs(high))
    width = (high - low) or 1.0
    return [[_shade((value - low) / width) for value in row] for row in cells.tolist()]


def _shade(share: float) -> str:
    """A colour of the ramp; none where nothing is known."""
    if not math.isfinite(share):
        return "none"
    place = min(max(share, 0.0), 1.0) * (len(RAMP) - 1)
    n = min(int(place), len(RAMP) - 2)
    parts = (a + (place - n) * (b - a) for a, b in zip(RAMP[n], RAMP[n + 1], strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def text_colour(background: str) -> str:
    """Dark or white, whichever is easier to read on it."""
    return max(ON_LIGHT, ON_DARK, key=lambda ink: contrast(ink, background))


def contrast(one: str, two: str) -> float:
    """The contrast of two colours as WCAG 2 defines it: from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(w * x for w, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
