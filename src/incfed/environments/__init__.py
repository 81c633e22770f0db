"""Who acts, which arms it sees, what each would pay."""

from .base import Events, Stream, World
from .movielens import MovieLens
from .synthetic import Synthetic
from .trace import Trace

__all__ = ["Events", "MovieLens", "Stream", "Synthetic", "Trace", "World"]
