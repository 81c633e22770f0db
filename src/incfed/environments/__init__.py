"""Who acts, which arms it sees, what each would pay."""

from .base import Events, Stream, World
from .synthetic import Synthetic
from .trace import Trace

__all__ = ["Events", "Stream", "Synthetic", "Trace", "World"]
