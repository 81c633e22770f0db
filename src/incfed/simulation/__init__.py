"""Simulation of a whole federation in one process."""

from .comparing import compare
from .federation import Federation
from .members import Member
from .simulator import Simulation, simulate

__all__ = ["Federation", "Member", "Simulation", "compare", "simulate"]
