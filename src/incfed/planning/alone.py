"""Learning alone, with which every plan is compared: its settings are chosen too, so that sharing
does not look better than it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..algorithms import Independent
from .space import CONSTANT, RIDGE, Setting, Space

ALPHAS, RIDGES = (0.0, 0.1, 0.3, 1.0), (RIDGE, 1.0)  # tried, as far as the space has them
KEYS = {one.name for one in fields(Independent)}
Rules = Mapping[str, Any]  # an [[algorithm]] table


def rules_of(setting: Setting, fixed: Rules) -> Rules:
    """Learning alone as this setting learns; `fixed` is [algorithm]."""
    table = setting.table(fixed, 0.0)
    return {"kind": "Independent", **{key: table[key] for key in table if key in KEYS}}


def candidates(space: Space, chosen: Setting, fixed: Rules) -> list[Rules]:
    """Ways to learn alone: as the chosen setting does, and some others of the search space."""
    any_of = (next(iter(space.candidates)), space.triggers[0], space.downloads[0])
    settings = [chosen] + [
        space.make(*any_of, width, ridge=ridge, exploration=alpha)
        for width in space.widths
        for ridge in RIDGES
        for alpha in (ALPHAS if width == CONSTANT else ALPHAS[:1])
    ]
    found: list[Rules] = []
    for setting in settings:
        rules = rules_of(setting, fixed)
        if rules not in found:
            found.append(rules)
    return found


def named(rules: Rules) -> str:
    """ "nobody shares, alpha 0.1, lambda 0.1"."""
    parts = ["nobody shares"]
    if "exploration" in rules:
        parts.append(f"alpha {rules['exploration']:g}")
    elif "width" in rules:
        parts.append(str(rules["width"]))
    if "width_scale" in rules:
        parts.append(f"width x {rules['width_scale']:g}")
    return ", ".join([*parts, f"lambda {rules['ridge']:g}"])
