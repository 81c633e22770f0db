"""Ranges of settings: wide enough for every use, and narrow enough that nothing overflows.

V has entries of up to ridge + steps * |x|^2, and squares of costs are summed.
"""

from __future__ import annotations

from .support.inputs import number

MOST_STEPS = 10**12  # a longer run would not finish
MOST_DIM = 1000  # of a federation: larger matrices exceed its message size
LARGEST = 1e100  # absolute value of a feature or a reward
RANGES = {
    "ridge": (1e-12, 1e12),
    "noise": (0.0, 1e12),
    "delta": (1e-100, 1.0),  # 1 excluded
    "exploration": (0.0, 1e12),
    "width_scale": (0.0, 1e12),
    "trust": (0.0, 1e100),  # or infinite
    "cost": (0.0, 1e100),
    "budget": (0.0, 1e100),
}


def check(kind: str, value: object, name: str = "") -> float:
    """`value` as a float in the range of this kind of setting; `name` if the field has another."""
    low, high = RANGES[kind]
    return number(name or kind, value, low=low, high=high, open_high=kind == "delta")
