"""The base class of worlds: which client acts, which arms it sees, and their rewards."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..configured import Described
from ..support import inputs
from ..types import Floats, Ints

if TYPE_CHECKING:
    from .bootstrap import Bootstrap

PIECE = 1024  # number of steps skipped at a time
MOST = 10_000_000  # clients or items: more would not fit into memory


class Events(NamedTuple):
    """Consecutive steps, as arrays of these shapes; `of` makes them of anything like an array.

    >>> events = incfed.Events.of(clients=[0], arms=[[0, 1]], rewards=[[1.0, 0.0]])
    >>> events.arms.shape
    (1, 2)
    """

    clients: Ints  # [n]     the client that acts
    arms: Ints  # [n, K]  the arms it can choose: rows of the stream's `items`
    rewards: Floats  # [n, K]  the reward of each arm; NaN: unknown, and skipped if it is chosen
    expected: Floats  # [n, K]  the reward without noise; NaN: unknown

    @classmethod
    def of(
        cls, clients: ArrayLike, arms: ArrayLike, rewards: ArrayLike,
        expected: ArrayLike | None = None,
    ) -> Events:  # fmt: skip
        """With the right types; without `expected`, regret will be unknown.

        >>> incfed.Events.of([0, 1], [[0, 1], [1, 2]], [[1, 0], [0, 1]]).expected
        array([[nan, nan],
               [nan, nan]])
        """
        values = np.array(rewards, np.float64, order="C")
        unknown = np.full(values.shape, np.nan)
        return cls(
            np.array(clients, np.int64, order="C"),
            np.array(arms, np.int64, order="C"),
            values,
            unknown if expected is None else np.array(expected, np.float64, order="C"),
        )


class Stream(ABC):
    """One run of a world: a fixed table of items, and events in order.

    >>> import numpy as np
    >>> stream = incfed.Synthetic(clients=3, dim=2, arms=4, pool=9).open(np.random.SeedSequence(0))
    >>> stream.items.shape
    (9, 2)
    """

    items: Floats  # [M, d]
    recurring: bool = True  # whether items may be shown again, so that caching helps

    @abstractmethod
    def take(self, n: int) -> Events:
        """The next n steps. The sequence does not depend on how it is divided into calls.

        >>> stream.take(5).arms.shape
        (5, 4)
        """

    def gather(self, steps: Ints) -> Events:
        """These steps, of a recorded world without randomness; see `World.bootstrap`. A world of
        your own need not have it.

        >>> recorded.open(np.random.SeedSequence(0)).gather(np.array([3, 0])).clients
        array([1, 0])
        """
        raise NotImplementedError

    def skip(self, n: int) -> None:
        """Skip the next n steps.

        >>> stream.skip(100)
        """
        while n > 0:
            self.take(min(n, PIECE))
            n -= PIECE


class World(Described, ABC):
    """A world; `open` starts a run. The same seed gives every algorithm the same run.

    >>> world = incfed.Synthetic(clients=3, dim=2)
    >>> world
    Synthetic(clients=3, dim=2, arms=25, pool=1000, noise=0.1, activity=None, spread=0.0)
    """

    slow: bool = False  # whether steps are slow to draw, so that they are kept; see `Remembered`

    @property
    @abstractmethod
    def count(self) -> int:
        """N, the number of clients.

        >>> world.count
        3
        """

    @property
    @abstractmethod
    def dim(self) -> int:
        """d, the number of features.

        >>> world.dim
        2
        """

    @property
    @abstractmethod
    def arms_per_step(self) -> int:
        """K, the number of arms that a client sees in each step.

        >>> world.arms_per_step
        25
        """

    @property
    def length(self) -> int | None:
        """The number of steps; None: unlimited.

        >>> print(world.length)
        None
        """
        return None

    @property
    def chance(self) -> bool:
        """Whether runs depend on the seed.

        >>> world.chance
        True
        """
        return True

    @property
    def match_rate(self) -> float:
        """The share of steps that runs do not skip, on average; below 1 only of a log that is
        replayed.

        >>> world.match_rate
        1.0
        """
        return 1.0

    def part(self, first: float, last: float, *, turn: bool = False) -> World:
        """The steps of a recorded world from the share `first` to the share `last`, as a world.
        `turn`, for a world without randomness: a run starts at a step drawn from the seed, and the
        steps before it follow at the end.

        >>> import numpy as np
        >>> rewards = np.eye(2)[[0, 1] * 50]
        >>> recorded = incfed.Trace(clients=[0, 1] * 50, arms=np.ones((100, 2, 3)), rewards=rewards)
        >>> recorded.part(0.5, 1.0).length
        50
        """
        from .part import Part

        return Part(self, first, last, turn=turn)

    def bootstrap(
        self, steps: int, resample: str = "events", *, repeats: bool = False
    ) -> Bootstrap:
        """Bootstrapped logs: `steps` steps of a recorded world without randomness, drawn by the
        seed; with `resample` "clients", its clients are drawn first, with replacement. No client
        sees a step twice, unless `repeats` or more steps than recorded are asked for: this warns.

        >>> recorded.bootstrap(steps=80).length
        80
        """
        from .bootstrap import Bootstrap, RepeatedEvents

        drawn = Bootstrap(self, steps, resample, repeats)
        if drawn.repeats:
            warnings.warn(drawn.warning, RepeatedEvents, stacklevel=2)
        return drawn

    def without(self, clients: float | Sequence[str | int]) -> World:
        """The same runs without the steps of some clients: a share of them that each seed draws, or
        a list of names (of numbers, where they have no names). The others are numbered anew.

        >>> recorded.without([0]).count, recorded.without([0]).length
        (1, 50)
        """
        from .without import Without

        return Without(self, clients)

    @property
    def notes(self) -> Sequence[str]:
        """Notes to show with results, such as rows that could not be used.

        >>> world.notes
        ()
        """
        return ()

    def _facts(self) -> dict[str, Any]:
        steps = "no end" if self.length is None else self.length
        sizes = {"clients": self.count, "features": self.dim, "arms a step": self.arms_per_step}
        said = ("kind", "clients", "dim", "arms", "length")
        more = {name: value for name, value in self.settings().items() if name not in said}
        return {**sizes, "steps": steps, **more}

    def _usual(self) -> frozenset[str]:
        return frozenset(name for name, value in self._facts().items() if value is None)

    def __repr__(self) -> str:
        sizes = (
            inputs.counted(self.count, "client"),
            inputs.counted(self.dim, "feature"),
            f"{inputs.counted(self.arms_per_step, 'arm')} a step",
            *(() if self.length is None else (inputs.counted(self.length, "step"),)),
        )
        return f"<{type(self).__name__}: {', '.join(sizes)}>"

    @abstractmethod
    def open(self, seed: np.random.SeedSequence) -> Stream:
        """Start a run: the events of this seed.

        >>> events = world.open(np.random.SeedSequence(0)).take(4)
        >>> events.clients
        array([2, 0, 1, 1])
        """

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The settings that a result records.

        >>> world.settings()["pool"]
        1000
        """


def chance_of(seed: np.random.SeedSequence, key: int, runs: int = 1) -> np.random.Generator:
    """A random stream of its own; the same for so many seeds in a row."""
    entropy = seed.entropy
    if isinstance(entropy, int):
        entropy //= runs
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(*seed.spawn_key, key)))
