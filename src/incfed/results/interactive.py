"""Plotly figures as plain tables: the console draws them, and notebooks, the same ones.

Backgrounds are transparent and inks are left to the page, so that they suit light and dark. No
WebGL traces: a strict page does not allow what they need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..support.extras import needs
from ..support.inputs import choice
from .axes import TITLES, band
from .curves import curve
from .numbers import finite, human
from .palette import LIGHT, SOLID, Pen, Pens, pens_for
from .plots import METRICS
from .tables import ComparisonRow, Runs, checked, compare

if TYPE_CHECKING:
    import plotly.graph_objects as go

Table = dict[str, Any]
SMALLEST, LARGEST = 10.0, 38.0  # diameters of points
NAMED = 8  # points that are all named; of more, the efficient ones
SHADES = 6  # of lines in parallel coordinates
SCALE = [[0.0, "#f7fbff"], [0.5, "#6baed6"], [1.0, "#08306b"]]  # one hue: safe for all readers


def curves(runs: Runs, metric: str, *, pens: Pens | None = None) -> Table:
    """One metric over the steps: the mean over seeds, and one standard deviation as a band."""
    choice("metric", metric, METRICS)
    chosen = {**pens_for(checked(runs)), **(pens or {})}
    data: list[Table] = []
    for label, results in runs.items():
        line = curve(results, metric)
        if line.empty:
            continue
        x, pen = [int(one) for one in line.x], chosen[label]
        low, high = band(line, metric)
        if any(math.isfinite(one) for one in line.sd):
            data.append(_band(label, x, low, high, pen))
        data.append(_line(label, x, _plain(line.mean), pen))
    title, note = TITLES[metric]
    return {"data": data, "layout": _layout("step", f"{title}: {note}")}


def tradeoff(rows: Sequence[ComparisonRow]) -> Table:
    """Payment against regret, the size is traffic. Settings that no other one beats in all three
    are marked as efficient."""
    known = [row for row in rows if math.isfinite(row.regret.mean)]
    most = max((row.communication.mean for row in known), default=0.0) or 1.0
    efficient = {row.label for row in known if not any(_beats(one, row) for one in known)}
    pens, few = pens_for(row.label for row in known), len(known) <= NAMED
    data = [
        {
            "type": "scatter",
            "mode": "markers+text" if few or row.label in efficient else "markers",
            "name": row.label,
            "x": [finite(row.payment.mean)],
            "y": [finite(row.regret.mean)],
            "error_x": _error(row.payment.sd),
            "error_y": _error(row.regret.sd),
            "text": [row.label],
            "textposition": "top center",
            "marker": {
                "size": SMALLEST
                + (LARGEST - SMALLEST) * math.sqrt(max(0.0, row.communication.mean) / most),
                "color": pens[row.label].colour,
                "symbol": "circle" if row.label in efficient else "circle-open",
                "line": {"width": 2, "color": pens[row.label].colour},
            },
            "hovertemplate": (
                f"{_safe(row.label)}<br>regret %{{y:,.4g}}<br>paid %{{x:,.4g}}"
                f"<br>{human(row.communication.mean)} scalars"
                f"<br>{'efficient' if row.label in efficient else 'another one is better'}"
                "<extra></extra>"
            ),
        }
        for row in known
    ]
    layout = _layout("payment", "regret")
    layout["showlegend"] = False
    return {"data": data, "layout": layout}


def heat_map(
    across: tuple[str, Sequence[Any]], down: tuple[str, Sequence[Any]],
    values: Sequence[Sequence[float | None]], metric: str,
) -> Table:  # fmt: skip
    """A figure over two parameters, with its values in the cells."""
    cells = [["" if one is None else human(one) for one in row] for row in values]
    data = {
        "type": "heatmap",
        "x": [str(one) for one in across[1]],
        "y": [str(one) for one in down[1]],
        "z": [list(row) for row in values],
        "text": cells,
        "texttemplate": "%{text}",
        "xgap": 2,  # also: without gaps, Plotly scales an image by a style
        "ygap": 2,
        "colorscale": SCALE,
        "showscale": False,  # the values are in the cells; a scale needs styles, too
        "hovertemplate": (
            f"{_safe(across[0])} %{{x}}<br>{_safe(down[0])} %{{y}}<br>{metric} %{{text}}"
            "<extra></extra>"
        ),
    }
    layout = _layout(across[0], down[0])
    layout["xaxis"]["type"] = layout["yaxis"]["type"] = "category"
    return {"data": [data], "layout": layout}


def parallel(columns: Mapping[str, Sequence[Any]], colour: str) -> Table:
    """A line for each setting, through its value on every axis; `colour` names the axis by which
    lines are coloured, the darkest the lowest. Drawn as plain lines: Plotly's own needs WebGL."""
    axes = {name: _scaled(values) for name, values in columns.items() if len(set(values)) > 1}
    names, aims = list(axes), axes[colour][0] if colour in axes else []
    shades: dict[int, Table] = {}
    for n in sorted(range(len(aims)), key=lambda n: -aims[n]):
        bin = min(SHADES - 1, int(aims[n] * SHADES))
        line = shades.setdefault(bin, _shade(bin))
        line["x"] += [*names, None]
        line["y"] += [*(axes[name][0][n] for name in names), None]
        words = ", ".join(f"{name} {_value(columns[name][n])}" for name in names)
        line["text"] += [*[_safe(words)] * len(names), None]
    layout = _layout("", "")
    layout |= {"showlegend": False, "hovermode": "closest", "margin": {"t": 40, "l": 60, "r": 60}}
    layout["yaxis"] = {"visible": False, "range": [-0.08, 1.08]}
    layout["xaxis"] = {"type": "category", "showgrid": True, "automargin": True, "tickangle": -25}
    layout["annotations"] = [
        {"x": name, "y": y, "text": _safe(word), "showarrow": False, "font": {"size": 11}}
        for name in names
        for y, word in ((-0.06, axes[name][1]), (1.06, axes[name][2]))
    ]
    return {"data": [shades[bin] for bin in sorted(shades, reverse=True)], "layout": layout}


def frontier(points: Sequence[Mapping[str, Any]], across: str, up: str) -> Table:
    """What money buys: held-out means with 95 % intervals, by rising `across`. Those that do not
    improve on a cheaper one are dots beside the line."""
    best = [one for one in points if one.get("improves", True)]
    rest = [one for one in points if one not in best]
    return {
        "data": [
            _points(some, across, up, mode, faint)
            for some, mode, faint in ((best, "lines+markers", 1.0), (rest, "markers", 0.45))
            if some
        ],
        "layout": _layout(across, up),
    }


def _points(
    points: Sequence[Mapping[str, Any]], across: str, up: str, mode: str, opacity: float
) -> Table:
    x, y = [one[across] for one in points], [one[up] for one in points]
    return {
        "type": "scatter", "mode": mode, "x": [one["mean"] for one in x],
        "y": [one["mean"] for one in y], "line": {"color": LIGHT[0], "shape": "hv"},
        "marker": {"size": 9, "color": LIGHT[0]}, "opacity": opacity, "showlegend": False,
        "error_y": {
            "type": "data", "symmetric": False, "thickness": 1,
            "array": [one["high"] - one["mean"] for one in y],
            "arrayminus": [one["mean"] - one["low"] for one in y],
        },
    }  # fmt: skip


def figure(table: Table) -> go.Figure:
    """As an object of Plotly, which notebooks show."""
    with needs("plotly", "figure()", "console"):
        import plotly.graph_objects as go
    return go.Figure(table)


def of_runs(runs: Runs, metric: str | None) -> go.Figure:
    """One metric of some runs (None: regret, or reward where that is unknown)."""
    known = metric or ("regret" if math.isfinite(compare(runs)[0].regret.mean) else "reward")
    return figure(curves(runs, known))


def _scaled(values: Sequence[Any]) -> tuple[list[float], str, str]:
    """The values from 0 to 1, and what the ends of the axis are. Words in alphabetical order."""
    words = sorted({str(one) for one in values})
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        known = [float(one) for one in values]
    else:
        known = [float(words.index(str(one))) for one in values]
    sound = [one for one in known if math.isfinite(one)] or [0.0]
    low, high = min(sound), max(sound)
    places = [min(1.0, max(0.0, (one - low) / ((high - low) or 1.0))) for one in known]
    if isinstance(values[0], str):
        return places, words[0], words[-1]
    return places, human(low), human(high) if len(sound) == len(known) else "none"


def _shade(bin: int) -> Table:
    share = bin / (SHADES - 1)
    red, green, blue = (round(a + (b - a) * share) for a, b in ((0, 190), (80, 205), (150, 220)))
    return {
        "type": "scatter", "mode": "lines", "x": [], "y": [], "text": [], "opacity": 0.8,
        "line": {"color": f"rgb({red},{green},{blue})", "width": 1.2},
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip


def _value(one: Any) -> str:
    return human(one) if isinstance(one, int | float) else str(one)


def _line(label: str, x: list[int], y: list[float | None], pen: Pen) -> Table:
    dash = "solid" if pen.dashes == SOLID else "dash"
    return {
        "type": "scatter", "mode": "lines", "name": label, "legendgroup": label, "x": x, "y": y,
        "line": {"color": pen.colour, "width": 2, "dash": dash},
        "hovertemplate": f"%{{y:,.4g}}<extra>{_safe(label)}</extra>",
    }  # fmt: skip


def _band(label: str, x: list[int], low: Any, high: Any, pen: Pen) -> Table:
    return {
        "type": "scatter", "mode": "lines", "legendgroup": label, "showlegend": False,
        "x": x + x[::-1], "y": _plain(high) + _plain(low)[::-1], "fill": "toself",
        "fillcolor": _faint(pen.colour), "line": {"width": 0}, "hoverinfo": "skip",
    }  # fmt: skip


def _layout(across: str, up: str) -> Table:
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "colorway": list(LIGHT),
        "hovermode": "x unified",
        "margin": {"t": 30, "l": 64, "r": 20, "b": 52},
        "legend": {"orientation": "h", "y": 1.12, "x": 0},
        "xaxis": {"title": {"text": across}, "zeroline": False, "automargin": True},
        "yaxis": {"title": {"text": up}, "rangemode": "tozero", "automargin": True},
    }


def _error(sd: float) -> Table:
    known = math.isfinite(sd) and sd > 0
    return {"type": "data", "array": [sd if known else 0.0], "visible": known, "thickness": 1}


def _beats(one: ComparisonRow, other: ComparisonRow) -> bool:
    """No worse in regret, payment and traffic, and better in one of them."""
    pairs = [
        (getattr(one, name).mean, getattr(other, name).mean)
        for name in ("regret", "payment", "communication")
    ]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _plain(values: Any) -> list[float | None]:
    return [finite(float(one)) for one in values]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[n : n + 2], 16) for n in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"


def _safe(text: str) -> str:
    """Plotly reads some HTML in texts, and %{...} in templates."""
    kept = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return kept.replace("%", "&#37;")
