"""Configs, runs and sweeps over algorithms and seeds, and the reports on them.

Names are imported on first use: `incfed init` need not wait for a compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import Recipe as Recipe
    from .engine import Outcome as Outcome
    from .runs import Experiment as Experiment
    from .runs import build as build
    from .runs import read as read
    from .suite import run as run
    from .sweeps import sweep as sweep
else:
    from .._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
