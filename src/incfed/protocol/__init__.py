"""When to talk, who talks and who gets the model; both sides of a round, without I/O."""

from ..rules.limits import Limits
from ..rules.privacy import Privacy
from .open_round import Closed, OpenRound, Server, Uploads
from .policies import ClientModel, Policy
from .policy_checks import check_policy
from .strategy import (
    BestResponse,
    Colluding,
    DrawnCosts,
    DriftingCosts,
    Refusing,
    Shading,
    Withholding,
)
from .triggers import ActingClient, GrowthRatio, News, Patient, Threshold, Trigger

__all__ = [
    "ActingClient",
    "BestResponse",
    "ClientModel",
    "Closed",
    "Colluding",
    "DrawnCosts",
    "DriftingCosts",
    "GrowthRatio",
    "Limits",
    "News",
    "OpenRound",
    "Patient",
    "Policy",
    "Privacy",
    "Refusing",
    "Server",
    "Shading",
    "Threshold",
    "Trigger",
    "Uploads",
    "Withholding",
    "check_policy",
]
