"""A world without some of its clients, to see what is left if they leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .. import errors
from ..support import inputs
from ..types import Ints
from .base import PIECE, Events, Stream, World
from .wrapped import Wrapped

SALT = 0x6C656176  # separates the draw of who leaves from all others of the same seed
PATIENCE = 1000  # pieces without a step of a client that stays
ALLOWED = 'a share above 0 and below 1, or a list of clients, such as ["shop-3", "shop-7"]'
Leave = float | tuple[int, ...]  # a share of the clients, or their numbers


class Without(Wrapped):
    """The steps of `world` that are not of clients who leave; see `World.without`.

    Those who stay act when they did before, and see what they saw. They are numbered anew, in the
    same order. How many steps a run has left depends on its seed, so there is no length, except
    where nothing is random.
    """

    def __init__(self, world: World, leave: object) -> None:
        super().__init__(world)
        self.leave = leaving("without", leave, world)
        self.slow = world.slow

    @property
    def named(self) -> tuple[int, ...]:
        """Who leaves in every run; empty if each seed draws who leaves."""
        return self.leave if isinstance(self.leave, tuple) else ()

    @property
    def leavers(self) -> int:
        """How many clients leave."""
        if isinstance(self.leave, tuple):
            return len(self.leave)
        return min(max(round(self.leave * self.world.count), 1), self.world.count - 1)

    @property
    def count(self) -> int:
        return self.world.count - self.leavers

    @property
    def length(self) -> int | None:
        return self._length

    @property
    def chance(self) -> bool:
        return self.world.chance or not self.named

    @cached_property
    def _length(self) -> int | None:
        if self.world.length is None or self.chance:
            return None
        return self.steps(np.random.SeedSequence(0), self.world.length)

    def staying(self, seed: np.random.SeedSequence) -> Ints:
        """The clients who stay in the run of a seed, by their numbers in `world`. Seeds that share
        the parameters of a fitted world share this, too."""
        stay = np.ones(self.world.count, np.bool_)
        if isinstance(self.leave, tuple):
            stay[list(self.leave)] = False
            return np.flatnonzero(stay)
        runs: int = getattr(self.world, "runs", 1)
        entropy = seed.entropy // runs if isinstance(seed.entropy, int) else seed.entropy
        own = np.random.SeedSequence(entropy, spawn_key=(*seed.spawn_key, SALT))
        stay[np.random.default_rng(own).permutation(self.world.count)[: self.leavers]] = False
        return np.flatnonzero(stay)

    def steps(self, seed: np.random.SeedSequence, n: int) -> int:
        """How many of the first `n` steps of `world` are left."""
        known, stream = self._numbers(seed), self.world.open(seed)
        sizes = (min(PIECE, n - start) for start in range(0, n, PIECE))
        return sum(int((known[stream.take(size).clients] >= 0).sum()) for size in sizes)

    def open(self, seed: np.random.SeedSequence) -> WithoutStream:
        return WithoutStream(self.world.open(seed), self._numbers(seed), self.world.length)

    def _numbers(self, seed: np.random.SeedSequence) -> Ints:
        """The new number of each client of `world`; -1 of those who leave."""
        found = np.full(self.world.count, -1)
        found[self.staying(seed)] = np.arange(self.count)
        return found

    def settings(self) -> dict[str, Any]:
        leave = list(self.leave) if isinstance(self.leave, tuple) else self.leave
        return {**super().settings(), "without": leave}


class WithoutStream(Stream):
    def __init__(self, inner: Stream, numbers: Ints, length: int | None) -> None:
        self.items, self.recurring = inner.items, inner.recurring
        self._numbers = numbers
        self._pieces = self._left_of(inner, length)
        self._ready: Events | None = None  # taken from `inner`, and not yet from here

    def take(self, n: int) -> Events:
        found = [] if self._ready is None else [self._ready]
        ready = sum(len(piece.clients) for piece in found)
        while ready < n or not found:
            piece = next(self._pieces, None)
            if piece is None:
                steps = inputs.counted(ready, "step")
                raise errors.refuse("steps", n, f"at most the {steps} left of the clients who stay")
            found.append(piece)
            ready += len(piece.clients)
        whole = Events(*(np.concatenate(fields) for fields in zip(*found, strict=True)))
        self._ready = _only(whole, np.arange(n, ready))
        return _only(whole, np.arange(n))

    def _left_of(self, inner: Stream, length: int | None) -> Iterator[Events]:
        """The steps of the clients who stay, piece by piece."""
        done = silent = 0
        while length is None or done < length:
            size = PIECE if length is None else min(PIECE, length - done)
            piece = inner.take(size)
            done += size
            clients = self._numbers[piece.clients]
            kept = clients >= 0
            silent = 0 if kept.any() else silent + 1
            if silent == PATIENCE:
                raise errors.InputError(
                    f"without: the clients who stay did not act in {PATIENCE * PIECE:,} steps"
                )
            yield _only(piece._replace(clients=clients), np.flatnonzero(kept))


def _only(events: Events, which: Ints) -> Events:
    clients, arms, rewards, expected = events
    return Events(clients[which], arms[which], rewards[which], expected[which])


def leaving(name: str, value: object, world: World) -> Leave:
    """Who leaves, checked: a share, or clients by name (of a world without names, by number).
    `name` is that of the setting, for errors."""
    if world.count == 1:
        raise errors.refuse(name, value, "left out: the world has only one client")
    if isinstance(value, bool | str) or not isinstance(value, float | int | Sequence):
        raise errors.refuse(name, value, ALLOWED)
    if not isinstance(value, Sequence):
        if not 0 < value < 1:
            raise errors.refuse(name, value, ALLOWED)
        return float(value)
    numbers = {str(known): n for n, known in enumerate(client_names(world))}
    found: list[int] = []
    for n, one in enumerate(value, 1):
        if str(one) not in numbers:
            some = ", ".join([*numbers][:5]) + (", ..." if len(numbers) > 5 else "")
            raise errors.refuse(f"{name}[{n}]", one, f"a client: {some}")
        if numbers[str(one)] in found:
            raise errors.refuse(f"{name}[{n}]", one, "another client: this one is named twice")
        found.append(numbers[str(one)])
    if not 0 < len(found) < world.count:
        raise errors.refuse(name, value, f"at least one client, and not all {world.count}")
    return tuple(sorted(found))


def client_names(world: World) -> list[Any]:
    """The names of the clients of a log, or the numbers of others."""
    names: list[Any] = getattr(world, "client_names", [])
    return names if len(names) == world.count else list(range(world.count))
