"""What a client of a served federation knows of its rules: `/v1/federation` answers with them."""

from __future__ import annotations

import math
from typing import Annotated

from .. import ranges
from ..values import Number, Whole, Word
from .learning import AUTO, Auto, Trusting
from .rounds import DIGITS, MOST_DIGITS, Terms
from .rule import rule, setting

REGISTERED, REQUIRED = "registered", "required"  # who signs


@rule(kw_only=True)
class ClientRules(Terms, Trusting):
    """How clients learn, when they share, and what they may send."""

    dim: Annotated[int, Whole(1, ranges.MOST_DIM)] = setting("d: the number of features of an arm")
    threshold: Annotated[float, Number(0.0, or_inf=True)] | None = setting(
        "D_c; None: another trigger, or clients never ask for a round", default=None
    )
    trust: Annotated[float | Auto, ranges.TRUST] | None = setting(  # type: ignore[assignment]
        "how far clients trust others that say nothing of it; None: in full",
        default=None,
        example=AUTO,
    )
    money_digits: Annotated[int, Whole(0, MOST_DIGITS)] = setting(
        "decimal digits of money, which is in whole minor units", default=DIGITS
    )
    arm_norm: ranges.Bound = setting("L: no arm is longer", default=1.0)
    reward_bound: ranges.Bound = setting("Y: no reward is larger, up or down", default=1.0)
    cost_limit: ranges.Bound = setting("no cost is larger", default=1e6)
    signatures: Annotated[str, Word((REGISTERED, REQUIRED))] = setting(
        "who signs: who has a key, or all", default=REGISTERED
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("threshold", "trust"):  # JSON has no infinity
            if getattr(self, name) == math.inf:
                object.__setattr__(self, name, None)
