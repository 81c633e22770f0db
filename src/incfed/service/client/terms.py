"""What a federation agrees on, as the coordinator tells it to a client."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...kernels.store import thin_limit
from ...kernels.ucb import Rules
from ..wire import ClientView, FederationView, read


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
        """From the coordinator's JSON, or from `told`; InputError where that is wrong."""
        known = {"epoch": 0, **said} if isinstance(said, dict) else said
        found = vars(read(FederationView, known)).copy()
        del found["epoch"]
        client: ClientView = found.pop("client")
        if found["threshold"] is None:  # JSON knows no infinity
            found["threshold"] = math.inf
        return cls(**found, client=client.id, name=client.name)

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
