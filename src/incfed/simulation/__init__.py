"""Simulation of a whole federation in one process."""

from .simulator import Simulation, simulate

__all__ = ["Simulation", "simulate"]
