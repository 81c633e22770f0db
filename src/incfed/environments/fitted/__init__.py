"""Worlds fitted to a log."""

from .world import FittedWorld

__all__ = ["FittedWorld"]
