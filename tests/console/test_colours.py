"""The page's colours: readable in the light and in the dark, and told apart by colour-blind
readers."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from incfed.results.palette import DARK, LIGHT

STATIC = files("incfed.console") / "static"
STYLE = (STATIC / "console.css").read_text(encoding="utf-8")
THEMES = ("light", "dark")
MARKS = ("data", "money", "free", "passed")  # why clients shared: side by side in one bar
# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
SIMULATED = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
    "nobody": np.eye(3).tolist(),
}  # fmt: skip


def colours(theme: str) -> dict[str, str]:
    block = STYLE.split(':root[data-theme="dark"]')[theme == "dark"].split("}")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


def linear(colour: str) -> np.ndarray:
    share = np.array([int(colour[n : n + 2], 16) for n in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Of WCAG 2.2."""
    a, b = (float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """Of linear RGB: CIE L*a*b*, where a distance of 2 is just noticed."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    t = xyz @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("theme", THEMES)
def test_text_is_readable(theme: str) -> None:
    known = colours(theme)
    for ink in ("ink", "muted", "accent", "good", "warn", "bad"):
        for ground in ("page", "card", "soft"):
            assert contrast(known[ink], known[ground]) >= 4.5, (ink, ground)
    assert contrast(known["accent-ink"], known["accent"]) >= 4.5
    assert contrast(known["card"], known["bad"]) >= 4.5  # the banner of a lost connection


@pytest.mark.parametrize("theme", THEMES)
def test_marks_and_edges_of_controls_are_seen(theme: str) -> None:
    known = colours(theme)
    for mark in (*MARKS, "edge"):
        assert contrast(known[mark], known["card"]) >= 3.0, mark


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("reader", SIMULATED)
def test_reasons_are_told_apart(theme: str, reader: str) -> None:
    known = colours(theme)
    seen = {mark: lab(SIMULATED[reader] @ linear(known[mark])) for mark in MARKS}
    for one, other in combinations(MARKS, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 15, (one, other)


def test_charts_have_the_shades_of_the_palette() -> None:
    said = dict(re.findall(r'"(#\w{6})": "(#\w{6})"', (STATIC / "charts.js").read_text("utf-8")))
    assert {light: said[light] for light in LIGHT} == dict(zip(LIGHT, DARK, strict=True))
