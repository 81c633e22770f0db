"""Search for settings: what will it cost, and what should I run?"""

from .estimating import Estimate, estimate
from .planner import Plan, plan

__all__ = ["Estimate", "Plan", "estimate", "plan"]
