"""Configs, runs and sweeps over algorithms and seeds, and the reports on them.

Names are imported on first use: `incfed init` need not wait for a compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import Recipe
    from .engine import Outcome
    from .runs import Experiment, build, read
    from .suite import run
    from .sweeps import sweep

_HOMES = {
    "Experiment": "runs",
    "Outcome": "engine",
    "Recipe": "config",
    "build": "runs",
    "read": "runs",
    "run": "suite",
    "sweep": "sweeps",
}

__all__ = ["Experiment", "Outcome", "Recipe", "build", "read", "run", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
