"""Who takes part in a round, and what each participant is paid; one mechanism per file."""

from .base import Coalition, Decision, Mechanism, MechanismError, Round
from .checks import check_mechanism
from .pay_everyone import PayEveryone
from .payment_efficient import PaymentEfficient
from .payment_free import PaymentFree
from .truthful import Truthful

__all__ = [
    "Coalition",
    "Decision",
    "Mechanism",
    "MechanismError",
    "PayEveryone",
    "PaymentEfficient",
    "PaymentFree",
    "Round",
    "Truthful",
    "check_mechanism",
]
