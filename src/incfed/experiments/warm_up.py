"""Compile the kernels once, before many processes would each do it; later starts load them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from numba.core import event

from ..algorithms import Algorithm, IncFedUCB
from ..environments import Synthetic
from ..mechanisms import Mechanism, PayEveryone, PaymentEfficient, PaymentFree
from ..simulation import simulate


def warm_up(algorithms: Iterable[Algorithm], slow: Callable[[], None] | None = None) -> None:
    """Run every kernel that the algorithms need; `slow` is called if one must be compiled."""
    world = Synthetic(clients=4, dim=3, arms=3, pool=10)
    with compiling(slow or (lambda: None)):
        for reads, mechanism in dict.fromkeys(
            (one.reads, mechanism) for one in algorithms for mechanism in _akin(one.pays)
        ):
            for costs in (1.0, [0.0, 1.0, 1.0, 1.0]):  # nobody, and somebody, shares for nothing
                algorithm = IncFedUCB(mechanism, threshold=0.05, costs=costs, reads=reads)
                with _no_ctrl_c_lost():
                    simulate(world, algorithm, steps=300)


def _akin(mechanism: Mechanism) -> list[Mechanism]:
    """Mechanisms that use all kernels that this one may use; for one of the user's own, any."""
    if isinstance(mechanism, PaymentEfficient):
        return [replace(mechanism, beta=0.5)]
    if isinstance(mechanism, PaymentFree | PayEveryone):
        return [mechanism]
    return [PaymentEfficient(beta=0.5), PaymentEfficient(beta=0.5, order="ascending")]


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
