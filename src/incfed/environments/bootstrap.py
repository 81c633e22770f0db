"""Bootstrapped logs: a recorded world with its steps drawn again, to see how much another log would
differ."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .. import ranges
from ..support import inputs
from ..types import Ints
from .base import PIECE, Events, Stream, World
from .wrapped import Wrapped

JITTER = 0.05  # of the log: how far a drawn step may move from its place, either way
EVENTS, CLIENTS = "events", "clients"  # what is drawn


class Bootstrap(Wrapped):
    """`steps` steps of `world`, drawn with replacement by the seed.

    They stay near their places in the log, so that slow changes in it stay; but each moves by up to
    5 % of its length, so that the copies of a step do not follow each other.

    resample: "events" draws steps one by one, of the clients as they are. "clients" first draws as
    many clients as act in the log, with replacement, and then steps of those: another log would
    have other clients. A client that is drawn twice is two clients, which act like it.
    """

    def __init__(self, world: World, steps: int, resample: str = EVENTS) -> None:
        if world.length is None or world.chance:
            raise inputs.refuse(
                "bootstrap", steps, "left out: runs of this world already differ by seed"
            )
        super().__init__(world)
        self._recorded = world.length
        self._length = inputs.integer("bootstrap", steps, low=1, high=ranges.MOST_STEPS)
        self.resample = inputs.choice("resample", resample, (EVENTS, CLIENTS))

    @property
    def length(self) -> int:
        return self._length

    @property
    def chance(self) -> bool:
        return True

    def open(self, seed: np.random.SeedSequence) -> BootstrapStream:
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2))
        chance = np.random.default_rng(own)
        if self.resample == CLIENTS:
            drawn, clients = self._of_drawn_clients(chance)
        else:
            drawn, clients = chance.integers(self._recorded, size=self._length), None
        moved = drawn + JITTER * self._recorded * chance.uniform(-1.0, 1.0, self._length)
        order = np.argsort(moved)
        return BootstrapStream(
            self.world.open(seed),
            drawn[order],
            self._recorded,
            None if clients is None else clients[order],
        )

    @cached_property
    def _clients(self) -> Ints:
        """Who acts in each recorded step."""
        stream = self.world.open(np.random.SeedSequence(0))
        sizes = [min(PIECE, self._recorded - start) for start in range(0, self._recorded, PIECE)]
        return np.concatenate([stream.take(size).clients for size in sizes])

    def _of_drawn_clients(self, chance: np.random.Generator) -> tuple[Ints, Ints]:
        """Steps of clients that are drawn first, and who acts in each."""
        active, sizes = np.unique(self._clients, return_counts=True)
        steps = np.argsort(self._clients, kind="stable")  # those of a client follow each other
        starts = sizes.cumsum() - sizes
        source = chance.integers(len(active), size=len(active))  # each acts like one of them
        ends = sizes[source].cumsum()
        place = chance.integers(ends[-1], size=self._length)  # among the steps of all of those
        who = np.searchsorted(ends, place, side="right")
        within = place - (ends - sizes[source])[who]
        return steps[starts[source[who]] + within], active[who]

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "length": self.length, "bootstrap": self.resample}


class BootstrapStream(Stream):
    """The steps of `inner` in another order; `clients`: who acts in each, if not the same."""

    def __init__(
        self, inner: Stream, order: Ints, length: int, clients: Ints | None = None
    ) -> None:
        self.items, self.recurring = inner.items, inner.recurring
        self._inner, self._order, self._clients, self._next = inner, order, clients, 0
        self._whole: Events | None = None
        try:
            inner.gather(order[:0])
        except NotImplementedError:  # it can only be read from start to end
            self._whole = inner.take(length)

    def skip(self, n: int) -> None:
        self._next += n

    def take(self, n: int) -> Events:
        which = slice(self._next, self._next + n)
        steps = self._order[which]
        self._next += n
        if self._whole is None:
            found = self._inner.gather(steps)
        else:
            clients, arms, rewards, expected = self._whole
            found = Events(clients[steps], arms[steps], rewards[steps], expected[steps])
        return found if self._clients is None else found._replace(clients=self._clients[which])
