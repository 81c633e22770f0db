"""The commented config that `incfed init` writes."""

from __future__ import annotations

from ..rules.commented import template
from ..rules.learning import Trusting
from ..rules.members import Members
from ..rules.rounds import RoundRules
from ..rules.rule import names

RULES = (Trusting, RoundRules, Members)  # of an algorithm
GIVEN = ("mechanism", "threshold", "costs")  # by each [[algorithm]] of the file


def experiment_template() -> str:
    """The text of the file."""
    others = [name for kind in RULES for name in names(kind) if name not in GIVEN]
    return template("experiments", RULES, settings=others)
