"""Parallel coordinates: a line for each setting, through its value on every axis.

Drawn as plain lines: Plotly's own kind needs WebGL, which a strict page does not allow. The
efficient settings stand out. A click in the console picks one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .interactive import AXES, GREY, Table, safe
from .numbers import UNKNOWN, human
from .palette import LIGHT

Columns = Mapping[str, Sequence[Any]]
LOSSES, GAINS = ("regret", "payment", "communication"), ("reward", "gain")
ROOM = 0.12  # of an axis, for each word above the numbers
WIDE = 100.0  # from this ratio of the largest to the smallest on, an axis is logarithmic


@dataclass(frozen=True)
class Axis:
    places: list[float]  # of the settings, from 0 to 1
    marks: dict[float, str]  # by place


def parallel(columns: Columns, chosen: int | None = None) -> Table:
    """`columns` has the value of every setting on each axis; infinity and "" where it has none.
    `chosen` is the advised one."""
    axes = {name: _axis(values) for name, values in columns.items() if len(set(values)) > 1}
    count = len(next(iter(columns.values()), ()))
    good = efficient(columns)
    groups = {
        "other settings": ([n for n in range(count) if n not in good], GREY, 1.0, 0.35),
        "efficient": (sorted(good - {chosen}), LIGHT[0], 2.0, 0.9),
        "the advice": ([] if chosen is None else [chosen], LIGHT[1], 4.0, 1.0),
    }
    data = [
        _lines(f"{name} ({len(own)})" if len(own) > 1 else name, own, axes, columns, pen)
        for name, (own, *pen) in groups.items()
        if own
    ]
    data.append({**_lines("picked", [], axes, columns, ["#000000", 4.0, 1.0]), "showlegend": False})
    # For the page, which says in words what is picked.
    meta = {
        "names": [title(name) for name in axes],
        "rows": [[_value(columns[name][n]) for name in axes] for n in range(count)],
        "efficient": sorted(good),
    }
    return {"data": data, "layout": {**_layout(axes), "meta": meta}}


def efficient(columns: Columns) -> set[int]:
    """The settings that no other one beats: no worse in regret (or reward), payment and traffic,
    and better in one of them."""
    known = [name for name in LOSSES if name in columns and _known(columns[name])]
    if "regret" not in known:
        known += [name for name in GAINS if name in columns and _known(columns[name])][:1]
    rows = list(zip(*([_loss(name, one) for one in columns[name]] for name in known), strict=True))
    return {
        n
        for n, row in enumerate(rows)
        if not any(other != row and all(map(float.__le__, other, row)) for other in rows)
    }


def _loss(name: str, value: Any) -> float:
    if not _is_number(value):
        return math.inf
    return -float(value) if name in GAINS else float(value)


def _known(values: Sequence[Any]) -> bool:
    return any(_is_number(one) for one in values)


def _axis(values: Sequence[Any]) -> Axis:
    """Numbers by size, those of a wide range by their logarithm; above them words, by alphabet, and
    settings that have no value."""
    sound = [float(one) for one in values if _is_number(one)]
    words = sorted({_value(one) for one in values if not _is_number(one)})
    if sound:
        top = 1.0 - ROOM * len(words)
        where = {word: top + ROOM * n for n, word in enumerate(words, 1)}
    else:
        top = 0.0
        where = {word: n / max(1, len(words) - 1) for n, word in enumerate(words)}
    low, high = min(sound, default=0.0), max(sound, default=0.0)
    wide = low > 0 and high / low > WIDE

    def place(one: Any) -> float:
        if not _is_number(one):
            return where[_value(one)]
        if high == low:
            return 0.0
        share = math.log(one / low) / math.log(high / low) if wide else (one - low) / (high - low)
        return top * share

    middle = math.sqrt(low * high) if wide else (low + high) / 2
    marks = {place(one): human(one) for one in (low, middle, high)} if sound else {}
    marks |= {place: "none" if word == UNKNOWN else word for word, place in where.items()}
    return Axis([place(one) for one in values], marks)


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _lines(
    name: str, own: Sequence[int], axes: Mapping[str, Axis], columns: Columns, pen: Sequence[Any]
) -> Table:
    colour, width, opacity = pen
    x: list[float | None] = []
    y: list[float | None] = []
    words: list[str | None] = []
    rows: list[int | None] = []
    for n in own:
        x += [*range(len(axes)), None]
        y += [*(axis.places[n] for axis in axes.values()), None]
        words += [*[_words(columns, axes, n)] * len(axes), None]
        rows += [*[n] * len(axes), None]
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "text": words,
        "customdata": rows, "opacity": opacity, "line": {"color": colour, "width": width},
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip


def _words(columns: Columns, axes: Mapping[str, Axis], n: int) -> str:
    """A setting and its outcome, a line each."""
    said = [f"{title(name)}: <b>{safe(_value(columns[name][n]))}</b>" for name in axes]
    return "<br>".join(said)


def _value(one: Any) -> str:
    if isinstance(one, float) and not math.isfinite(one):
        return UNKNOWN
    return human(one) if isinstance(one, int | float) else str(one) or UNKNOWN


def title(name: str) -> str:
    return AXES.get(name, name.replace("_", " "))


def _layout(axes: Mapping[str, Axis]) -> Table:
    last = len(axes) - 1
    marks = [
        {
            "x": n, "y": place, "text": safe(word), "showarrow": False, "xanchor": "left",
            "xshift": 4, "font": {"size": 11},
        }
        for n, axis in enumerate(axes.values())
        for place, word in axis.marks.items()
    ]  # fmt: skip
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "hovermode": "closest",
        "margin": {"t": 52, "l": 30, "r": 84, "b": 24},
        "legend": {"orientation": "h", "y": -0.02, "yanchor": "top", "x": 0},
        "annotations": marks,
        "yaxis": {"visible": False, "range": [-0.05, 1.05], "fixedrange": True},
        "xaxis": {
            "side": "top", "range": [-0.2, last + 0.2], "fixedrange": True, "zeroline": False,
            "showgrid": True, "gridwidth": 1.5, "tickangle": 0, "ticks": "",
            "tickvals": list(range(last + 1)),
            "ticktext": [_wrapped(title(name)) for name in axes],
        },
    }  # fmt: skip


def _wrapped(text: str) -> str:
    return safe(text).replace(" ", "<br>")
