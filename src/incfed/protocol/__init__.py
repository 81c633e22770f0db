"""When to talk, who talks and who gets the model; both sides of a round, without I/O."""

from .server import Closed, Server, Uploads
from .triggers import GrowthRatio, News, Patient, Threshold, Trigger

__all__ = [
    "Closed",
    "GrowthRatio",
    "News",
    "Patient",
    "Server",
    "Threshold",
    "Trigger",
    "Uploads",
]
