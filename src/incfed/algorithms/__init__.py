"""Algorithms: a trigger, a mechanism and their settings."""

from .base import Algorithm
from .baselines import Centralized, DisLinUCB, Independent
from .inc_fed_ucb import IncFedUCB

__all__ = ["Algorithm", "Centralized", "DisLinUCB", "IncFedUCB", "Independent"]
