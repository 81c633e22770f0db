"""Simulation of a whole federation in one process."""

from .compare import compare
from .simulator import Simulation, simulate

__all__ = ["Simulation", "compare", "simulate"]
