"""The commented config that `incfed init` writes."""

from __future__ import annotations

from ..rules.commented import template
from ..rules.learning import Trusting
from ..rules.members import Members
from ..rules.rounds import RoundRules

GIVEN = ("mechanism", "threshold", "costs")  # by each [[algorithm]] of the file


def experiment_template() -> str:
    """The text of the file."""
    return template("experiments", (Trusting, RoundRules, Members), GIVEN)
