"""Charts as lines of text, for terminals and Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .numbers import tick

HEIGHT = 9  # lines of a chart
Dot = tuple[float, float, str]  # x, y, and its mark


def chart(dots: Sequence[Dot], *, width: int, across: str, root: bool = False) -> list[str]:
    """Lines of text with a mark at each (x, y); later ones cover earlier ones. With `root`, the x
    axis starts at 0 and has a square-root scale, to tell small sums apart."""
    low, high = min(y for _, y, _ in dots), max(y for _, y, _ in dots)
    least, most = (0.0 if root else min(x for x, _, _ in dots)), max(x for x, _, _ in dots)
    labels = [tick(float(f"{value:.4g}")) for value in (high, (high + low) / 2, low)]
    margin = max(map(len, labels))
    inner = max(width - margin - 3, 20)
    rows = [[" "] * inner for _ in range(HEIGHT)]
    for x, y, mark in dots:
        place = (x - least) / (most - least) if most > least else 0.0
        column = round((math.sqrt(place) if root else place) * (inner - 1))
        share = (y - low) / (high - low) if high > low else 0.5
        rows[round((1 - share) * (HEIGHT - 1))][column] = mark
    said = {HEIGHT // 2: labels[1]}
    if high > low:
        said |= {0: labels[0], HEIGHT - 1: labels[2]}
    lines = [f"{said.get(n, ''):>{margin}} │{''.join(row)}".rstrip() for n, row in enumerate(rows)]
    indent = " " * (margin + 2)
    scale = indent + _scale(least, most, inner, root)
    return [*lines, f"{'':{margin}} └{'─' * inner}", scale, indent + across]


def _scale(least: float, most: float, width: int, root: bool) -> str:
    """The numbers below the x axis."""
    line = [" "] * width
    for share in (0.0, 0.25, 0.5, 1.0) if most > least else (0.0,):
        value = least + (most - least) * (share**2 if root else share)
        text = tick(float(f"{value:.2g}"))
        at = width - len(text) if share == 1.0 else round(share * (width - 1))
        line[at : at + len(text)] = text
    return "".join(line).rstrip()
