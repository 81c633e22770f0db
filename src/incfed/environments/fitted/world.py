"""A world fitted to a log: its clients and slates, and rewards drawn from a model of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ... import errors, ranges
from ...types import Floats, Ints
from ...values import Whole, Word
from ..base import MOST, Events, Stream, World, chance_of
from ..logs import ReplayLog
from ..trace import Trace
from .fit import LINEAR, LOGISTIC, SURE, Fit, HeldOut, mean_of


class FittedWorld(World):
    """Draws clients and slates from a log, and rewards from a model that is fitted to it.

    Each seed draws its own parameters from the posterior of the model. So runs differ by as much as
    the log leaves open, and not only by chance. Unlike a replay, no event is skipped, no click is
    seen twice, and runs may be longer than the log.

    log: a ReplayLog or a Trace.
    length: the number of steps; None: as many as the log has events.
    clients: their number; None: those of the log. Of fewer, each seed draws which; of more, the
        others are new ones that act as some client of the log does and differ as its clients do.
    link: "linear", or for rewards of 0 and 1 "logistic"; None: which predicts better.
    runs: how many seeds in a row (0 and 1, 2 and 3, ...) have the same parameters, and differ by
        chance alone.

    >>> import numpy as np
    >>> rewards = np.eye(2)[[0, 1] * 50]
    >>> log = incfed.Trace(clients=[0, 1] * 50, arms=np.ones((100, 2, 3)), rewards=rewards)
    >>> fitted = incfed.FittedWorld(log, length=500)
    >>> fitted
    <FittedWorld: 2 clients, 3 features, 2 arms a step, 500 steps>
    """

    def __init__(
        self,
        log: ReplayLog | Trace,
        length: int | None = None,
        clients: int | None = None,
        link: str | None = None,
        runs: int = 1,
    ) -> None:
        if not isinstance(log, ReplayLog | Trace):
            raise errors.refuse("log", log, "a ReplayLog or a Trace")
        self.log = log
        self._length, self._count = log.length, log.count
        if length is not None:
            self._length = Whole(1, ranges.MOST_STEPS).of("length", length)
        if clients is not None:
            self._count = Whole(1, MOST).of("clients", clients)
        self._seen = log.known_rewards()
        links = (LINEAR, LOGISTIC) if self._seen.binary else (LINEAR,)
        self._links = links if link is None else (Word(links).of("link", link),)
        alike = np.ptp(self._seen.weights) == 0.0
        self._weighted = (False,) if alike else (False, True)
        self.runs = Whole(1, MOST).of("runs", runs)

    @property
    def count(self) -> int:
        return self._count

    @property
    def dim(self) -> int:
        return self.log.dim

    @property
    def arms_per_step(self) -> int:
        return self.log.arms_per_step

    @property
    def length(self) -> int:
        return self._length

    @property
    def client_names(self) -> list[Any]:
        """The names of the log's clients; new ones have the next numbers.

        >>> fitted.client_names
        [0, 1]
        """
        names: list[Any] = getattr(self.log, "client_names", None) or list(range(self.log.count))
        return [*names, *range(len(names), self.count)]

    @property
    def notes(self) -> Sequence[str]:
        return self.log.notes

    @cached_property
    def held_out(self) -> HeldOut:
        """How well the model predicts events that it was not fitted to.

        >>> fitted.held_out.predicts  # all arms of this log are the same
        False
        """

        def best(weighted: bool) -> HeldOut:
            tried = (
                HeldOut.of(self._seen, self.log.count, link, weighted=weighted)
                for link in self._links
            )
            return max(tried, key=lambda found: found.gain)

        plain, *others = map(best, self._weighted)
        for weighted in others:
            saved, error = mean_of(plain.losses - weighted.losses, self._seen.weights)
            if saved > SURE * error:
                return weighted
        return plain

    @property
    def link(self) -> str:
        """How scores become mean rewards: "linear" or "logistic".

        >>> incfed.FittedWorld(log, link="logistic").link
        'logistic'
        """
        return self._links[0] if len(self._links) == 1 else self.held_out.link

    @property
    def weighted(self) -> bool:
        """Whether events count by their inverse propensities in the fit. That makes up for what the
        model lacks where little was shown, at the price of precision: it is done where held-out
        events are predicted better with it.

        >>> fitted.weighted  # this log has no propensities
        False
        """
        return self._weighted[0] if len(self._weighted) == 1 else self.held_out.weighted

    @cached_property
    def fit(self) -> Fit:
        """The model, fitted to the whole log.

        >>> fitted.fit.model.means.shape  # of each client, intercept last
        (2, 4)
        """
        return Fit.to(self._seen, self.log.count, self.link, weighted=self.weighted)

    @cached_property
    def _residuals(self) -> Floats:
        """What the log's rewards are off by, scaled to the variance of the noise. [n]"""
        seen = self._seen if self.weighted else self._seen.unweighted
        found = seen.rewards - self.fit.predict(seen)
        square = float(np.average(found**2, weights=seen.weights))
        return found * np.sqrt(self.fit.model.noise / square) if square else found

    @cached_property
    def _events(self) -> tuple[Ints, Ints]:
        """The log's steps, client by client, and the number of each client. [T], [N]"""
        clients = np.empty(self.log.length, np.int64)
        clients[self._seen.events] = self._seen.clients
        return np.argsort(clients, kind="stable"), np.bincount(clients, minlength=self.log.count)

    def open(self, seed: np.random.SeedSequence) -> FittedStream:
        return FittedStream(self, seed)

    def settings(self) -> dict[str, Any]:
        return {
            "kind": "FittedWorld",
            "log": self.log.settings(),
            "link": self.link,
            "clients": self.count,
            "dim": self.dim,
            "arms": self.arms_per_step,
            "length": self.length,
            "runs": self.runs,
        }


class FittedStream(Stream):
    """Steps of the log, drawn with replacement, with rewards of this seed's own parameters. Arms of
    a step share their noise, as in other worlds: the same seed is the same luck."""

    def __init__(self, world: FittedWorld, seed: np.random.SeedSequence) -> None:
        # Separate random streams; those of the log itself have other keys.
        who, self._which, self._noise = (chance_of(seed, key) for key in (3, 4, 5))
        drawn = chance_of(seed, 2, world.runs)
        self._fit, self._binary = world.fit, world._seen.binary
        self._residuals = None if self._binary else world._residuals
        self._log = world.log.open(seed)
        self.items, self.recurring = self._log.items, self._log.recurring
        known = world.log.count
        new = max(world.count - known, 0)
        self._alike = np.arange(known)  # the client of the log that each acts like
        if new:
            self._alike = np.concatenate([self._alike, who.integers(known, size=new)])
        self.thetas = self._fit.model.draw(drawn, new)
        if world.count < known:
            self._alike = np.sort(who.permutation(known)[: world.count])
            self.thetas = self.thetas[self._alike]
        self._steps, sizes = world._events
        self._starts = np.cumsum(sizes) - sizes
        self._ends = np.cumsum(sizes[self._alike])

    def take(self, n: int) -> Events:
        clients, steps = self._draw(n)
        arms = self._log.gather(steps).arms
        thetas = self.thetas[clients]
        expected = np.empty(arms.shape)
        for k in range(arms.shape[1]):  # all at once would need K times the memory
            expected[:, k] = np.einsum("td,td->t", self.items[arms[:, k]], thetas[:, :-1])
        expected = self._fit.reward(expected + thetas[:, -1:])
        luck = self._noise.random(n)
        if self._residuals is None:
            rewards = (luck[:, None] < expected).astype(np.float64)
        else:
            drawn = (luck * len(self._residuals)).astype(np.int64)
            rewards = expected + self._residuals[drawn, None]
        return Events(clients, arms, rewards, expected)

    def _draw(self, n: int) -> tuple[Ints, Ints]:
        """Who acts, and the steps of the log that are shown: a client acts as often as in the log,
        and sees what it saw there."""
        place = (self._which.random(n) * self._ends[-1]).astype(np.int64)
        clients = np.searchsorted(self._ends, place, side="right")
        like = self._alike[clients]
        before = self._ends[clients] - place  # 1 to the number of the client's steps
        sizes = np.diff(self._starts, append=len(self._steps))
        return clients, self._steps[self._starts[like] + sizes[like] - before]
