"""Mechanisms for small worlds: their kernels are compiled there before a large one needs them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..rules.plugins import Plugin
from .base import Mechanism
from .budget_feasible import BudgetFeasible
from .cost_aware import CostAware
from .exact import Exact
from .pay_everyone import PayEveryone
from .payment_efficient import PaymentEfficient
from .payment_free import PaymentFree
from .posted_price import PostedPrice
from .shapley_split import ShapleySplit
from .truthful import Truthful

# Options with which every built-in mechanism has something to decide at costs of about 1.
_OPTIONS: dict[type[Plugin], dict[str, Any]] = {
    BudgetFeasible: {"per_round": 1.5, "total": None},
    CostAware: {"beta": 0.5},
    Exact: {"beta": 0.5},
    PayEveryone: {},
    PaymentEfficient: {"beta": 0.5},
    PaymentFree: {},
    PostedPrice: {"price": 0.5},
    ShapleySplit: {"pot": 2.0, "samples": 2},
    Truthful: {"reserve": 2.0},
}


def for_small_worlds(mechanism: Plugin) -> list[Mechanism]:
    """Mechanisms that use all kernels that this one may use; for one of the user's own, any."""
    if isinstance(mechanism, Mechanism) and type(mechanism) in _OPTIONS:
        return [replace(mechanism, **_OPTIONS[type(mechanism)])]  # type: ignore[type-var]
    return [PaymentEfficient(beta=0.5), PaymentEfficient(beta=0.5, order="ascending")]
