"""Compile the kernels once, before many processes would each do it; later starts load them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from numba.core import event

from ..algorithms import Algorithm, FedLinUCB, IncFedUCB
from ..environments import Synthetic
from ..mechanisms import PayEveryone
from ..mechanisms.small_worlds import for_small_worlds
from ..protocol.asynchronous import Asynchronous
from ..protocol.synchronous import Synchronous
from ..protocol.triggers import Patient, Threshold, trigger_of
from ..rules.rounds import RoundRules
from ..simulation import simulate


def warm_up(algorithms: Iterable[Algorithm], slow: Callable[[], None] | None = None) -> None:
    """Run every kernel that the algorithms need; `slow` is called if one must be compiled."""
    world = Synthetic(clients=4, dim=3, arms=3, pool=10)
    with compiling(slow or (lambda: None)):
        for algorithm in dict.fromkeys(
            small for one in algorithms for small in _small_versions(one)
        ):
            with _no_ctrl_c_lost():
                simulate(world, algorithm, steps=300)


def _small_versions(algorithm: Algorithm) -> list[Algorithm]:
    """Algorithms for a small world that use all kernels that this one may use."""
    protocol = algorithm.protocol
    if isinstance(protocol, Asynchronous):
        return [FedLinUCB(costs=1.0)]
    rules = RoundRules(PayEveryone(), threshold=0.05)
    if isinstance(protocol, Synchronous):
        rules = protocol.rules
    streams = trigger_of(rules).streams
    return [
        IncFedUCB(
            mechanism,
            trigger=Threshold(0.05) if streams is None else Patient(0.5, streams),
            costs=costs,  # nobody, and somebody, shares for nothing
            reads=algorithm.reads,
            download=rules.download,
        )
        for mechanism in for_small_worlds(rules.mechanism)
        for costs in (1.0, [0.0, 1.0, 1.0, 1.0])
    ]


@contextmanager
def _no_ctrl_c_lost() -> Iterator[None]:
    """Raise a KeyboardInterrupt that struck in a callback of the compiler and got lost there."""
    lost, before = False, sys.unraisablehook

    def note(told: sys.UnraisableHookArgs) -> None:
        nonlocal lost
        if told.exc_type is KeyboardInterrupt:
            lost = True
        else:
            before(told)

    sys.unraisablehook = note
    try:
        yield
    finally:
        sys.unraisablehook = before
    if lost:
        raise KeyboardInterrupt


def compiling(slow: Callable[[], None]) -> AbstractContextManager[object]:
    """`slow` is called if something has to be compiled inside."""
    watched: AbstractContextManager[object] = event.install_listener("numba:compile", _Once(slow))
    return watched


class _Once(event.Listener):  # type: ignore[misc]
    """Says once that something is being compiled."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._say = say

    def on_start(self, event: Any) -> None:
        say, self._say = self._say, lambda: None
        say()

    def on_end(self, event: Any) -> None:
        pass
