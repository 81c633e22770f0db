"""MovieLens as a world: users with many ratings are the clients."""

from .world import MovieLens

__all__ = ["MovieLens"]
