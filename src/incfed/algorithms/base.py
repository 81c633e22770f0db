"""The base class of algorithms: everything that the simulator needs to know of one."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from ..kernels.trust import Personal
from ..kernels.ucb import Rules
from ..protocol.client import kernel_rules
from ..protocol.protocols import Alone
from ..protocol.run import Protocol
from ..protocol.synchronous import Synchronous
from ..protocol.triggers import trigger_of
from ..rules.learning import Learning
from ..rules.limits import Limits
from ..rules.plugins import Plugin
from ..rules.privacy import Privacy
from ..rules.rule import documented
from ..types import Floats


@documented
@dataclass(frozen=True, kw_only=True)
class Algorithm(Learning):
    """How each client learns and chooses: ridge regression and an upper confidence bound (Eq. 2).

    >>> algorithm = incfed.Independent(ridge=1.0, exploration=0.5)
    >>> algorithm
    Independent(ridge=1.0, exploration=0.5)
    """

    @property
    def protocol(self) -> Protocol:
        """Who talks to the server, when, and who gets the model.

        >>> algorithm.protocol
        Alone()
        """
        return Alone()

    def prices(self, count: int) -> Floats:
        """D^p of each of `count` clients.

        >>> paid = incfed.IncFedUCB(incfed.PayEveryone(), threshold=1.0, costs=[10.0, 20.0])
        >>> paid.prices(2)
        array([10., 20.])
        """
        return np.zeros(count)

    def personal(self, count: int, dim: int) -> Personal | None:
        """The models with which clients choose, if they are not the shared ones with their pending
        data.

        >>> paid.personal(2, dim=3) is None
        True
        """
        return None

    def check(self, count: int) -> None:
        """InputError if its settings do not fit so many clients.

        >>> paid.check(3)
        Traceback (most recent call last):
            ...
        incfed.errors.InputError: costs: got '2 costs', must be one number, or 3 (one each)
        """
        self.prices(count)

    def for_run(self, *, steps: int, clients: int, dim: int) -> Self:
        """This algorithm for a run of this size: a setting that is the name of a formula becomes
        its value.

        >>> named = incfed.IncFedUCB(incfed.PayEveryone(), threshold="high")
        >>> round(named.for_run(steps=5000, clients=50, dim=25).threshold, 2)
        0.47
        """
        return self

    def rules(self, dim: int) -> Rules:
        """The numbers that the kernels need.

        >>> algorithm.rules(dim=3).exploration
        0.5
        """
        protocol = self.protocol
        trigger = trigger_of(protocol.rules) if isinstance(protocol, Synchronous) else None
        return kernel_rules(self, trigger, dim)

    def settings(self) -> dict[str, Any]:
        """The settings that a result records.

        >>> algorithm.settings()
        {'kind': 'Independent', 'ridge': 1.0, 'noise': 0.1, 'delta': 0.1, 'exploration': 0.5,
            'reads': 'fresh', 'width': 'paper', 'width_scale': 1.0}
        """
        values = {field.name: _described(getattr(self, field.name)) for field in fields(self)}
        return {"kind": type(self).__name__, **values}


def _described(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_described, value))
    return value.settings() if isinstance(value, Limits | Plugin | Privacy) else value
