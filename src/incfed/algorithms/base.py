"""The base class of algorithms: everything that the simulator needs to know of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from ..errors import InputError, hint, listed, refuse
from ..kernels.trust import Personal
from ..kernels.ucb import Rules
from ..protocol.client import kernel_rules
from ..protocol.policies import Policy
from ..protocol.protocols import Alone
from ..protocol.run import Protocol
from ..protocol.synchronous import Synchronous
from ..protocol.triggers import trigger_of
from ..rules.learning import Learning
from ..rules.limits import Limits
from ..rules.plugins import Plugin, annotated, is_ours, own_names
from ..rules.privacy import Privacy
from ..rules.rule import documented
from ..support.inputs import array, counted
from ..types import Floats


@documented
@dataclass(frozen=True, kw_only=True)
class Algorithm(Learning):
    """How each client learns and chooses: ridge regression and an upper confidence bound (Eq. 2).

    >>> algorithm = incfed.Independent(ridge=1.0, exploration=0.5)
    >>> algorithm
    Independent(ridge=1.0, exploration=0.5)
    """

    policy: Policy | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _refuse_ignored(cls)

    def __post_init__(self) -> None:
        super().__post_init__()
        for one in type(self).__mro__:
            if not is_ours(one) and issubclass(one, Algorithm) and not _is_dataclass(one):
                said = f"declares {listed(_declared(one))}, which would be ignored: write {_ABOVE}"
                raise InputError(f"{said} above the class", one.__name__)

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
        prices_of(self, count)

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
            'reads': 'fresh', 'width': 'paper', 'width_scale': 1.0, 'policy': None}
        """
        values = {field.name: _described(getattr(self, field.name)) for field in fields(self)}
        return {"kind": type(self).__name__, **values}


def prices_of(algorithm: Algorithm, count: int) -> Floats:
    """Its prices, checked: a class of the user's own may have others."""
    prices: Any = algorithm.prices(count)
    place = f"{type(algorithm).__name__}.prices"
    found = array(place, prices, ndim=1, low=0.0, allowed="numbers of at least 0")
    if len(found) != count:
        raise refuse(
            place, counted(len(found), "price"), f"one for each of {counted(count, 'client')}"
        )
    return found


_POLICY = "how a client chooses and learns is said by an incfed.Policy of your own, as policy="
_MECHANISM = "who shares, and for what, is said by an incfed.Mechanism of your own, as mechanism="
_ABOVE = "`@dataclass(frozen=True, kw_only=True)`"
_BELONGS = {
    **dict.fromkeys(("choose", "observe", "learn", "update", "predict", "select"), _POLICY),
    "calls": "when a round opens is said by an incfed.Trigger of your own, as trigger=",
    **dict.fromkeys(("decide", "amend", "promised"), _MECHANISM),
}


def _refuse_ignored(cls: type[Algorithm]) -> None:
    """InputError if a class of the user's own defines what nothing would ask for."""
    ours = next(one for one in cls.__mro__ if is_ours(one))
    settings: Mapping[str, Any] = getattr(ours, "__dataclass_fields__", {})
    declared = {name for one in cls.__mro__ if not is_ours(one) for name in _declared(one)}
    for name in own_names(cls):
        if name in declared and name not in _BELONGS:  # a setting of its own
            continue
        if name in settings:
            again = f"declare it anew as `{name}: float = ...`, with {_ABOVE} above the class"
            why = f"is a setting: give it as {name}=, or {again}"
        elif hasattr(ours, name):
            continue
        else:
            private = f"what only your class uses is private: `_{name}`"
            close = hint(name, [one for one in dir(ours) if one[0] != "_"])
            why = f"means nothing to an algorithm{close}: {_BELONGS.get(name, private)}"
        raise InputError(f"would be ignored, as it {why}", f"{cls.__name__}.{name}")


def _declared(cls: type) -> list[str]:
    """The public settings that a class itself declares, or may: those that are annotated."""
    found = annotated(cls).items()
    return [name for name, type in found if name[0] != "_" and "ClassVar" not in str(type)]


def _is_dataclass(cls: type) -> bool:
    return "__dataclass_fields__" in vars(cls) or not _declared(cls)


def _described(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_described, value))
    return value.settings() if isinstance(value, Limits | Plugin | Privacy) else value
