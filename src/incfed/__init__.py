"""Incentivized federated bandits: clients learn together, and share when it pays.

Names are imported on first use, so that `import incfed` and the command line start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .algorithms import (
        Algorithm,
        AsyncLinUCB,
        Centralized,
        DisLinUCB,
        FedLinUCB,
        IncFedUCB,
        Independent,
        LinUCB,
        thresholds,
    )
    from .environments import (
        BadRows,
        Env,
        Events,
        MovieLens,
        ReplayLog,
        Stream,
        Synthetic,
        Trace,
        World,
        check_world,
    )
    from .experiments import sweep
    from .mechanisms import (
        BudgetFeasible,
        CostAware,
        Decision,
        Exact,
        Mechanism,
        MechanismError,
        PayEveryone,
        PaymentEfficient,
        PaymentFree,
        PostedPrice,
        Round,
        ShapleySplit,
        Truthful,
        check_mechanism,
    )
    from .planning import Estimate, Plan, estimate, plan
    from .protocol import (
        BestResponse,
        Colluding,
        DrawnCosts,
        DriftingCosts,
        GrowthRatio,
        Limits,
        News,
        Patient,
        Privacy,
        Refusing,
        Shading,
        Threshold,
        Trigger,
        Withholding,
    )
    from .results import Comparison, Result, load
    from .service.client.client import Client
    from .simulation import Federation, Simulation, compare, simulate
    from .support.inputs import InputError

_HOMES = {
    "algorithms": (
        "Algorithm",
        "AsyncLinUCB",
        "Centralized",
        "DisLinUCB",
        "FedLinUCB",
        "IncFedUCB",
        "Independent",
        "LinUCB",
    ),
    "environments": (
        "BadRows",
        "Env",
        "Events",
        "MovieLens",
        "ReplayLog",
        "Stream",
        "Synthetic",
        "Trace",
        "World",
        "check_world",
    ),
    "experiments": ("sweep",),
    "support.inputs": ("InputError",),
    "mechanisms": (
        "BudgetFeasible",
        "CostAware",
        "Decision",
        "Exact",
        "Mechanism",
        "MechanismError",
        "PayEveryone",
        "PaymentEfficient",
        "PaymentFree",
        "PostedPrice",
        "Round",
        "ShapleySplit",
        "Truthful",
        "check_mechanism",
    ),
    "planning": ("Estimate", "Plan", "estimate", "plan"),
    "protocol": (
        "BestResponse",
        "Colluding",
        "DrawnCosts",
        "DriftingCosts",
        "GrowthRatio",
        "Limits",
        "News",
        "Patient",
        "Privacy",
        "Refusing",
        "Shading",
        "Threshold",
        "Trigger",
        "Withholding",
    ),
    "results": ("Comparison", "Result", "load"),
    "service.client.client": ("Client",),
    "simulation": ("Federation", "Simulation", "compare", "simulate"),
}
_HOME_OF = {name: room for room, names in _HOMES.items() for name in names}

__all__ = [
    "Algorithm",
    "AsyncLinUCB",
    "BadRows",
    "BestResponse",
    "BudgetFeasible",
    "Centralized",
    "Client",
    "Colluding",
    "Comparison",
    "CostAware",
    "Decision",
    "DisLinUCB",
    "DrawnCosts",
    "DriftingCosts",
    "Env",
    "Estimate",
    "Events",
    "Exact",
    "FedLinUCB",
    "Federation",
    "GrowthRatio",
    "IncFedUCB",
    "Independent",
    "InputError",
    "Limits",
    "LinUCB",
    "Mechanism",
    "MechanismError",
    "MovieLens",
    "News",
    "Patient",
    "PayEveryone",
    "PaymentEfficient",
    "PaymentFree",
    "Plan",
    "PostedPrice",
    "Privacy",
    "Refusing",
    "ReplayLog",
    "Result",
    "Round",
    "Shading",
    "ShapleySplit",
    "Simulation",
    "Stream",
    "Synthetic",
    "Threshold",
    "Trace",
    "Trigger",
    "Truthful",
    "Withholding",
    "World",
    "__version__",
    "check_mechanism",
    "check_world",
    "compare",
    "estimate",
    "load",
    "plan",
    "simulate",
    "sweep",
    "thresholds",
]


def __getattr__(name: str) -> Any:
    if name == "thresholds":
        value: Any = import_module(".algorithms.thresholds", __name__)
    elif name in _HOME_OF:
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
