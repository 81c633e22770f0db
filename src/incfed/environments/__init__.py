"""Worlds: which client acts, which arms it sees, and the reward of each arm."""

from .base import Events, Stream, World
from .bootstrap import RepeatedEvents
from .checks import check_world
from .env import Env
from .fitted import FittedWorld
from .logs import BadRows, ReplayLog
from .movielens import MovieLens
from .synthetic import Synthetic
from .trace import Trace

__all__ = [
    "BadRows",
    "Env",
    "Events",
    "FittedWorld",
    "MovieLens",
    "RepeatedEvents",
    "ReplayLog",
    "Stream",
    "Synthetic",
    "Trace",
    "World",
    "check_world",
]
