"""Numbers as people read them: 29.7, 1,234, 7.6 M; and a mean with its spread."""

from __future__ import annotations

import math
from typing import Any

UNKNOWN = "\N{EN DASH}"


def human(value: float) -> str:
    """Three digits where there are decimals, thousands separated, then millions and above."""
    value = float(value)
    if math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if 0 < abs(value) < 1e-3:
        return f"{value:.3g}"
    scale, unit = _unit(value)
    whole = value.is_integer()
    return _digits(value / scale, 1 if unit else 0 if whole else _decimals(value)) + unit


def human_spread(mean: float, sd: float) -> tuple[str, str, str]:
    """A mean and its spread in the same unit and with the same decimals: ("7.61", "0.21", " M").

    The spread is empty where there is none (one run only).
    """
    if not (math.isfinite(mean) and math.isfinite(sd)):
        return human(mean), "", ""
    size = max(abs(mean), sd)
    scale, unit = _unit(size)
    if unit:
        places = 2
    elif float(mean).is_integer() and float(sd).is_integer():
        places = 0
    else:  # "123 ± 3" would hide too much
        places = max(_decimals(size), 1 if size < 1000 and sd < 9.95 else 0)
    return _digits(mean / scale, places), _digits(sd / scale, places), unit


def percent_spread(mean: float, sd: float) -> tuple[str, str, str]:
    """As `human_spread`, for a share of 1: ("64", "3", " %")."""
    if math.isnan(mean):
        return UNKNOWN, "", ""
    return f"{100 * mean:.0f}", "" if math.isnan(sd) else f"{100 * sd:.0f}", " %"


def finite(value: Any) -> Any:
    """The value for JSON: None in place of NaN and infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def tick(value: float, _: object = None) -> str:
    """A number on an axis, as short as possible: 2.5k, 10M. (matplotlib passes a position, too.)"""
    for scale, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{value / scale:.4g}{unit}"
    return f"{value:.4g}"


def _unit(value: float) -> tuple[float, str]:
    for scale, unit in ((1e12, " T"), (1e9, " B"), (1e6, " M")):
        if round(abs(value)) >= scale:
            return scale, unit
    return 1.0, ""


def _decimals(value: float) -> int:
    """Places after the point for three digits in all; none from 100 on."""
    size = abs(value)
    return 0 if size >= 99.95 else max(1, 2 - math.floor(math.log10(max(size, 1e-6))))


def _digits(value: float, places: int) -> str:
    text = f"{value:,.{places}f}"
    return text if float(text.replace(",", "")) else text.lstrip("-")  # no "-0"
