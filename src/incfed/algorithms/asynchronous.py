"""Baselines in which a client and the server exchange data without the other clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from .. import ranges
from ..protocol.asynchronous import Asynchronous
from ..protocol.run import Protocol
from ..rules.members import costs_of
from ..types import Floats
from ..values import Number, Word
from .trust import TrustingAlgorithm


@dataclass(frozen=True)
class AsyncLinUCB(TrustingAlgorithm):
    """Uploads and downloads are triggered apart (Li and Wang, 2022).

    upload: gamma_U. A client uploads its pending data dV_i when det V_i > upload * det(V_i - dV_i).
    It gets no download in return, so that its cost is paid in full.
    download: gamma_D. A client downloads when the server's determinant exceeds that of what the
    client has downloaded and uploaded by this ratio; the model is sent when the client next acts.
    costs: what sharing costs a client: a number, or one per client.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.AsyncLinUCB(upload=1.5, download=2.0, costs=1.0)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 1.3, 26 paid
    """

    upload: Annotated[float, Number(1.0, or_inf=True)] = 1.1
    download: Annotated[float, Number(1.0, or_inf=True)] = 3.0
    costs: ranges.Costs = 0.0
    reads: Annotated[str, Word(("fresh",))] = field(default="fresh", kw_only=True)

    @property
    def protocol(self) -> Protocol:
        return Asynchronous(float(self.upload), float(self.download))

    def prices(self, count: int) -> Floats:
        return costs_of(self.costs, count)


@dataclass(frozen=True)
class FedLinUCB(TrustingAlgorithm):
    """A client exchanges its pending data for the model (He et al., 2022).

    growth: it does so when det V_i > (1 + growth) det(V_i - dV_i). It is paid what the downloaded
    data does not cover of its cost. As everywhere here, it chooses with its pending data too.
    costs: what sharing costs a client: a number, or one per client.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.FedLinUCB(growth=0.5, costs=0.1)
    >>> result = incfed.simulate(world, algorithm, steps=200)
    >>> print(f"regret {result.regret[-1]:.1f}, {result.payment[-1]:.0f} paid")
    regret 4.9, 0 paid
    """

    growth: Annotated[float, Number(0.0, or_inf=True)] = 0.1
    costs: ranges.Costs = 0.0
    reads: Annotated[str, Word(("fresh",))] = field(default="fresh", kw_only=True)

    @property
    def protocol(self) -> Protocol:
        return Asynchronous(1.0 + self.growth)

    def prices(self, count: int) -> Floats:
        return costs_of(self.costs, count)
