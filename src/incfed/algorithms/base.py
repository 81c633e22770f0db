"""The base class of algorithms: everything that the simulator needs to know of one."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..kernels.factor import Floats
from ..kernels.store import thin_limit
from ..kernels.ucb import Rules
from ..mechanisms.base import Mechanism
from ..mechanisms.pay_everyone import PayEveryone
from ..support import inputs


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """How each client learns and chooses: ridge regression and an upper confidence bound (Eq. 2).

    ridge, noise, delta are lambda, sigma and delta of the paper. `exploration`: a number to use as
    alpha instead of its formula. `reads`: "fresh" chooses with the client's current model; "stale"
    with the model as it was after the client's own last step, which gives the paper's published
    figures.
    """

    ridge: float = 0.1
    noise: float = 0.1
    delta: float = 0.1
    exploration: float | None = None
    reads: str = "fresh"

    def __post_init__(self) -> None:
        for name in ("ridge", "noise", "delta"):
            inputs.setting(name, getattr(self, name))
        if self.exploration is not None:
            inputs.setting("exploration", self.exploration)
        inputs.choice("reads", self.reads, ("fresh", "stale"))

    @property
    def d_c(self) -> float:
        """D_c, the threshold of the trigger; infinite: no round is ever triggered."""
        return math.inf

    @property
    def pays(self) -> Mechanism:
        """The mechanism that decides a round."""
        return PayEveryone()

    @property
    def pooled(self) -> bool:
        """Whether every step is shared at once, so that all clients act as one."""
        return False

    @property
    def all_clocks(self) -> bool:
        """Whether a round restarts every client's clock, not only the participants'."""
        return True

    def prices(self, count: int) -> Floats:
        """D^p of each of `count` clients."""
        return np.zeros(count)

    def rules(self, dim: int) -> Rules:
        return Rules(
            ridge=float(self.ridge),
            noise=float(self.noise),
            surprise=2.0 * math.log(1.0 / self.delta),
            exploration=math.nan if self.exploration is None else float(self.exploration),
            threshold=float(self.d_c),
            limit=thin_limit(dim),
        )

    def settings(self) -> dict[str, Any]:
        """The settings that a result records."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name, value in values.items():
            if isinstance(value, Mechanism):
                values[name] = value.settings()
        return {"kind": type(self).__name__, **values}
