"""Search for settings: what will it cost, and what should I run?

Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimating import Estimate, estimate
    from .planner import Plan, plan

_HOME_OF = {
    "Estimate": "estimating",
    "estimate": "estimating",
    "Plan": "planner",
    "plan": "planner",
}

__all__ = ["Estimate", "Plan", "estimate", "plan"]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
