"""Compile the kernels once, before many processes would each do it; later starts load them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from numba.core import event

from ..algorithms import Algorithm, DisLinUCB, IncFedUCB
from ..environments import Synthetic
from ..mechanisms import PaymentEfficient
from ..simulation import simulate


def warm_up(algorithms: Iterable[Algorithm], slow: Callable[[], None] | None = None) -> None:
    """Use every kernel that they may need; `slow` is called if one must be compiled."""
    world = Synthetic(clients=4, dim=3, arms=3, pool=10)
    pays = any(isinstance(one, IncFedUCB) for one in algorithms)
    with compiling(slow or (lambda: None)):
        simulate(world, DisLinUCB(threshold=0.05), steps=300)
        for order in ("descending", "ascending") if pays else ():
            mechanism = PaymentEfficient(beta=0.5, order=order)
            for costs in (1.0, [0.0, 1.0, 1.0, 1.0]):  # nobody, and somebody, shares for nothing
                simulate(world, IncFedUCB(mechanism, threshold=0.05, costs=costs), steps=300)


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
