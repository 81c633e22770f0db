"""Colours that colour-blind readers can tell apart (Okabe and Ito), one for each algorithm.

Each has a second shade for dark pages. Beyond seven labels the colours repeat with dashed lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b")
DARK = ("#4aa8e0", "#f0803c", "#2fc79b", "#e29cc3", "#f2b93b", "#8fd0f5", "#a8a8a8")

INK, MUTED, GRID = "#24292f", "#57606a", "#d8dee4"

Dashes = Literal["solid"] | tuple[float, tuple[float, ...]]
SOLID: Literal["solid"] = "solid"
_DASHES: tuple[Dashes, ...] = (SOLID, (0.0, (5.0, 2.0)), (0.0, (1.5, 1.5)))


@dataclass(frozen=True)
class Pen:
    """How an algorithm is drawn, everywhere in a report."""

    colour: str
    dashes: Dashes = SOLID


Pens = Mapping[str, Pen]


def pens_for(labels: Iterable[str]) -> dict[str, Pen]:
    """A pen for each label, in order of first appearance."""
    unique = list(dict.fromkeys(labels))
    return {
        label: Pen(LIGHT[n % len(LIGHT)], _DASHES[n // len(LIGHT) % len(_DASHES)])
        for n, label in enumerate(unique)
    }
