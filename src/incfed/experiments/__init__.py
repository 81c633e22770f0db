"""Configs, sweeps over algorithms and seeds, and what is written about them.

Names are imported on first use: `incfed init` need not wait for a compiler.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .config import build, read
    from .experiment import Experiment, Job, Recipe
    from .runner import Outcome, Plan, plan, run
    from .sweeps import sweep

_HOMES = {
    "config": ("build", "read"),
    "experiment": ("Experiment", "Job", "Recipe"),
    "runner": ("Outcome", "Plan", "plan", "run"),
    "sweeps": ("sweep",),
}
_HOME_OF = {name: file for file, names in _HOMES.items() for name in names}

__all__ = [
    "Experiment",
    "Job",
    "Outcome",
    "Plan",
    "Recipe",
    "build",
    "plan",
    "read",
    "run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
