"""A user's recommendation log as a world."""

from .report import BadRows, Report
from .world import ReplayLog

__all__ = ["BadRows", "ReplayLog", "Report"]
