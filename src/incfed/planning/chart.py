"""The frontier in letters, for a terminal: money across, what it buys upwards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ..results.numbers import tick

HEIGHT = 9


class Dot(NamedTuple):
    x: float
    y: float
    mark: str


def chart(dots: Sequence[Dot], *, width: int, across: str) -> list[str]:
    """Lines of text; later dots cover earlier ones. Money is on a scale between even and
    logarithmic, with a place for zero."""
    left, top = min(dot.y for dot in dots), max(dot.y for dot in dots)
    most = max(dot.x for dot in dots)
    labels = [tick(float(f"{value:.4g}")) for value in (top, (top + left) / 2, left)]
    margin = max(map(len, labels))
    inner = max(width - margin - 3, 20)
    rows = [[" "] * inner for _ in range(HEIGHT)]
    for dot in dots:
        column = round(_place(dot.x, most) * (inner - 1))
        share = (dot.y - left) / (top - left) if top > left else 0.5
        rows[round((1 - share) * (HEIGHT - 1))][column] = dot.mark
    said = {0: labels[0], HEIGHT // 2: labels[1], HEIGHT - 1: labels[2]}
    if top == left:
        said = {HEIGHT // 2: labels[1]}
    lines = [f"{said.get(n, ''):>{margin}} │{''.join(row)}".rstrip() for n, row in enumerate(rows)]
    return [*lines, f"{'':{margin}} └{'─' * inner}", _scale(most, inner, margin, across)]


def _place(value: float, most: float) -> float:
    """From 0 to 1: as a root, so that small sums can be told apart."""
    return math.sqrt(value / most) if most > 0 else 0.0


def _scale(most: float, inner: int, margin: int, across: str) -> str:
    line = [" "] * (inner + margin + 2)
    for share in (0.0, 0.25, 0.5, 1.0):
        text = tick(float(f"{most * share**2:.2g}")) if most else "0"
        end = share == 1.0
        at = margin + 2 + round(share * (inner - 1)) - (len(text) - 1 if end else 0)
        line[at : at + len(text)] = text
        if not most:
            break
    return f"{''.join(line).rstrip()}\n{'':{margin + 2}}{across}"
