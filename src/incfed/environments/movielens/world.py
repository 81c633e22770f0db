"""MovieLens as a world: users with many ratings are the clients."""

from __future__ import annotations

import os
from copy import copy
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import errors
from ...support import inputs
from ...support.cache import Arrays, cached
from ...types import Floats, Ints
from ...values import Flag, Whole
from ..base import Events, Stream, World
from ..part import ends
from .events import Ratings, read_ratings
from .features import learn_features, learned_by
from .release import Release, recognise
from .texts import read_movies

GOLDEN = (5**0.5 - 1) / 2
EDITION = 1  # version of the cached arrays; increase it if they are computed differently


class MovieLens(World):
    """Users of a MovieLens release (an unpacked folder from GroupLens) with many ratings.

    An event is a rating of at least 1 star; clients are the users with more than `min_events` of
    them, in the order of their ids (`users`). Each step picks one of the clients that have events
    left, all equally likely, and its next event in the order of the file. The client sees `arms`
    movies in random order: the event's, and others that it never rated, drawn from the movies that
    are an event of some client (one that no client ever chose would be too easy to tell). The
    event's movie has reward 1, the others 0, so that a random policy gets length / arms.

    A movie's features: TF-IDF of its tags and genres over all movies, reduced to `dim` by
    truncated SVD, each column scaled to mean 0 and variance 1.

    folder: the unpacked release.
    min_events: users with more events than this are clients.
    dim: the number of features of a movie.
    arms: the number of movies that a client sees in each step.

    How a user would have rated the other movies is unknown, so there are no noiseless rewards.
    Regret counts the events missed: it compares with someone who knows every answer, not with the
    best linear model, and grows steadily for any algorithm.

    >>> world = incfed.MovieLens("ml-latest-small", min_events=100, dim=5)  # `incfed data`
    >>> world.dim, world.arms_per_step
    (5, 25)
    """

    slow = True

    def __init__(
        self,
        folder: str | os.PathLike[str],
        min_events: int = 1000,
        dim: int = 25,
        arms: int = 25,
    ) -> None:
        self.min_events = Whole(0).of("min_events", min_events)
        self._dim = Whole(1, 10_000).of("dim", dim)
        self._arms = Whole(2).of("arms", arms)
        self.cut: tuple[float, float] | None = None  # the shares of a part
        release = recognise(folder)
        self.folder = release.folder
        self.data = sha256(" ".join(release.digests).encode()).hexdigest()
        self.ratings, features = _load(release, self.min_events, self._dim)
        self.items = np.ascontiguousarray(features[self.ratings.rows])
        known = int(np.diff(self.ratings.rated_start).max())
        most = len(self.items) - known + 1
        if self._arms > most:
            movies = inputs.counted(len(self.items), "movie")
            allowed = f"at most {most}: a client rated {known} of the {movies}"
            raise errors.refuse("arms", arms, allowed)

    @property
    def count(self) -> int:
        return len(self.ratings.users)

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def arms_per_step(self) -> int:
        return self._arms

    @property
    def length(self) -> int:
        return len(self.ratings.events)

    @property
    def users(self) -> Ints:
        """The clients' ids in the files.

        >>> world.users
        array([3, 7])
        """
        return self.ratings.users

    def part(self, first: float, last: float, *, turn: bool = False) -> MovieLens:
        """A share of each client's events, from `first` to `last`. Parts that do not overlap have
        no event in common, whatever the order of the clients.

        The files list a user's ratings by movie, not by time, so a cut in the middle would put old
        movies on one side and new ones on the other. Events are distributed instead: the k-th gets
        a position between 0 and 1 by multiples of the golden ratio, which spreads any share evenly
        over the list.

        >>> learning, judging = world.part(0.0, 0.5), world.part(0.5, 1.0)
        >>> learning.length + judging.length == world.length
        True
        """
        if Flag().of("turn", turn):
            raise errors.refuse("turn", turn, "left out: runs of this world already differ by seed")
        low, high = ends(first, last)
        start = self.ratings.start
        rank = np.arange(self.length) - np.repeat(start[:-1], np.diff(start))
        place = (rank + 0.5) * GOLDEN % 1.0
        kept = (place >= low) & (place < high)
        if not kept.any():
            raise errors.refuse("part", [first, last], "wide enough for one event")
        part = copy(self)
        part.cut = (low, high)
        part.ratings = self.ratings._replace(
            start=np.concatenate([[0], np.cumsum(kept)])[start], events=self.ratings.events[kept]
        )
        return part

    def open(self, seed: np.random.SeedSequence) -> MovieLensStream:
        return MovieLensStream(self, seed)

    def settings(self) -> dict[str, Any]:
        return {
            "kind": "MovieLens",
            "folder": self.folder.resolve().name,
            "data": self.data,
            "min_events": self.min_events,
            "dim": self.dim,
            "arms": self.arms_per_step,
            "clients": self.count,
            "length": self.length,
            "items": len(self.items),
            **({} if self.cut is None else {"part": list(self.cut)}),
        }


class MovieLensStream(Stream):
    def __init__(self, world: MovieLens, seed: np.random.SeedSequence) -> None:
        # Separate random streams, so that none depends on the number of draws from another.
        self._who, self._others, self._places = map(np.random.default_rng, seed.spawn(3))
        self.items = world.items
        self._ratings = world.ratings
        self._arms = world.arms_per_step
        self._following = world.ratings.start[:-1].copy()
        self._active = np.flatnonzero(np.diff(world.ratings.start))  # those with events
        self._left = len(self._active)
        self._seen = np.full(len(world.items), -1)
        self._step = 0

    def take(self, n: int) -> Events:
        from ...kernels.pools import draw_pools  # here, since it loads the compiler

        ratings = self._ratings
        n = min(n, len(ratings.events) - self._step)
        shape = (n, self._arms)
        clients, arms, rewards = np.empty(n, np.int64), np.empty(shape, np.int64), np.zeros(shape)
        self._left = draw_pools(
            _bits(self._who, (n,)), _bits(self._others, shape), _bits(self._places, shape),
            ratings.start, ratings.events, ratings.rated_start, ratings.rated,
            self._following, self._active, self._seen, self._step, self._left,
            clients, arms, rewards,
        )  # fmt: skip
        self._step += n
        return Events(clients, arms, rewards, rewards.copy())


def _bits(chance: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    return chance.integers(0, 2**32, shape, dtype=np.uint32)


def _load(release: Release, min_events: int, dim: int) -> tuple[Ratings, Floats]:
    """Load from the cache if the same files were read before."""
    rated, described = release.digests
    movies = cache(lambda: read_movies(release))  # read once, and only if needed
    ratings = cached(
        "movielens-ratings",
        (EDITION, rated, described, min_events),
        fits=_are_ratings,
        make=lambda: read_ratings(release.ratings, movies().ids, min_events)._asdict(),
    )
    features = cached(
        "movielens-features",
        (EDITION, described, dim, learned_by()),
        fits=lambda found: _are_features(found, dim),
        make=lambda: {"items": learn_features(movies().texts, dim)},
    )
    return Ratings(**ratings), features["items"]


def _are_ratings(found: Arrays) -> bool:
    return set(found) == set(Ratings._fields) and all(
        array.ndim == 1 and array.dtype == np.int64 for array in found.values()
    )


def _are_features(found: Arrays, dim: int) -> bool:
    items = found.get("items", np.empty(0))
    return items.ndim == 2 and items.shape[1] == dim and items.dtype == np.float64
