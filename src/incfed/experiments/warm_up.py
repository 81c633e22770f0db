"""Compile the kernels once, before many processes would each do it; later starts load them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from numba.core import event

from ..algorithms import Algorithm, FedLinUCB, IncFedUCB
from ..environments import Synthetic
from ..mechanisms import Mechanism, PayEveryone, PaymentEfficient, PaymentFree
from ..protocol.protocols import Asynchronous, Synchronous
from ..protocol.triggers import Patient, Threshold
from ..simulation import simulate


def warm_up(algorithms: Iterable[Algorithm], slow: Callable[[], None] | None = None) -> None:
    """Use every kernel that they need; `slow` is called if one must be compiled."""
    world = Synthetic(clients=4, dim=3, arms=3, pool=10)
    with compiling(slow or (lambda: None)):
        for algorithm in dict.fromkeys(small for one in algorithms for small in _akin(one)):
            simulate(world, algorithm, steps=300)


def _akin(algorithm: Algorithm) -> list[Algorithm]:
    """Algorithms for a small world that use the same kernels, and all of them."""
    protocol = algorithm.protocol
    if isinstance(protocol, Asynchronous):
        return [FedLinUCB(costs=1.0)]
    if not isinstance(protocol, Synchronous):
        protocol = Synchronous(Threshold(0.05), PayEveryone())
    streams = protocol.trigger.streams
    return [
        IncFedUCB(
            mechanism,
            trigger=Threshold(0.05) if streams is None else Patient(0.5, streams),
            costs=costs,  # nobody, and somebody, shares for nothing
            reads=algorithm.reads,
            download=protocol.download,
        )
        for mechanism in _mechanisms(protocol.mechanism)
        for costs in (1.0, [0.0, 1.0, 1.0, 1.0])
    ]


def _mechanisms(mechanism: Mechanism) -> list[Mechanism]:
    """Mechanisms that use the same kernels, and all of them; of one's own: any."""
    if isinstance(mechanism, PaymentEfficient):
        return [replace(mechanism, beta=0.5)]
    if isinstance(mechanism, PaymentFree | PayEveryone):
        return [mechanism]
    return [PaymentEfficient(beta=0.5), PaymentEfficient(beta=0.5, order="ascending")]


def compiling(slow: Callable[[], None]) -> AbstractContextManager[object]:
    """`slow` is called if something has to be compiled inside."""
    watched: AbstractContextManager[object] = event.install_listener("numba:compile", _Once(slow))
    return watched


class _Once(event.Listener):  # type: ignore[misc]
    """Says once that something is being compiled."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._say: Callable[[], None] | None = say

    def on_start(self, event: Any) -> None:
        say, self._say = self._say, None
        if say is not None:
            say()

    def on_end(self, event: Any) -> None:
        pass
