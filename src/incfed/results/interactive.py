"""Plotly figures as plain tables: the console draws them, and notebooks, the same ones.

Backgrounds are transparent and inks are left to the page, so that they suit light and dark. No
WebGL traces: a strict page does not allow what they need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..support.extras import needs
from ..values import Word
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
NAMED = 7  # points at most that have names and colours of their own
SCALE = [[0.0, "#eaf3fb"], [0.5, "#6aaed6"], [1.0, "#0b3c6f"]]  # one hue: safe for all readers
LEVELS = 24  # steps of a scale of colours
LEAST_RANGE = 0.05  # of the largest value: smaller differences keep similar colours
GREY = LIGHT[-1]
LONGEST = 40  # letters of a name in a chart
LETTER, LINE = 0.0095, 0.09  # of a name: the width of a letter, its height, as shares of a chart
PLACES = (  # of a name beside its point: how far right and up it is
    ("top center", 0, 1), ("bottom center", 0, -1), ("middle right", 1, 0),
    ("top right", 1, 1), ("bottom right", 1, -1), ("middle left", -1, 0),
)  # fmt: skip
AXES = {  # titles of axes, with units
    "regret": "Regret",
    "reward": "Reward",
    "gain": "Reward, times that of a random policy",
    "communication": "Traffic (scalars)",
    "packed": "Packed traffic (scalars)",
    "payment": "Paid (money)",
    "rounds": "Rounds",
    "participation": "Participation (share of clients)",
}


def curves(runs: Runs, metric: str, *, pens: Pens | None = None) -> Table:
    """One metric over the steps: the mean over seeds, and one standard deviation as a band."""
    Word(METRICS).of("metric", metric)
    chosen = {**pens_for(checked(runs)), **(pens or {})}
    data: list[Table] = []
    for label, results in runs.items():
        line = curve(results, metric)
        if line.empty:
            continue
        x, pen = [int(step) for step in line.x], chosen[label]
        low, high = band(line, metric)
        if any(math.isfinite(sd) for sd in line.sd):
            data.append(_band(label, x, low, high, pen))
        data.append(_line(label, x, _plain(line.mean), pen))
    title, note = TITLES[metric]
    return {"data": data, "layout": _layout("Step", f"{title} ({note})")}


def tradeoff(rows: Sequence[ComparisonRow]) -> Table:
    """Payment against regret, the size is traffic. Settings that no other one beats in all three
    are filled; the others are only rings."""
    known = [row for row in rows if math.isfinite(row.regret.mean)]
    most = max((row.communication.mean for row in known), default=0.0) or 1.0
    efficient = {row.label for row in known if not any(_beats(other, row) for other in known)}
    pens, few = pens_for(row.label for row in known), len(known) <= NAMED
    places = _free_places(known) if few else {}
    data = []
    for row in sorted(known, key=lambda row: row.label in efficient):  # those on top
        good = row.label in efficient
        colour = pens[row.label].colour if few else LIGHT[0] if good else GREY
        share = math.sqrt(max(0.0, row.communication.mean) / most)
        data.append(
            {
                "type": "scatter",
                "mode": "markers+text" if row.label in places else "markers",
                "name": safe(_cut(row.label)),
                "x": [finite(row.payment.mean)],
                "y": [finite(row.regret.mean)],
                "error_x": _error(row.payment.sd, colour),
                "error_y": _error(row.regret.sd, colour),
                "text": [safe(_cut(row.label))],
                "textposition": places.get(row.label, "top center"),
                "cliponaxis": False,
                "showlegend": False,
                "marker": {
                    "size": SMALLEST + (LARGEST - SMALLEST) * share,
                    "color": colour,
                    "opacity": 0.9,
                    "symbol": "circle" if good else "circle-open",
                    "line": {"width": 2, "color": colour},
                },
                "hovertemplate": (
                    f"<b>{safe(_cut(row.label))}</b><br>regret %{{y:,.4g}}<br>paid %{{x:,.4g}}"
                    f"<br>{human(row.communication.mean)} scalars sent"
                    f"<br>{'efficient' if good else 'not efficient'}<extra></extra>"
                ),
            }
        )
    data += [_key("efficient", "circle"), _key("not efficient", "circle-open")]
    layout = _layout(AXES["payment"], AXES["regret"])
    layout["hovermode"] = "closest"
    layout["legend"]["title"] = {"text": "Size: scalars sent.  "}
    layout["meta"] = {"efficient": [row.label for row in known if row.label in efficient]}
    for axis in ("xaxis", "yaxis"):  # so that no circle is cut at 0
        layout[axis]["rangemode"] = "normal"
    return {"data": data, "layout": layout}


def _key(words: str, symbol: str) -> Table:
    """An entry of the legend without points."""
    return {
        "type": "scatter", "mode": "markers", "name": words, "x": [None], "y": [None],
        "marker": {"symbol": symbol, "size": 12, "color": GREY, "line": {"width": 2}},
        "hoverinfo": "skip",
    }  # fmt: skip


def _free_places(rows: Sequence[ComparisonRow]) -> dict[str, str]:
    """Where the names of points have room, best regret first; a name without room is left out."""
    spans = [
        (max(values) - min(values)) or 1.0
        for values in zip(*((row.payment.mean, row.regret.mean) for row in rows), strict=True)
    ]
    found: dict[str, str] = {}
    taken: list[tuple[float, float, float]] = []  # the middle of a name, and half its width
    for row in sorted(rows, key=lambda row: row.regret.mean):
        x, y = row.payment.mean / spans[0], row.regret.mean / spans[1]
        half = LETTER * min(len(row.label), LONGEST) / 2
        for words, right, up in PLACES:
            middle = x + right * (half + 0.03), y + up * LINE
            if all(
                abs(middle[0] - a) > half + wide or abs(middle[1] - b) > LINE
                for a, b, wide in taken
            ):
                found[row.label] = words
                taken.append((*middle, half))
                break
    return found


def heat_map(
    across: tuple[str, Sequence[Any]], down: tuple[str, Sequence[Any]],
    values: Sequence[Sequence[float | None]], metric: str,
) -> Table:  # fmt: skip
    """A figure over two parameters, with its values in the cells and a scale beside them."""
    low, high = _range([value for row in values for value in row if value is not None])
    cells = [["" if value is None else human(value) for value in row] for row in values]
    shared = {
        "type": "heatmap", "colorscale": SCALE, "zmin": low, "zmax": high,
        "xgap": 2,  # without gaps, Plotly scales an image by a style, which strict pages forbid
        "showscale": False,  # its own scale needs styles, too
    }  # fmt: skip
    data = {
        **shared,
        "x": [safe(str(value)) for value in across[1]],
        "y": [safe(str(value)) for value in down[1]],
        "z": [list(row) for row in values],
        "text": cells,
        "texttemplate": "%{text}",
        "ygap": 2,
        "hovertemplate": (
            f"{safe(across[0])} %{{x}}<br>{safe(down[0])} %{{y}}<br>{metric} %{{text}}"
            "<extra></extra>"
        ),
    }
    levels = [low + (high - low) * n / (LEVELS - 1) for n in range(LEVELS)]
    scale = {
        **shared, "x": [0], "y": levels, "z": [[level] for level in levels], "ygap": 0.5,
        "xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip", "name": "scale",
    }  # fmt: skip
    layout = _layout(safe(across[0]), safe(down[0]))
    layout["xaxis"] |= {"type": "category", "domain": [0.0, 0.9], "showgrid": False}
    layout["yaxis"] |= {"type": "category", "showgrid": False}
    layout["xaxis2"] = {"domain": [0.93, 0.96], "visible": False, "fixedrange": True}
    ticks = [low + (high - low) * n / 4 for n in range(5)]
    layout["yaxis2"] = {
        "anchor": "x2", "side": "right", "fixedrange": True, "showgrid": False, "zeroline": False,
        "tickvals": ticks, "ticktext": [human(tick) for tick in ticks], "automargin": True,
        "title": {"text": AXES.get(metric, metric)},
    }  # fmt: skip
    layout["hovermode"] = "closest"
    return {"data": [data, scale], "layout": layout}


def _range(values: Sequence[float]) -> tuple[float, float]:
    """The range of a colour scale. Values that hardly differ keep similar colours."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    lacking = LEAST_RANGE * max(abs(low), abs(high)) - (high - low)
    if lacking > 0 or high == low:
        spare = max(lacking, 1e-9) / 2
        return low - spare, high + spare
    return low, high


def frontier(points: Sequence[Mapping[str, Any]], across: str, up: str) -> Table:
    """The frontier of what money buys: held-out means with 95 % intervals, by rising `across`.
    Those that do not improve on a cheaper one are dots beside the line."""
    best = [point for point in points if point["improves"]]
    rest = [point for point in points if point not in best]
    layout = _layout(AXES.get(across, across), AXES.get(up, up))
    layout["hovermode"] = "closest"
    data = [
        _points(some, across, up, mode, faint)
        for some, mode, faint in ((best, "lines+markers", 1.0), (rest, "markers", 0.45))
        if some
    ]
    return {"data": data, "layout": layout}


def _points(
    points: Sequence[Mapping[str, Any]], across: str, up: str, mode: str, opacity: float
) -> Table:
    x, y = [point[across] for point in points], [point[up] for point in points]
    return {
        "type": "scatter", "mode": mode, "x": [interval["mean"] for interval in x],
        "y": [interval["mean"] for interval in y], "line": {"color": LIGHT[0], "shape": "hv"},
        "marker": {"size": 9, "color": LIGHT[0]}, "opacity": opacity, "showlegend": False,
        "hovertemplate": f"paid %{{x:,.4g}}<br>{up} %{{y:,.4g}}<extra></extra>",
        "error_y": {
            "type": "data", "symmetric": False, "thickness": 1,
            "array": [interval["high"] - interval["mean"] for interval in y],
            "arrayminus": [interval["mean"] - interval["low"] for interval in y],
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


def _line(label: str, x: list[int], y: list[float | None], pen: Pen) -> Table:
    return {
        "type": "scatter", "mode": "lines", "name": safe(_cut(label)), "legendgroup": label,
        "x": x, "y": y,
        "line": {"color": pen.colour, "width": 2, "dash": _dash(pen)},
        "hovertemplate": f"%{{y:,.4g}}<extra>{safe(label)}</extra>",
    }  # fmt: skip


def _dash(pen: Pen) -> str:
    """As Plotly writes dashes: in pixels, of a line that is two wide."""
    if pen.dashes == SOLID:
        return SOLID
    return ",".join(f"{2.0 * length:g}px" for length in pen.dashes[1])


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
        "margin": {"t": 16, "l": 64, "r": 20, "b": 52},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "xaxis": {"title": {"text": across}, "zeroline": False, "automargin": True},
        "yaxis": {"title": {"text": up}, "rangemode": "tozero", "automargin": True},
    }


def _error(sd: float, colour: str) -> Table:
    known = math.isfinite(sd) and sd > 0
    return {
        "type": "data", "array": [sd if known else 0.0], "visible": known, "thickness": 1,
        "width": 3, "color": colour,
    }  # fmt: skip


def _beats(one: ComparisonRow, other: ComparisonRow) -> bool:
    """No worse in regret, payment and traffic, and better in one of them."""
    pairs = [
        (getattr(one, name).mean, getattr(other, name).mean)
        for name in ("regret", "payment", "communication")
    ]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _plain(values: Any) -> list[float | None]:
    return [finite(float(value)) for value in values]


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[n : n + 2], 16) for n in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"


def safe(text: str) -> str:
    """Plotly reads some HTML in texts, and %{...} in templates."""
    kept = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return kept.replace("%", "&#37;")
