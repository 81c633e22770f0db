"""Both sides of Algorithm 1 and its messages, without I/O."""

from .server import Closed, Server, Uploads

__all__ = ["Closed", "Server", "Uploads"]
