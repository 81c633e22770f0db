"""The settings of a federation, as the coordinator sends them to a client."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

from ...kernels.store import thin_limit
from ...kernels.ucb import Rules
from ...support import inputs
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
    federation: str  # its identity; a state folder belongs to one federation

    @classmethod
    def read(cls, said: Any) -> Terms:
        """From the coordinator's JSON, or from `to_json`; InputError if that is wrong."""
        known = {"epoch": 0, **said} if isinstance(said, dict) else said
        found = vars(read(FederationView, known)).copy()
        del found["epoch"]
        client: ClientView = found.pop("client")
        if found["threshold"] is None:  # JSON knows no infinity
            found["threshold"] = math.inf
        return cls(**found, client=client.id, name=client.name)

    def to_json(self) -> dict[str, Any]:
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
            mixture=False,
            threshold=self.threshold,
            clocked=True,
            limit=thin_limit(self.dim),
        )

    def require_same(self, now: Terms, folder: Path) -> None:
        """InputError if what was learned under these terms, in this folder, does not fit `now`.

        Other settings may change: they affect what a client does next, not what it has learned.
        """
        for name in ("federation", "client", "dim", "ridge"):
            kept, new = getattr(self, name), getattr(now, name)
            if kept != new:
                allowed = (
                    f"a folder of this client and federation: there, {name} is {kept!r}, but the "
                    f"coordinator says {new!r}"
                )
                raise inputs.refuse("state", str(folder), allowed)
