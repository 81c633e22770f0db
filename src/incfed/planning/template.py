"""The commented case that `incfed init --plan` writes, and which rules a case may fix."""

from __future__ import annotations

from ..experiments.template import RULES
from ..rules.commented import template
from ..rules.rule import names

# Rules that are searched, beside mechanism, trigger and lambda, unless a case fixes them;
VARIED = ("download", "width", "exploration", "width_scale", "trust")
# those of which a case says nothing: they are limited, or searched otherwise, or the case's own;
OWN = {
    "mechanism", "threshold", "trigger", "ridge", "costs", "reports", "budget", "money_digits",
    "limits", "share_from", "privacy", "policy",
}  # fmt: skip
# and all that a case may fix.
FIXED = tuple(name for kind in RULES for name in names(kind) if name not in OWN)


def case_template() -> str:
    """The text of the file."""
    assumed = [name for name in FIXED if name not in VARIED]
    return template("planning", RULES, assumed=assumed, searched=VARIED)
