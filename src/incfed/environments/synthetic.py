"""The paper's synthetic world: one unit-norm theta, or one for each client around it; a pool of
unit-norm arms, Gaussian noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np

from .. import errors
from ..configured import check_fields
from ..support import inputs
from ..types import Floats, Ints
from ..values import Number, Whole
from .base import MOST, Events, Stream, World


@dataclass(frozen=True)
class Synthetic(World):
    """N clients with linear rewards; each step shows one of them K arms of a fixed pool.

    clients: N, the number of clients.
    dim: d, the number of features of an arm.
    arms: K, the number of arms that a client can choose from in each step.
    pool: the number of arms in all, from which those of a step are drawn without replacement.
    noise: the standard deviation of a reward.
    activity: None: all clients act equally often; a number s: client i acts in proportion to
    1 / (i + 1)^s; or one weight per client.
    spread: how much the clients differ. Client i's parameter is theta + spread * delta_i, scaled to
    length 1; delta_i is a random direction of its own. 0: all clients have the same theta.

    >>> world = incfed.Synthetic(clients=4, dim=2, arms=3, activity=[3, 1, 1, 1], spread=0.5)
    >>> world.shares().round(3).tolist()
    [0.5, 0.167, 0.167, 0.167]
    """

    clients: Annotated[int, Whole(1, MOST)] = 50
    dim: Annotated[int, Whole(1, 10_000)] = 25
    arms: Annotated[int, Whole(1)] = 25
    pool: Annotated[int, Whole(1, MOST)] = 1000
    noise: Annotated[float, Number(0.0, 1e12, as_float=True)] = 0.1
    activity: float | Sequence[float] | None = None
    spread: Annotated[float, Number(0.0, 1e12, as_float=True)] = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "activity", _activity(self.activity, self.clients))
        if self.arms > self.pool:
            allowed = f"at most the pool ({self.pool}), from which they are drawn"
            raise errors.refuse("arms", self.arms, allowed)
        if self.dim == 1 and self.spread == 1.0:
            allowed = "another number if dim is 1: theta + spread * delta_i may be 0"
            raise errors.refuse("spread", self.spread, allowed)

    @property
    def count(self) -> int:
        return self.clients

    @property
    def arms_per_step(self) -> int:
        return self.arms

    def open(self, seed: np.random.SeedSequence) -> SyntheticStream:
        return SyntheticStream(self, seed)

    def settings(self) -> dict[str, Any]:
        return {"kind": "Synthetic", **{f.name: getattr(self, f.name) for f in fields(self)}}

    def shares(self) -> Floats:
        """The probability with which each client acts in a step.

        >>> incfed.Synthetic(clients=3, activity=1.0).shares().round(3)
        array([0.545, 0.273, 0.182])
        """
        weights: Floats
        if self.activity is None:
            weights = np.ones(self.clients)
        elif isinstance(self.activity, Sequence):
            weights = np.array(self.activity, np.float64)
        else:
            weights = np.arange(1.0, self.clients + 1.0) ** -float(self.activity)
        return np.asarray(weights / weights.sum())


class SyntheticStream(Stream):
    def __init__(self, world: Synthetic, seed: np.random.SeedSequence) -> None:
        # Separate random streams, so that none depends on the number of draws from another.
        model, self._who, self._which, self._noise, deltas = map(
            np.random.default_rng, seed.spawn(5)
        )
        theta = model.standard_normal(world.dim)
        theta /= np.linalg.norm(theta)
        scale = np.sqrt((world.dim - np.arange(world.dim)) / world.dim)
        items = model.standard_normal((world.pool, world.dim)) * scale
        items /= np.linalg.norm(items, axis=1, keepdims=True)
        self.items = items
        self.theta = theta
        self.thetas = np.broadcast_to(theta, (world.clients, world.dim))  # of each client
        if world.spread:
            delta = deltas.standard_normal((world.clients, world.dim))
            delta /= np.linalg.norm(delta, axis=1, keepdims=True)
            self.thetas = theta + world.spread * delta
            self.thetas /= np.linalg.norm(self.thetas, axis=1, keepdims=True)
        self._means = items @ theta
        self._world = world
        self._order = np.arange(world.pool)
        self._up_to = np.cumsum(world.shares()) if world.activity is not None else None

    def take(self, n: int) -> Events:
        from ..kernels.sample import draw  # here, since it loads the compiler

        shape = (n, self._world.arms)
        bits = self._which.integers(0, 2**32, shape, dtype=np.uint32)
        noise = self._world.noise * self._noise.standard_normal(n)
        arms, rewards, expected = np.empty(shape, np.int64), np.empty(shape), np.empty(shape)
        draw(self._order, bits, self._means, noise, arms, rewards, expected)
        clients = self._clients(n)
        if self._world.spread:
            thetas = self.thetas[clients]
            for k in range(self._world.arms):  # all at once would need K times the memory
                expected[:, k] = np.einsum("td,td->t", self.items[arms[:, k]], thetas)
            rewards = expected + noise[:, None]
        return Events(clients, arms, rewards, expected)

    def _clients(self, n: int) -> Ints:
        uniform = self._who.random(n)
        if self._up_to is None:
            who = (uniform * self._world.clients).astype(np.int64)
        else:
            who = np.searchsorted(self._up_to, uniform, side="right")
        return np.minimum(who, self._world.clients - 1)


def _activity(value: object, clients: int) -> float | tuple[float, ...] | None:
    if value is None:
        return None
    if isinstance(value, int | float | np.number):
        return float(Number(0.0).of("activity", value))
    allowed = "a number of at least 0, or one weight per client"
    weights = inputs.array("activity", value, ndim=1, allowed=allowed)
    if len(weights) != clients or (weights < 0).any() or not 0 < weights.sum() < np.inf:
        allowed = f"{inputs.counted(clients, 'weight')} of at least 0 (one per client), not all 0"
        raise errors.refuse("activity", weights.tolist(), allowed)
    return tuple(weights.tolist())
