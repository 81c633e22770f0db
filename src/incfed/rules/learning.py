"""How a client learns and chooses: ridge regression and an upper confidence bound (Eq. 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from .. import ranges
from ..configured import Configured
from ..errors import refuse
from ..values import EachTrust, Word
from .plugins import Plugin
from .rule import rule, setting

Auto = Literal["auto"]
AUTO: Auto = "auto"
OF_UCB = ("exploration", "reads", "width", "width_scale")  # what an own policy takes the place of


@rule(kw_only=True)
class Learning(Configured):
    """The settings of a client's learner."""

    ridge: ranges.Ridge = setting("lambda of the paper", default=0.1)
    noise: ranges.Noise = setting(
        "sigma, the noise of rewards that the confidence bound assumes", default=0.1
    )
    delta: ranges.Delta = setting(
        "the probability with which the confidence bound may fail", default=0.1
    )
    exploration: ranges.Exploration | None = setting(
        "a number to use as alpha instead of its formula", default=None, example=0.5
    )
    reads: Annotated[str, Word(("fresh", "stale"))] = setting(
        '"fresh" chooses with the client\'s current model; "stale" with the model as it was after '
        "the client's own last step, which gives the paper's published figures",
        default="fresh",
        served=False,
    )
    width: Annotated[str, Word(("paper", "mixture"))] = setting(
        'the formula of alpha, "paper" (Eq. 2) or "mixture", the radius of the method of mixtures, '
        "which is never larger",
        default="paper",
    )
    width_scale: ranges.WidthScale = setting("multiplies the formula of alpha", default=1.0)
    policy: Plugin | None = setting(
        "a policy of your own, which says how a client chooses and learns (docs/extending.md); "
        "None: the upper confidence bound of Eq. 2",
        default=None,
        example={"kind": "my_file.py:Mine"},
        served=False,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exploration is not None and self.width_scale != 1.0:
            allowed = "left out: exploration takes the place of the formula"
            raise refuse("width_scale", self.width_scale, allowed)
        if self.policy is not None:
            for name in OF_UCB:
                value, usual = getattr(self, name), getattr(Learning, name)
                if value != usual:
                    allowed = "left out: policy takes the place of the upper confidence bound"
                    raise refuse(name, value, allowed)


@rule(kw_only=True)
class Trusting(Learning):
    """And how far clients trust each other (docs/trust.md)."""

    trust: Annotated[float | str | Sequence[float], EachTrust(ranges.TRUST)] = setting(
        "for how many observations, in any direction, the data of others counts at most. A number, "
        'one per client, or "auto": each client finds it out. Infinity is the paper: all clients '
        "are alike. With 0 each learns alone",
        default=math.inf,
        example=AUTO,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trust == AUTO and self.reads != "fresh":
            raise refuse("trust", AUTO, 'a number where reads is "stale"')
