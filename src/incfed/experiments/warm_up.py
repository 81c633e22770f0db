"""Compile the kernels once, before many processes would each do it; later starts load them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import event
from numpy.random import SeedSequence

from ..algorithms import DisLinUCB, IncFedUCB
from ..environments import MovieLens, Synthetic
from ..mechanisms import PaymentEfficient
from ..simulation import simulate
from .experiment import Experiment


def warm_up(experiment: Experiment, slow: Callable[[], None] | None = None) -> None:
    """Use every kernel that the experiment may need; `slow` is called if one must be compiled."""
    world = Synthetic(clients=4, dim=3, arms=3, pool=10)
    pays = any(isinstance(one, IncFedUCB) for one in experiment.algorithms.values())
    with event.install_listener("numba:compile", _Once(slow or (lambda: None))):
        simulate(world, DisLinUCB(threshold=0.05), steps=300)
        for order in ("descending", "ascending") if pays else ():
            mechanism = PaymentEfficient(beta=0.5, order=order)
            simulate(world, IncFedUCB(mechanism, threshold=0.05, costs=1.0), steps=300)
        if isinstance(experiment.world, MovieLens):  # draws its arms with a kernel of its own
            experiment.world.open(SeedSequence(0)).take(1)


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
