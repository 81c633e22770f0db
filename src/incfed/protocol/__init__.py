"""Algorithm 1 without I/O."""

from .server import Closed, Server, Uploads

__all__ = ["Closed", "Server", "Uploads"]
