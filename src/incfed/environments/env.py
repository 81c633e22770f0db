"""A world one step at a time, with the methods of a gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import errors
from ..configured import Described
from ..values import Whole
from .base import PIECE, Events, Stream, World

Observation = dict[str, Any]


class Env(Described):
    """`world` for a loop of your own: `reset` and `step`, as gymnasium has them (it need not be
    installed).

    An observation is {"client": who acts, "arms": [K, d] what it can choose}; an action is the
    index of an arm. `info` has the `expected` reward of the arm and its `regret`, NaN where they
    are not known; so is the reward of an arm that a log did not show. A recorded world terminates
    after its last step, and shows it again.

    >>> env = incfed.Env(incfed.Synthetic(clients=3, dim=2, arms=4, pool=9))
    >>> observation, _ = env.reset(seed=0)
    >>> observation["arms"].shape
    (4, 2)
    >>> observation, reward, terminated, truncated, info = env.step(0)
    """

    def __init__(self, world: World) -> None:
        if not isinstance(world, World):
            raise errors.refuse("world", world, "a World, such as Synthetic() or Trace(...)")
        self.world = world
        self._seed = -1
        self._stream: Stream | None = None  # before the first reset

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start a run. Without a seed: of the next one, beginning with 0.

        >>> observation, info = env.reset(seed=0)
        >>> info
        {'seed': 0}
        """
        self._seed = self._seed + 1 if seed is None else Whole(0).of("seed", seed)
        self._stream = self.world.open(np.random.SeedSequence(self._seed))
        self._taken = self._at = 0
        self._more()
        return self._observation(), {"seed": self._seed}

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Choose an arm: the next observation, the reward, terminated, truncated, info.

        >>> observation, reward, terminated, truncated, info = env.step(1)
        >>> sorted(info), terminated
        (['expected', 'regret'], False)
        """
        if self._stream is None:
            raise errors.InputError("step: call reset() first")
        if self._at == len(self._events.clients):
            raise errors.InputError("step: this run is over, call reset()")
        k = Whole(0, self.world.arms_per_step - 1).of("action", action)
        reward, expected = self._events.rewards[self._at, k], self._events.expected[self._at]
        info = {"expected": float(expected[k]), "regret": float(expected.max() - expected[k])}
        self._at += 1
        if self._at == len(self._events.clients) and self._taken != self.world.length:
            self._more()
        over = self._at == len(self._events.clients)
        return self._observation(), float(reward), over, False, info

    def _more(self) -> None:
        assert self._stream is not None
        left = PIECE if self.world.length is None else self.world.length - self._taken
        self._events: Events = self._stream.take(min(PIECE, left))
        self._taken += len(self._events.clients)
        self._at = 0

    def _observation(self) -> Observation:
        assert self._stream is not None
        at = min(self._at, len(self._events.clients) - 1)
        arms = self._stream.items[self._events.arms[at]]
        return {"client": int(self._events.clients[at]), "arms": arms}

    def _facts(self) -> Mapping[str, Any]:
        return self.world._facts()

    def _usual(self) -> frozenset[str]:
        return self.world._usual()

    def _title(self) -> str:
        return f"Env of {self.world._title()}"

    def __repr__(self) -> str:
        return f"<Env of {self.world!r}>"
