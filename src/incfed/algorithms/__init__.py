"""Algorithms: a protocol, a mechanism and their settings."""

from .asynchronous import AsyncLinUCB, FedLinUCB
from .base import Algorithm
from .baselines import Centralized, DisLinUCB, Independent
from .inc_fed_ucb import IncFedUCB
from .lin_ucb import LinUCB, Prediction

__all__ = [
    "Algorithm",
    "AsyncLinUCB",
    "Centralized",
    "DisLinUCB",
    "FedLinUCB",
    "IncFedUCB",
    "Independent",
    "LinUCB",
    "Prediction",
]
