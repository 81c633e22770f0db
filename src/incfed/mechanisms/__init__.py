"""Who takes part in a round, and what each participant is paid; one mechanism per file."""

from .base import Coalition, Decision, Mechanism, MechanismError, Round
from .budget_feasible import BudgetFeasible
from .checks import check_mechanism
from .cost_aware import CostAware
from .exact import Exact
from .pay_everyone import PayEveryone
from .payment_efficient import PaymentEfficient
from .payment_free import PaymentFree
from .posted_price import PostedPrice
from .shapley_split import ShapleySplit
from .truthful import Truthful

__all__ = [
    "BudgetFeasible",
    "Coalition",
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
]
