"""Simulate a whole federation in one process, with the kernels and the server's rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors, ranges
from .._version import __version__
from ..algorithms.base import Algorithm, prices_of
from ..environments.base import World
from ..environments.checks import check_events, check_items
from ..kernels.step import Steps
from ..protocol.protocols import Alone
from ..protocol.run import Protocol, Run, Setup
from ..results.records import Clients, Result
from ..results.rounds import logged
from ..support import inputs
from ..types import Floats, Ints
from ..values import Whole

CHUNK = 1024  # steps taken from the world at a time: small enough for the processor's cache


def simulate(
    world: World,
    algorithm: Algorithm,
    *,
    steps: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Run `algorithm` in `world` for `steps` steps (None: all steps of a recorded world).

    The same seed gives the same numbers, and the same clients, arms and noise to every algorithm.
    `progress` is called with the number of finished steps.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> algorithm = incfed.IncFedUCB(incfed.PaymentEfficient(beta=0.5), threshold=1.0, costs=10.0)
    >>> result = incfed.simulate(world, algorithm, steps=200, seed=0)
    >>> len(result.regret), len(result.rounds)
    (200, 24)
    """
    steps = run_length(world, steps)
    if isinstance(algorithm, Algorithm):
        algorithm = algorithm.for_run(steps=steps, clients=world.count, dim=world.dim)
    run = Simulation(world, algorithm, seed=seed)
    while run.steps < steps:
        run.advance(min(CHUNK, steps - run.steps))
        if progress is not None:
            progress(run.steps)
    return run.result()


class Simulation:
    """A run that can be advanced step by step; how it is divided does not change the numbers.

    >>> world = incfed.Synthetic(clients=5, dim=3, arms=4, pool=50)
    >>> run = incfed.Simulation(world, incfed.Independent(), seed=0)
    >>> run.advance(100)
    >>> run.advance(100)
    >>> len(run.result().regret)
    200
    """

    def __init__(self, world: World, algorithm: Algorithm, *, seed: int = 0) -> None:
        if not isinstance(world, World):
            raise errors.refuse("world", world, "a World, such as Synthetic() or Trace(...)")
        if not isinstance(algorithm, Algorithm):
            raise errors.refuse("algorithm", algorithm, "an Algorithm, such as IncFedUCB(...)")
        self._seed = Whole(0).of("seed", seed)
        self._world = world
        self._algorithm = algorithm
        self._stream = world.open(np.random.SeedSequence(self._seed))
        check_items(world, self._stream)
        self._run = self._start()
        nothing = (np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0, np.int64))
        self._outcomes: list[tuple[Ints, Floats, Floats, Ints]] = [nothing]
        self.steps = 0
        self._torn = False  # after an error in a mechanism or world: a step is incomplete

    def advance(self, n: int) -> None:
        """Run n more steps.

        >>> run.advance(50)
        >>> run.steps
        250
        """
        left = math.inf if self._world.length is None else self._world.length - self.steps
        n = Whole(0, left).of("n", n)
        self._whole()
        self._torn = True
        events = self._stream.take(n)
        check_events(self._world, events, n, len(self._stream.items))
        self._run.check(self._stream.items, events.rewards)
        steps = Steps(
            events.clients, events.arms, self._stream.items, events.rewards, events.expected,
            np.empty(n), np.empty(n), np.zeros(n, np.int64),
        )  # fmt: skip
        self._run.advance(steps, self.steps)
        self._outcomes.append((steps.clients.copy(), steps.reward, steps.regret, steps.fetched))
        self.steps += n
        self._torn = False

    def result(self) -> Result:
        """The result of all steps so far.

        >>> run.result()
        <Independent: 250 steps, 5 clients: regret 7.22, reward 176, communication 0, payment 0, 0
        rounds>
        """
        self._whole()
        rounds = logged(self._run.log)
        parts = zip(*self._outcomes, strict=True)
        clients, reward, regret, fetched = (np.concatenate(part) for part in parts)
        known = ~np.isnan(reward)
        every = bool(known.all())
        if not every:  # the other steps were skipped
            reward[~known] = 0.0
            regret[~known] *= 0.0  # NaN stays: then it is unknown for all steps
        communication, packed = self._run.traffic(known, fetched)
        propensity = self._run.propensity
        payment = np.bincount(rounds.step, rounds.payment, self.steps)
        return Result(
            regret=np.cumsum(regret),
            reward=np.cumsum(reward),
            communication=np.cumsum(communication),
            packed=np.cumsum(packed),
            payment=np.cumsum(payment),
            rounds=rounds,
            settings=self._settings(),
            propensity=None if propensity is None else np.array(propensity),
            matched=np.arange(1.0, self.steps + 1.0) if every else np.cumsum(known, dtype=float),
            clients=Clients.collect(self._world.count, clients, reward, regret, known, rounds),
        )

    def __repr__(self) -> str:
        steps = inputs.counted(self.steps, "step")
        return f"<Simulation: {steps} of {self._algorithm!r} in {self._world!r}>"

    def _whole(self) -> None:
        if self._torn:
            raise RuntimeError("this simulation stopped in the middle of a step; start a new one")

    def _start(self) -> Run:
        """A federation that follows the algorithm's protocol."""
        world, algorithm, protocol = self._world, self._algorithm, self._algorithm.protocol
        if not isinstance(protocol, Protocol):
            allowed = "a Protocol, such as one of incfed.protocol.protocols"
            raise errors.refuse("protocol", protocol, allowed)
        return protocol.start(
            Setup(
                clients=world.count,
                dim=world.dim,
                arms=world.arms_per_step,
                items=len(self._stream.items) if self._stream.recurring else 0,
                rules=algorithm.rules(world.dim),
                costs=prices_of(algorithm, world.count),
                seed=self._seed,
                stale=algorithm.reads == "stale",
                personal=algorithm.personal(world.count, world.dim),
                policy=algorithm.policy,
            )
        )

    def _settings(self) -> dict[str, Any]:
        return {
            "world": self._world.settings(),
            "algorithm": self._algorithm.settings(),
            "seed": self._seed,
            "steps": self.steps,
            "clients": self._world.count,
            "dim": self._world.dim,
            "incfed": __version__,
            "traits": {
                "alone": isinstance(self._algorithm.protocol, Alone),
                "chance": self._world.chance,
            },
        }


def run_length(world: World, steps: int | None) -> int:
    """How many steps to run: `steps`, or all of a recorded world."""
    if not isinstance(world, World):
        raise errors.refuse("world", world, "a World, such as Synthetic() or Trace(...)")
    if steps is None:
        if world.length is None:
            raise errors.refuse("steps", None, "given: this world has no fixed length")
        return world.length
    steps = Whole(1, ranges.MOST_STEPS).of("steps", steps)
    if world.length is not None and steps > world.length:
        raise errors.refuse("steps", steps, f"at most {world.length}, the length of the trace")
    return steps
