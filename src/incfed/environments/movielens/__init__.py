"""MovieLens as a world: users with many ratings are clients, each looking for its next movie."""

from .world import MovieLens

__all__ = ["MovieLens"]
