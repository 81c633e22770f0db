"""The commented case that `incfed init --plan` writes, and which rules a case may fix."""

from __future__ import annotations

from ..rules.commented import template
from ..rules.learning import Trusting
from ..rules.members import Members
from ..rules.rounds import RoundRules
from ..rules.rule import names

RULES = (Trusting, RoundRules, Members)
# Of these [algorithm] says nothing: they are searched, or limited, or the case's own.
OWN = {
    "mechanism", "threshold", "trigger", "ridge", "costs", "reports", "budget", "money_digits",
    "limits", "share_from", "privacy", "policy",
}  # fmt: skip
FIXED = tuple(name for kind in RULES for name in names(kind) if name not in OWN)


def case_template() -> str:
    """The text of the file."""
    return template("planning", RULES, OWN)
