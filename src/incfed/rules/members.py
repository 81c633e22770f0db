"""The clients of a simulated federation: what sharing costs them, when they are there, and whether
they report what is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np

from .. import ranges
from ..configured import Configured
from ..errors import InputError, refuse
from ..support.inputs import array, counted
from ..types import Floats
from ..values import Each, NotAllowed, Number
from .plugins import Plugin
from .rule import rule, setting


@dataclass(frozen=True)
class CostsValue(Each):
    """D^p: a number, one per client, or costs that change."""

    changing: type = Plugin  # the class of those

    def take(self, value: Any) -> Any:
        return value if isinstance(value, self.changing) else super().take(value)


class AvailabilityValue(Each):
    """A probability, one per client, or the mean lengths (on, off) of spells, in steps. Two numbers
    of which one is above 1 are spells."""

    def take(self, value: Any) -> Any:
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
            return super().take(value)
        try:
            given = array("", value, ndim=1, allowed=self.allowed)
            low, most = (1.0, 1e12) if is_spells(given.tolist()) else (0.0, 1.0)
            each = array("", given, ndim=1, low=low, most=most)
        except InputError as error:
            raise NotAllowed(error) from None
        return tuple(each.tolist())


def is_spells(availability: float | Sequence[float]) -> bool:
    """Whether it gives mean lengths of spells, not probabilities."""
    if isinstance(availability, int | float):
        return False
    return len(availability) == 2 and max(availability) > 1.0


def each_available(availability: float | Sequence[float], count: int) -> Floats | None:
    """The probability of each of `count` clients; None if spells are given."""
    if is_spells(availability):
        return None
    return _one_each("availability", availability, count, "probability", "probabilities")


def costs_of(costs: float | Sequence[float], count: int, name: str = "costs") -> Floats:
    """D^p of each of `count` clients."""
    return _one_each(name, costs, count, "cost", "costs")


def _one_each(name: str, value: float | Sequence[float], count: int, one: str, many: str) -> Floats:
    each = np.asarray(value, np.float64)
    if each.ndim and len(each) != count:
        given = counted(len(each), one, many)
        raise refuse(name, given, f"one number, or {count} (one each)")
    return np.array(np.broadcast_to(each, count))


COSTS = CostsValue(Number(0.0, ranges.LARGEST), "a number of at least 0, or one per client")
AVAILABILITY = AvailabilityValue(
    Number(0.0, 1.0, as_float=True),
    "a probability, one per client, or two mean lengths of spells (on, off) in steps",
)


@rule()
class Members(Configured):
    """The rules of clients in a simulation."""

    costs: Annotated[float | Sequence[float] | Plugin, COSTS] = setting(
        "D^p, what sharing costs a client with data to share: a number, or one per client; or "
        "DrawnCosts() or DriftingCosts(), which change from round to round",
        default=0.0,
        served=False,
    )
    _: KW_ONLY
    availability: Annotated[float | Sequence[float], AVAILABILITY] = setting(
        "the probability that a client is there when a round opens, one per client, or the mean "
        "lengths (on, off) of spells in steps. The client that acts is there",
        default=1.0,
        served=False,
    )
    reports: tuple[Plugin, ...] = setting(
        "how clients with interests of their own act. All others report their true costs, and "
        "share when they are asked",
        default=(),
        example=[{"kind": "Shading", "factor": 5.0, "clients": [3]}],
        served=False,
    )
