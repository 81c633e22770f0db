"""What a federation agrees on, as the coordinator tells it to a client."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...kernels.store import thin_limit
from ...kernels.ucb import Rules
from ...support import inputs


class Terms(NamedTuple):
    dim: int
    ridge: float
    noise: float
    delta: float
    exploration: float | None
    threshold: float
    arm_norm: float
    reward_bound: float
    cost_limit: float
    client: int  # its id there
    name: str
    federation: str  # its identity: a folder belongs to one

    @classmethod
    def read(cls, said: Any) -> Terms:
        """From JSON; InputError where it cannot be."""
        if not isinstance(said, dict):
            raise inputs.refuse("federation", type(said).__name__, "an object")
        who, federation = said.get("client"), said.get("federation")
        if not isinstance(who, dict) or not isinstance(who.get("name"), str):
            raise inputs.refuse("client", who, "an object with id and name")
        if not isinstance(federation, str):
            raise inputs.refuse("federation", federation, "a text")

        def get(name: str, **limits: Any) -> float:
            return inputs.number(name, said.get(name), **limits)

        endless = said.get("threshold") is None  # JSON knows no infinity
        return cls(
            dim=inputs.integer("dim", said.get("dim"), low=1, high=inputs.MOST_DIM),
            ridge=get("ridge", low=0.0, open_low=True),
            noise=get("noise", low=0.0),
            delta=get("delta", low=0.0, high=1.0, open_low=True, open_high=True),
            exploration=None if said.get("exploration") is None else get("exploration", low=0.0),
            threshold=math.inf if endless else get("threshold", low=0.0, finite=False),
            arm_norm=get("arm_norm", low=0.0, open_low=True),
            reward_bound=get("reward_bound", low=0.0, open_low=True),
            cost_limit=get("cost_limit", low=0.0),
            client=inputs.integer("client.id", who.get("id"), low=0),
            name=who["name"],
            federation=federation,
        )

    def told(self) -> dict[str, Any]:
        """As JSON; `read` reads it."""
        said = self._asdict()
        said["client"] = {"id": self.client, "name": said.pop("name")}
        if math.isinf(self.threshold):
            said["threshold"] = None
        return said

    def rules(self) -> Rules:
        return Rules(
            ridge=self.ridge,
            noise=self.noise,
            surprise=2.0 * math.log(1.0 / self.delta),
            exploration=math.nan if self.exploration is None else self.exploration,
            threshold=self.threshold,
            limit=thin_limit(self.dim),
        )

    def conflict(self, now: Terms) -> str | None:
        """Why statistics kept under these terms are of no use under those of `now`; None: they are.

        The other settings may change: they concern what a client does next, not what it knows.
        """
        for name in ("federation", "client", "dim", "ridge"):
            kept, new = getattr(self, name), getattr(now, name)
            if kept != new:
                return f"of {name} {kept!r}, but the coordinator says {new!r}"
        return None
