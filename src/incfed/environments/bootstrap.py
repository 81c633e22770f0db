"""Bootstrapped logs: steps drawn from a recorded world, to see how far another log would differ."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .. import errors, ranges
from ..support import inputs
from ..types import Ints
from ..values import Flag, Whole, Word
from .base import PIECE, Events, Stream, World, chance_of
from .wrapped import Wrapped

JITTER = 0.05  # of the log: how far a drawn step may move from its place, either way
EVENTS, CLIENTS = "events", "clients"  # what is drawn
REPEATED = (
    "bootstrap: events are drawn several times, so that learning alone looks better than it is: "
    "whoever learns from little data learns their noise by heart. Without repeats: at most "
    "{recorded}, or FittedWorld(log, length={steps})"
)


class RepeatedEvents(UserWarning):
    """A bootstrapped log has events several times.

    >>> import warnings
    >>> log = incfed.Trace(clients=[0, 1], arms=[[[1.0], [0.5]]] * 2, rewards=[[1, 0], [0, 1]])
    >>> with warnings.catch_warnings(action="ignore", category=incfed.RepeatedEvents):
    ...     longer = log.bootstrap(steps=100)
    >>> longer.repeats, log.bootstrap(steps=2).repeats
    (True, False)
    """


class Bootstrap(Wrapped):
    """`steps` steps of `world`, drawn by the seed.

    They stay near their places in the log, so that slow changes in it stay; but each moves by up to
    5 % of its length, so that the copies of a step do not follow each other.

    resample: "events" draws steps one by one, of the clients as they are. "clients" first draws as
    many clients as act in the log, with replacement, and then steps of those: another log would
    have other clients. A client that is drawn twice is two clients, which act like it.
    repeats: whether a client may see a step twice. It does if there are more `steps` than the log
        has.
    orders: how many seeds in a row (0 and 1, 2 and 3, ...) draw the same steps, in other orders.
    """

    def __init__(
        self,
        world: World,
        steps: int,
        resample: str = EVENTS,
        repeats: bool = False,
        orders: int = 1,
    ) -> None:
        if world.length is None or world.chance:
            raise errors.refuse(
                "bootstrap", steps, "left out: runs of this world already differ by seed"
            )
        super().__init__(world)
        self._recorded = world.length
        self._length = Whole(1, ranges.MOST_STEPS).of("bootstrap", steps)
        self.resample = Word((EVENTS, CLIENTS)).of("resample", resample)
        self.orders = Whole(1, ranges.MOST_STEPS).of("orders", orders)
        self.repeats = Flag().of("repeats", repeats) or self._length > self._recorded

    @property
    def notes(self) -> Sequence[str]:
        return [*self.world.notes, *([self.warning] if self.repeats else [])]

    @property
    def warning(self) -> str:
        """What to mind if steps are repeated."""
        return REPEATED.format(recorded=inputs.counted(self._recorded, "step"), steps=self._length)

    @property
    def length(self) -> int:
        return self._length

    @property
    def chance(self) -> bool:
        return True

    def open(self, seed: np.random.SeedSequence) -> BootstrapStream:
        chance = chance_of(seed, 2, self.orders)
        if self.resample == CLIENTS:
            drawn, clients = self._of_drawn_clients(chance)
        else:
            drawn, clients = self._draw(chance, self._recorded), None
        if self.orders > 1:
            chance = chance_of(seed, 3)
        moved = drawn + JITTER * self._recorded * chance.uniform(-1.0, 1.0, self._length)
        order = np.argsort(moved)
        return BootstrapStream(
            self.world.open(seed),
            drawn[order],
            self._recorded,
            None if clients is None else clients[order],
        )

    def _draw(self, chance: np.random.Generator, count: int) -> Ints:
        """As many of `count` things as there are steps."""
        if self.repeats:
            return chance.integers(count, size=self._length)
        return chance.permutation(count)[: self._length]

    @cached_property
    def _clients(self) -> Ints:
        """Who acts in each recorded step."""
        stream = self.world.open(np.random.SeedSequence(0))
        sizes = [min(PIECE, self._recorded - start) for start in range(0, self._recorded, PIECE)]
        return np.concatenate([stream.take(size).clients for size in sizes])

    def _of_drawn_clients(self, chance: np.random.Generator) -> tuple[Ints, Ints]:
        """Steps of clients that are drawn first, and who acts in each. Unless steps are repeated,
        clients are drawn until they have enough of them."""
        active, sizes = np.unique(self._clients, return_counts=True)
        steps = np.argsort(self._clients, kind="stable")  # those of a client follow each other
        starts = sizes.cumsum() - sizes
        while True:
            source = chance.integers(len(active), size=len(active))  # each acts like one of them
            ends = sizes[source].cumsum()
            if self.repeats or ends[-1] >= self._length:
                break
        place = self._draw(chance, int(ends[-1]))  # among the steps of all of those
        who = np.searchsorted(ends, place, side="right")
        within = place - (ends - sizes[source])[who]
        return steps[starts[source[who]] + within], active[who]

    def settings(self) -> dict[str, Any]:
        drawn = {"length": self.length, "bootstrap": self.resample}
        once = {} if self.repeats else {"repeats": False, "recorded": self._recorded}
        return {**super().settings(), **drawn, **once}


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
